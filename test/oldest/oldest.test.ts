/** What depends on the version of Kubernetes, against the oldest that the chart supports: each case as with the newest. */
import { expect, test } from "bun:test";
import { sharedPlane, stopPlaneAfterAll } from "../cluster/plane.ts";
import "../cluster/definition.cases.ts";
import "../cluster/platforms.cases.ts";
import "../cluster/service-rules.cases.ts";
import "../cluster/services.cases.ts";

// Read when the control plane is started, which the first test does.
const oldest = "1.31";
process.env.NETAMINITY_KUBERNETES = oldest;

test("the API server is of that version", async () => {
  const plane = await sharedPlane();
  const { gitVersion } = await plane.api.request<{ gitVersion: string }>("/version");
  expect(gitVersion).toStartWith(`v${oldest}.`);
});

stopPlaneAfterAll();
