import { expect, test } from "bun:test";
import { warningIn } from "../../../src/doctor/agents.ts";
import { type Overview, rowsOf } from "../../../src/doctor/overview.ts";
import { ageText, bytesText, overviewText } from "../../../src/doctor/overview-text.ts";
import { countsBy, readSamples, sumOf } from "../../../src/doctor/samples.ts";
import { makePod, makeProxy, makeTarget, makeTunnel } from "../../support/objects.ts";
import { proxyStatus, targetStatus } from "./facts.ts";

const text = [
  "# HELP netaminity_sessions Sessions that are up.",
  "netaminity_sessions 2",
  "netaminity_sessions_encrypted 1",
  'netaminity_stream_bytes_total{direction="to_backend"} 1536',
  'netaminity_stream_bytes_total{direction="to_consumer"} 2e6',
  'odd{a="with \\"quotes\\" and, commas",b="2"} NaN',
  "netaminity_streams_open 3",
].join("\n");

test("the text format is read, whatever labels hold", () => {
  const samples = readSamples(text);
  expect(samples.length).toBe(5);
  expect([sumOf(samples, "netaminity_stream_bytes_total"), sumOf(samples, "absent")]).toEqual([2001536, 0]);
  expect([...countsBy(samples, "netaminity_stream_bytes_total", "direction")]).toEqual([
    ["to_backend", 1536],
    ["to_consumer", 2e6],
  ]);
});

test("numbers are unknown, not 0, where pods may not be listed", () => {
  const [row] = rowsOf({ ...overview(), pods: undefined }, 0);
  expect(row).not.toHaveProperty("sessions");
  expect(row).not.toHaveProperty("streams");
});

function labelled(name: string, labels: Record<string, string>) {
  const pod = makePod(name, { ready: true });
  return { ...pod, metadata: { ...pod.metadata, labels } };
}

function overview(): Overview {
  const tunnel = makeTunnel();
  const pairs = ["api-10", "api-2"].map((name) => makeProxy({}, { name, owner: tunnel, status: proxyStatus() }));
  const label = (proxy: string) => ({
    "netaminity.exeteres.net/proxy": proxy,
    "netaminity.exeteres.net/tunnel": "api",
    "app.kubernetes.io/component": "proxy",
  });
  return {
    tunnels: [tunnel],
    proxies: pairs,
    targets: [makeTarget({}, { status: targetStatus() })],
    pods: [
      ...[labelled("p10", label("api-10")), labelled("p2", label("api-2"))],
      labelled("t", { "netaminity.exeteres.net/target": "inner" }),
    ],
    samples: new Map([
      ["uid-of-p10", readSamples(text)],
      ["uid-of-p2", readSamples(text)],
    ]),
  };
}

test("a Tunnel comes before its pairs in order, sums what they carry, and what cannot be asked is a question mark", () => {
  const rows = rowsOf(overview(), Date.parse("2026-01-01T00:00:30Z"));
  expect(overviewText(rows, { namespaces: true }).split("\n")).toEqual([
    "NAMESPACE  OBJECT          READY    SESSIONS  ENCRYPTED  STREAMS  TO-BACKEND  TO-CONSUMER  AGE  REASON",
    "demo       tunnel/api      Unknown  4         2          6        3.0 KiB     3.8 MiB      24h  NoStatus",
    "demo         proxy/api-2   True     2         1          3        1.5 KiB     1.9 MiB      24h  Available",
    "demo         proxy/api-10  True     2         1          3        1.5 KiB     1.9 MiB      24h  Available",
    "demo       target/inner    True     ?         ?          ?        ?           ?            24h  SessionUp",
  ]);
});

test("an empty list says so", () => {
  expect(overviewText([], { namespaces: false })).toBe("no Tunnel, Proxy or Target found");
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1024, "1.0 KiB"],
  [102_400, "100 KiB"],
  [5 * 1024 ** 3, "5.0 GiB"],
])("%p bytes are %p", (bytes, expected) => expect(bytesText(bytes)).toBe(expected));

test.each([
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [7200, "2h"],
  [172_800, "2d"],
])("%p seconds are %p", (seconds, expected) => expect(ageText(seconds)).toBe(expected));

test.each([
  ['{"time":"t","level":"warn","message":"session lost","reason":"EOF"}', "session lost reason=EOF"],
  ['{"time":"t","level":"info","message":"listening"}', undefined],
  [
    '2026-01-01T00:00:00.000Z warn  the proxy cannot be reached reason="timed out"',
    'the proxy cannot be reached reason="timed out"',
  ],
  ["2026-01-01T00:00:00.000Z info  listening", undefined],
  ["{broken", undefined],
])("of the log line %p the warning is %p", (line, expected) => expect(warningIn(line)).toBe(expected as never));
