import { describe, expect, test } from "bun:test";
import { readSamples } from "../../../src/doctor/samples.ts";
import { labels } from "../../../src/names.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import { type Agents, stageOf, usersOf, withoutSession, withoutValue } from "../../../src/share/rotation.ts";
import { makePod, makeProxy, makeSecret, makeTarget } from "../../support/objects.ts";
import { makeProxyInput } from "../../support/proxy-input.ts";

const shared = (data: Record<string, string>) => makeSecret(data, { name: "shared" });

describe("how far a rotation is stands in the Secret", () => {
  test.each<[string, Record<string, string>, string | undefined]>([
    ["not begun", { secret: btoa("one") }, undefined],
    ["begun", { secret: btoa("two"), "previous-secret": btoa("one") }, "one"],
    ["not begun: an empty value is none", { secret: btoa("two"), "previous-secret": "" }, undefined],
    ["not begun: the same value twice is one", { secret: btoa("two"), "previous-secret": btoa("two\n") }, undefined],
  ])("%s", (_, data, previous) => {
    expect(stageOf(shared(data)).previous).toBe(previous);
  });

  test.each<[Record<string, string>, string]>([
    [{}, "has no usable key secret"],
    [{ secret: "" }, "has no usable key secret"],
    [{ secret: "/w==" }, "key secret: it is not UTF-8 text"],
  ])("what holds no secret is not rotated: %p", (data, message) => {
    expect(() => stageOf(shared(data))).toThrow(message);
  });
});

const pod = (name: string, label: string, of: string) => {
  const made = makePod(name);
  return { ...made, metadata: { ...made.metadata, uid: name, labels: { [label]: of } } };
};

/** What agents say, by the name of their pod. */
function agents(said: Record<string, string>): Agents {
  return {
    proxies: [makeProxy(), makeProxy({ secretRef: { name: "other" } }, { name: "stranger" })],
    targets: [makeTarget()],
    pods: [pod("a", labels.proxy, "edge"), pod("b", labels.target, "inner"), pod("c", labels.proxy, "stranger")],
    samples: new Map(Object.entries(said).map(([uid, text]) => [uid, readSamples(text)])),
  };
}

const has = (current: string, previous?: string) =>
  [
    `netaminity_secret_info{use="current",fingerprint="${current}"} 1`,
    ...(previous === undefined ? [] : [`netaminity_secret_info{use="previous",fingerprint="${previous}"} 1`]),
  ].join("\n");
const serves = (sessions: Record<string, number>) =>
  Object.entries(sessions)
    .map(([fingerprint, count]) => `netaminity_secret_sessions{fingerprint="${fingerprint}"} ${count}`)
    .join("\n");

test("whoever uses the Secret counts, and nobody else", () => {
  const { proxies, targets, pods } = usersOf("shared", agents({}));
  expect([...proxies, ...targets].map(({ metadata }) => metadata.name)).toEqual(["edge", "inner"]);
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
});

test.each<[string, Record<string, string>, string[]]>([
  ["every agent has it", { a: has("new0", "old0"), b: has("new0") }, []],
  [
    "one has it as the value before: it would show another",
    { a: has("new0"), b: has("old0", "new0") },
    ["pod b has not read the new value yet"],
  ],
  [
    "one is older",
    { a: has("new0"), b: "netaminity_sessions 1" },
    ["pod b is of a version that does not say which secret it has"],
  ],
  ["one does not answer", { a: has("new0") }, ["pod b does not say which secret it has (its metrics cannot be read)"]],
])("the new value: %s", (_, said, pending) => {
  expect(withoutValue(usersOf("shared", agents(said)), "new0")).toEqual(pending);
});

test.each<[string, Record<string, string>, string[]]>([
  ["all use it", { a: serves({ new0: 2 }), c: serves({ old0: 1 }) }, []],
  ["one does not", { a: serves({ new0: 2, old0: 1 }) }, ["1 of 3 sessions of Proxy edge still use the old value"]],
  [
    "there is none",
    { a: "", b: serves({ new0: 1 }) },
    ["Proxy edge has no session, so that nobody can tell what its target knows"],
  ],
])("sessions: %s", (_, said, pending) => {
  expect(withoutSession(usersOf("shared", agents(said)), "new0")).toEqual(pending);
});

test("a target pod that cannot be asked is told by its session, if it has one with a proxy that can", () => {
  const pending = (ready: boolean, endpoint: string) => {
    const all = agents({ a: has("new0") });
    const { status } = planProxy(makeProxyInput());
    const proxies = [makeProxy({}, { status: { ...status, proxyEndpoint: "proxy.example.net:7835" } })];
    const made = makePod("b", { ready });
    const target = { ...made, metadata: { ...made.metadata, uid: "b", labels: { [labels.target]: "inner" } } };
    const pods = [...all.pods.slice(0, 1), target];
    return withoutValue({ ...all, proxies, pods, targets: [makeTarget({ proxyEndpoint: endpoint })] }, "new0");
  };
  const unknown = ["pod b does not say which secret it has (its metrics cannot be read)"];
  expect(pending(true, "proxy.example.net:7835")).toEqual([]);
  expect(pending(false, "proxy.example.net:7835")).toEqual(unknown);
  expect(pending(true, "elsewhere.example.net:7835")).toEqual(unknown);
});
