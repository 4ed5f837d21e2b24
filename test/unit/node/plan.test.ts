import { describe, expect, test } from "bun:test";
import { allowIcmpAnnotation, cozystack, proxyNameLabel, wholeIpAnnotation } from "../../../src/node/names.ts";
import type { NodePlan, NodeSettings } from "../../../src/node/plan.ts";
import { type Endpoints, endpoint, makeService, makeSlice, planOf, type Slices } from "../../support/node-objects.ts";

const pairs = ({ mappings }: NodePlan) =>
  mappings.map(({ address, endpoint, isLocal }) => [address.text, endpoint.text, isLocal ? "local" : "remote"]);
const notes = (plan: NodePlan) => plan.notes.map(({ service, reason }) => `${service.metadata.name} ${reason}`);

test("the address of a Service goes to its pod", () => {
  const plan = planOf([makeService({ addresses: ["203.0.113.5", "2001:db8:1::5"] })], {
    "demo/web": [makeSlice(endpoint("10.244.1.10")), makeSlice(endpoint("fd44:0:0:1::a"))],
  });
  expect([pairs(plan), notes(plan)]).toEqual([
    [
      ["203.0.113.5", "10.244.1.10", "local"],
      ["2001:db8:1::5", "fd44:0:0:1::a", "local"],
    ],
    [],
  ]);
  expect(plan.mappings.every(({ isWayOut }) => isWayOut)).toBe(true);
});

describe("which endpoint", () => {
  const cases: [title: string, endpoints: Endpoints, chosen: string[], said: string[]][] = [
    ["none: no mapping", [], [], []],
    ["one that is not ready", [endpoint("10.244.1.10", "one", { ready: false })], [], []],
    ["one that ends", [endpoint("10.244.1.10", "one", { terminating: true })], [], []],
    ["one that says nothing of itself", [{ addresses: ["10.244.1.10"] }], ["10.244.1.10"], []],
    [
      "one on this node before a lower address",
      [endpoint("10.244.1.10", "two"), endpoint("10.244.1.11", "one")],
      ["10.244.1.11"],
      ["web WholeIPSeveralEndpoints"],
    ],
    [
      "else the lowest address, as a number",
      [endpoint("10.244.2.100", "two"), endpoint("10.244.2.20", "three")],
      ["10.244.2.20"],
      ["web WholeIPSeveralEndpoints"],
    ],
    ["the same one in two slices", [endpoint("10.244.1.10"), endpoint("10.244.1.10")], ["10.244.1.10"], []],
  ];
  test.each(cases)("%s", (_, endpoints, chosen, said) => {
    const plan = planOf([makeService()], { "demo/web": [makeSlice(...endpoints)] });
    expect([plan.mappings.map((each) => each.endpoint.text), notes(plan)]).toEqual([chosen, said]);
  });
});

describe("what a Service asks for", () => {
  const compat = { compatCozystack: true };
  const label = { [proxyNameLabel]: cozystack.proxyName };
  type Row = [string, Parameters<typeof makeService>[0], Partial<NodeSettings>, string | undefined];
  const rows: Row[] = [
    ["nothing", { annotations: {} }, {}, undefined],
    ["all", { annotations: { [wholeIpAnnotation]: "true" } }, {}, "all with icmp"],
    ["no more", { annotations: { [wholeIpAnnotation]: "false" } }, {}, undefined],
    ["ports", { annotations: { [wholeIpAnnotation]: "ports" } }, {}, "ports"],
    [
      "ports and ICMP",
      { annotations: { [wholeIpAnnotation]: "ports", [allowIcmpAnnotation]: "true" } },
      {},
      "ports with icmp",
    ],
    ["cozy-proxy's annotation, without the switch", { annotations: { [cozystack.wholeIp]: "true" } }, {}, undefined],
    ["cozy-proxy's annotation", { annotations: { [cozystack.wholeIp]: "true" } }, compat, "all with icmp"],
    ["cozy-proxy's annotation says no", { annotations: { [cozystack.wholeIp]: "false" } }, compat, undefined],
    ["cozy-proxy's label alone", { annotations: {}, labels: label }, compat, "ports"],
    ["cozy-proxy's label, without the switch", { annotations: {}, labels: label }, {}, undefined],
    ["label and ICMP", { annotations: { [cozystack.allowIcmp]: "true" }, labels: label }, compat, "ports with icmp"],
    ["the label of another proxy", { annotations: {}, labels: { [proxyNameLabel]: "other" } }, compat, undefined],
    [
      "ours before cozy-proxy's",
      { annotations: { [wholeIpAnnotation]: "ports", [cozystack.wholeIp]: "true" } },
      compat,
      "ports",
    ],
  ];
  test.each(rows)("%s", (_, service, given, expected) => {
    const { mappings, notes: said } = planOf([makeService(service)], undefined, given);
    const modes = mappings.map(({ mode }) => `${mode.ports}${mode.icmp ? " with icmp" : ""}`);
    expect([modes, said]).toEqual([expected === undefined ? [] : [expected], []]);
  });
});

describe("refused", () => {
  type Row = [string, Parameters<typeof makeService>[0], Slices | undefined, string, RegExp];
  const rows: Row[] = [
    ["an unknown word", { annotations: { [wholeIpAnnotation]: "yes" } }, undefined, "WholeIPInvalid", /accepted: true/],
    [
      "an unknown word for ICMP",
      { annotations: { [wholeIpAnnotation]: "ports", [allowIcmpAnnotation]: "1" } },
      undefined,
      "WholeIPInvalid",
      /accepted: true, false/,
    ],
    ["another type", { spec: { type: "ClusterIP" } }, undefined, "WholeIPInvalid", /LoadBalancer/],
    [
      "what a tunnel serves",
      { labels: { "app.kubernetes.io/managed-by": "netaminity" } },
      undefined,
      "WholeIPInvalid",
      /tunnel/,
    ],
    [
      "sources that would not hold",
      { spec: { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] } },
      undefined,
      "WholeIPInvalid",
      /NetworkPolicy/,
    ],
    ["a node's address", { addresses: ["192.0.2.2"] }, undefined, "WholeIPAddressRefused", /node's/],
    ["the API server's address", { addresses: ["192.0.2.9"] }, undefined, "WholeIPAddressRefused", /API server's/],
    [
      "an address that the API server publishes",
      { addresses: ["198.51.100.3"] },
      { "default/kubernetes": [makeSlice(endpoint("198.51.100.3"))] },
      "WholeIPAddressRefused",
      /API server's/,
    ],
    ["a cluster IP", { addresses: ["10.96.0.20"] }, undefined, "WholeIPAddressRefused", /cluster IP of Service demo/],
    ["the service CIDR", { addresses: ["10.96.7.7"] }, undefined, "WholeIPAddressRefused", /service CIDR/],
    ["a pod CIDR", { addresses: ["10.244.2.3"] }, undefined, "WholeIPAddressRefused", /pod CIDR/],
    ["loopback", { addresses: ["127.0.0.1"] }, undefined, "WholeIPAddressRefused", /routed/],
    [
      "a pod on the node's network",
      {},
      { "demo/web": [makeSlice(endpoint("192.0.2.1"))] },
      "WholeIPEndpointRefused",
      /node's network/,
    ],
    [
      "an endpoint that is no pod",
      {},
      { "demo/web": [makeSlice(endpoint("198.51.100.9"))] },
      "WholeIPEndpointRefused",
      /pod-cidr/,
    ],
  ];
  test.each(rows)("%s", (_, service, slices, reason, message) => {
    const plan = planOf([makeService(service)], slices);
    expect([pairs(plan), notes(plan)]).toEqual([[], [`web ${reason}`]]);
    expect(plan.notes[0]?.message).toMatch(message);
  });

  test("the younger of two Services with one address, in whatever order they come", () => {
    const [old, young] = [
      makeService({ name: "old" }),
      makeService({ name: "a-young-one", created: "2026-02-01T00:00:00Z" }),
    ];
    const slices = {
      "demo/old": [makeSlice(endpoint("10.244.1.10"))],
      "demo/a-young-one": [makeSlice(endpoint("10.244.1.11"))],
    };
    for (const services of [
      [old, young],
      [young, old],
    ]) {
      const plan = planOf(services, slices);
      expect(pairs(plan)).toEqual([["203.0.113.5", "10.244.1.10", "local"]]);
      expect(notes(plan)).toEqual(["a-young-one WholeIPAddressTaken"]);
    }
  });
});

test("of two Services on one pod both lead in, and the older one's address leads out", () => {
  const young = makeService({ name: "young", addresses: ["203.0.113.6"], created: "2026-02-01T00:00:00Z" });
  const slice = [makeSlice(endpoint("10.244.1.10"))];
  const plan = planOf([young, makeService({ name: "old" })], { "demo/old": slice, "demo/young": slice });
  expect(plan.mappings.map(({ service, isWayOut }) => [service, isWayOut])).toEqual([
    ["demo/old", true],
    ["demo/young", false],
  ]);
  expect(notes(plan)).toEqual(["young WholeIPWayOutTaken"]);
});

test("what is said is said by the node of the pod, and without a pod by the first node", () => {
  const [, two] = [
    makeSlice(endpoint("10.244.1.10")),
    makeSlice(endpoint("10.244.2.9", "two"), endpoint("10.244.2.8", "two")),
  ];
  expect(planOf([makeService()], { "demo/web": [two] }).notes.map(({ reporter }) => reporter)).toEqual(["two"]);
  const invalid = planOf([makeService({ annotations: { [wholeIpAnnotation]: "x" } })]);
  expect(invalid.notes.map(({ reporter }) => reporter)).toEqual(["one"]);
});
