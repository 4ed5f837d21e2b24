import { describe, expect, test } from "bun:test";
import type { PodTemplate } from "../../../src/api/pod-template.ts";
import { withHash } from "../../../src/desired/applied.ts";
import { pairProxy } from "../../../src/desired/pair.ts";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import { targetDeployment } from "../../../src/desired/target-deployment.ts";
import { pace } from "../../../src/plan/pace.ts";
import { makeDeployment, makeProxy, makeTarget, makeTunnel, settings } from "../../support/objects.ts";

const podTemplate: PodTemplate = {
  nodeSelector: { pool: "edge" },
  labels: { team: "red" },
  annotations: { a: "1" },
  resources: { requests: { cpu: "50m" } },
};
const agent = { ...settings.agent, podTemplate };
const written = (own: PodTemplate) => ({ distributeByNodes: true, hostNetwork: false, ...own });
const facts = ({ spec }: ReturnType<typeof proxyDeployment>) => ({
  nodeSelector: spec.template.spec?.nodeSelector,
  team: spec.template.metadata?.labels?.team,
  a: spec.template.metadata?.annotations?.a,
  requests: spec.template.spec?.containers[0]?.resources?.requests,
});
const fromOperator = { nodeSelector: { pool: "edge" }, team: "red", a: "1", requests: { cpu: "50m" } };

describe("the podTemplate for all agents", () => {
  test("is that of pods whose object has none", () => {
    expect(facts(proxyDeployment(makeProxy(), agent))).toEqual(fromOperator);
    expect(facts(targetDeployment(makeTarget(), agent))).toEqual(fromOperator);
  });

  test("shows through where the object's own says nothing, and gives way as a whole where it does", () => {
    const own = written({ labels: { app: "db" }, resources: { limits: { memory: "1Gi" } } });
    const expected = { ...fromOperator, team: undefined, requests: undefined };
    expect(facts(proxyDeployment(makeProxy({ podTemplate: own }), agent))).toEqual(expected);
    expect(facts(targetDeployment(makeTarget({ podTemplate: own }), agent))).toEqual(expected);
  });

  test("is below both templates of a Tunnel", () => {
    const tunnel = makeTunnel({ podTemplate: written({ nodeSelector: { zone: "a" } }) });
    const proxy = makeProxy(pairProxy(tunnel, 0, "optional").spec);
    expect(facts(proxyDeployment(proxy, agent))).toEqual({ ...fromOperator, nodeSelector: { zone: "a" } });
  });

  test("is no wish of the user: a change of it waits for its turn, one of the object's own does not", () => {
    const turn = { kind: "wait", message: "others are first" } as const;
    const proxy = makeProxy();
    const { annotations = {} } = withHash(proxyDeployment(proxy, settings.agent)).metadata;
    const observed = makeDeployment("edge-proxy", { owner: proxy, annotations });
    expect(pace(proxy, proxyDeployment(proxy, agent), observed, turn).waits?.reason).toBe("WaitingForOthers");
    const changed = makeProxy({ podTemplate: written({ nodeSelector: { zone: "a" } }) });
    expect(pace(changed, proxyDeployment(changed, agent), observed, turn).waits).toBeUndefined();
  });
});
