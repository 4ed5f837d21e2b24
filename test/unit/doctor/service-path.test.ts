import { describe, expect, test } from "bun:test";
import { diagnose } from "../../../src/doctor/check.ts";
import type { RoleFacts, ServiceFacts } from "../../../src/doctor/examine-service.ts";
import { servicePath } from "../../../src/doctor/service-checks.ts";
import { cozystack } from "../../../src/node/names.ts";
import { endpoint, makeService, makeSlice, nodes } from "../../support/node-objects.ts";

const role = (compat = "false", ready = 2): RoleFacts => ({
  metadata: { name: "netaminity-node", namespace: "netaminity-system" },
  spec: { template: { spec: { containers: [{ env: [{ name: "NETAMINITY_COMPAT_COZYSTACK", value: compat }] }] } } },
  status: { desiredNumberScheduled: 2, numberReady: ready },
});

function facts(service = makeService(), more: Partial<ServiceFacts> = {}): ServiceFacts {
  return {
    service: { found: service },
    services: { found: [service] },
    slices: { found: [makeSlice(endpoint("10.244.1.10"))] },
    apiServer: { found: [] },
    nodes: { found: nodes },
    roles: { found: [role()] },
    table: { node: "one", readiness: { found: "ready" } },
    ...more,
  };
}

const diagnosisOf = (given: ServiceFacts) => diagnose("service/web", servicePath("web", given));

test("a Service that has its address is healthy, and it is said which pod has it", () => {
  const { verdict, checks } = diagnosisOf(facts());
  expect(verdict).toBe("healthy");
  expect(checks.map(({ evidence }) => evidence)).toContain("203.0.113.5 leads to 10.244.1.10");
});

describe("the first thing that is wrong is named, with the next step", () => {
  const compatible = makeService({ annotations: { [cozystack.wholeIp]: "true" } });
  const rows: [string, ServiceFacts, RegExp][] = [
    ["no Service", facts(undefined, { service: { absent: "object" } }), /there is no Service web/],
    ["it does not ask", facts(makeService({ annotations: {} })), /whole-ip: "true"/],
    ["it asks in cozy-proxy's words", facts(compatible), /node\.compat\.cozystack=true/],
    ["the role is off", facts(undefined, { roles: { found: [] } }), /node\.enabled=true/],
    ["no address", facts(makeService({ addresses: [] })), /MetalLB/],
    ["no pod", facts(undefined, { slices: { found: [] } }), /no endpoint is ready/],
    ["an address that is refused", facts(makeService({ addresses: ["192.0.2.1"] })), /is a node's/],
    [
      "the kernel does not take it",
      facts(undefined, { table: { node: "one", readiness: { found: "table ip: no" } } }),
      /table ip: no/,
    ],
    [
      "no pod of the role there",
      facts(undefined, { table: { node: "one", readiness: { absent: "object" } } }),
      /node\.tolerations/,
    ],
  ];
  test.each(rows)("%s", (_, given, text) => {
    const { verdict, checks, firstBroken = -1 } = diagnosisOf(given);
    expect(verdict).toBe("broken");
    expect(JSON.stringify(checks[firstBroken]).replaceAll("\\", "")).toMatch(text);
  });
});

test("what works and is not as it should be is a remark", () => {
  const slices = { found: [makeSlice(endpoint("10.244.1.10"), endpoint("10.244.1.11"))] };
  const { verdict, checks } = diagnosisOf(facts(undefined, { slices, roles: { found: [role("false", 1)] } }));
  expect(verdict).toBe("healthy");
  expect(checks.filter(({ next }) => next !== undefined).map(({ link }) => link)).toEqual([
    "role node",
    "address to pod",
  ]);
});

test("what cannot be read leaves it open", () => {
  const hidden = { unknown: "forbidden" };
  expect(diagnosisOf(facts(undefined, { nodes: hidden, table: undefined })).verdict).toBe("unknown");
});
