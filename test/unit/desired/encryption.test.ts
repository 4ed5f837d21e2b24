import { expect, test } from "bun:test";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import { targetDeployment } from "../../../src/desired/target-deployment.ts";
import { makeProxy, makeTarget, settings } from "../../support/objects.ts";

const { agent } = settings;

test("encryption reaches the pods only where it is required, so that pods made before it do not roll", () => {
  const variableOf = ({ spec }: ReturnType<typeof proxyDeployment>) =>
    spec?.template.spec?.containers[0]?.env?.filter(({ name }) => name === "NETAMINITY_ENCRYPTION");
  const required = [{ name: "NETAMINITY_ENCRYPTION", value: "required" }];
  expect(variableOf(proxyDeployment(makeProxy({ encryption: "required" }), agent))).toEqual(required);
  expect(variableOf(targetDeployment(makeTarget({ encryption: "required" }), agent))).toEqual(required);
  expect(variableOf(proxyDeployment(makeProxy(), agent))).toEqual([]);
  expect(variableOf(targetDeployment(makeTarget(), agent))).toEqual([]);
  // As the API server gives an object whose definition was installed before this field.
  const { encryption: _, ...older } = makeTarget().spec;
  expect(targetDeployment({ ...makeTarget(), spec: older as never }, agent)).toEqual(
    targetDeployment(makeTarget(), agent),
  );
});
