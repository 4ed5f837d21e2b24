import { describe, expect, test } from "bun:test";
import { keyOf, pictureOf } from "../../src/dashboard/picture.ts";
import { withRates } from "../../src/dashboard/watcher.ts";
import type { Overview } from "../../src/doctor/overview.ts";
import { readSamples } from "../../src/doctor/samples.ts";
import { labels } from "../../src/names.ts";
import { makePod, makeProxy, makeTarget, makeTunnel } from "../support/objects.ts";
import { condition, goodProxy, proxyOf, proxyStatus, targetOf, tunnel } from "../support/tunnel-input.ts";

const now = Date.parse("2026-01-01T00:00:10Z");
const labelled = (pod: ReturnType<typeof makePod>, own: Record<string, string>) => ({
  ...pod,
  metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...own } },
});
const proxyPod = (name: string, ready: boolean) =>
  labelled(makePod(name, { ready, node: name === "a" ? "n1" : "n2" }), {
    [labels.proxy]: "api-0",
    [labels.tunnel]: "api",
    [labels.component]: "proxy",
  });
const targetPod = labelled(makePod("t", { ready: true, node: "n3" }), { [labels.target]: "api-0" });
const said = (streams: number, toBackend: number) =>
  readSamples(
    [
      "netaminity_sessions 1",
      "netaminity_sessions_encrypted 1",
      `netaminity_streams_open ${streams}`,
      `netaminity_stream_bytes_total{direction="to_backend"} ${toBackend}`,
      'netaminity_stream_bytes_total{direction="to_consumer"} 7',
    ].join("\n"),
  );
const tunnelWith = (conditions: ReturnType<typeof condition>[]) => ({
  ...tunnel,
  status: {
    observedGeneration: 3,
    conditions,
    consumerEndpoint: "api.demo.svc:30080",
    ...{ replicas: 1, readyReplicas: 1, readyProxyReplicas: 1, readyTargetReplicas: 1 },
    replicasStatus: [{ index: 0, proxy: "api-0", target: "api-0", endpoint: "there:7835", ready: true }],
  },
});
const good = [condition("Ready", "True", "AllPairsReady"), condition("Updated", "True", "UpToDate")];

function overview(change: Partial<Overview> = {}): Overview {
  const active = { ...proxyStatus(goodProxy, "there:7835"), activePod: "a" };
  return {
    tunnels: [tunnelWith(good)],
    proxies: [proxyOf(0, active)],
    targets: [targetOf(0)],
    pods: [proxyPod("b", false), proxyPod("a", true), targetPod],
    samples: new Map([
      ["uid-of-a", said(3, 100)],
      ["uid-of-b", readSamples("netaminity_sessions 0")],
      ["uid-of-t", said(3, 100)],
    ]),
    ...change,
  };
}

test("a Tunnel is one line with its pairs, the active pod first, and their nodes", () => {
  const { at, lines } = pictureOf(overview(), now);
  expect(at).toBe("2026-01-01T00:00:10.000Z");
  expect(lines).toMatchObject([
    {
      ...{ key: "tunnel/demo/api", kind: "Tunnel", namespace: "demo", name: "api", state: "ready" },
      ...{ consumers: "api.demo.svc:30080", backend: tunnel.spec.target.endpoint, encryption: "off" },
      numbers: { sessions: 1, encrypted: 1, streams: 3, toBackend: 100, toConsumer: 7 },
      pairs: [
        {
          name: "api-0",
          rendezvous: "there:7835",
          proxies: [
            { name: "a", node: "n1", role: "active", isReady: true, streams: 3 },
            { name: "b", node: "n2", role: "standby", isReady: false, sessions: 0 },
          ],
          targets: [{ name: "t", node: "n3", role: "target", isReady: true }],
        },
      ],
    },
  ]);
});

test("a Proxy and a Target that stand alone are lines whose other side is elsewhere", () => {
  const [proxy, target] = [makeProxy({}, { name: "p" }), makeTarget({}, { name: "t" })];
  const { lines } = pictureOf(overview({ tunnels: [], proxies: [proxy], targets: [target], pods: [] }), now);
  const [first, second] = lines;
  expect(lines.map(({ key }) => key)).toEqual(["proxy/demo/p", "target/demo/t"]);
  expect([first && "backend" in first, first?.pairs]).toEqual([false, [{ name: "p", proxies: [] }]]);
  expect([second && "consumers" in second, second?.pairs]).toEqual([
    false,
    [{ name: "t", rendezvous: target.spec.proxyEndpoint, targets: [] }],
  ]);
});

describe("the state of a line is what a consumer would find:", () => {
  const ready = (status: "True" | "False", reason: string) => condition("Ready", status, reason);
  test.each<[string, ReturnType<typeof condition>[], string]>([
    ["ready", good, "ready"],
    ["nobody has looked", [], "unknown"],
    ["some pairs", [ready("False", "PairsWaiting"), condition("Available", "True", "SomePairsReady")], "partly"],
    ["no pair", [ready("False", "PairsWaiting"), condition("Available", "False", "PairsWaiting")], "down"],
    ["scaled to zero", [ready("False", "ScaledToZero")], "off"],
    [
      "a change that does not get through",
      [
        ready("True", "AllPairsReady"),
        condition("Updated", "False", "NoSessionAfterChange"),
        condition("Stalled", "True", "NoSessionAfterChange"),
      ],
      "partly",
    ],
    ["a change that goes on", [ready("True", "AllPairsReady"), condition("Updated", "False", "RollingOut")], "ready"],
  ])("%s", (_, conditions, state) => {
    expect(pictureOf(overview({ tunnels: [tunnelWith(conditions)] }), now).lines[0]?.state).toBe(state as never);
  });

  test("a Proxy that is Ready and has no session serves nobody", () => {
    const conditions = [ready("True", "Available"), condition("Connected", "False", "WaitingForTarget")];
    const proxy = makeProxy({}, { name: "p", status: proxyStatus(conditions) });
    expect(pictureOf(overview({ tunnels: [], proxies: [proxy], targets: [] }), now).lines[0]?.state).toBe("down");
  });
});

test("numbers are absent while a pod that counts could not be asked, or pods may not be listed", () => {
  const samples = new Map([["uid-of-a", said(3, 100)]]);
  expect(pictureOf(overview({ samples }), now).lines[0]?.numbers).toBeUndefined();
  const line = pictureOf(overview({ pods: undefined }), now).lines[0];
  expect([line?.numbers, line?.pairs[0]?.proxies]).toEqual([undefined, []]);
});

test("rates follow from two looks, and say nothing when an agent was started anew between them", () => {
  const samples = (bytes: number) =>
    new Map([
      ["uid-of-a", said(1, bytes)],
      ["uid-of-b", readSamples("netaminity_sessions 0")],
      ["uid-of-t", said(1, bytes)],
    ]);
  const first = pictureOf(overview({ samples: samples(100) }), now);
  const second = pictureOf(overview({ samples: samples(500) }), now + 4000);
  expect(withRates(first, undefined).lines[0]?.rates).toBeUndefined();
  expect(withRates(second, first).lines[0]?.rates).toEqual({ toBackend: 100, toConsumer: 0 });
  expect(withRates(first, second).lines[0]?.rates).toBeUndefined();
  const third = pictureOf(overview({ samples: samples(7) }), now + 8000);
  expect(withRates(third, second).lines[0]?.rates).toBeUndefined();
});

test("keys tell kinds and namespaces apart", () => {
  expect(keyOf("Tunnel", makeTunnel().metadata)).not.toBe(keyOf("Proxy", makeTunnel().metadata));
});
