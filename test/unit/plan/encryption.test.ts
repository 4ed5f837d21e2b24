import { describe, expect, test } from "bun:test";
import type { ProxyResource } from "../../../src/api/proxy.ts";
import type { TargetResource } from "../../../src/api/target.ts";
import { withHash } from "../../../src/desired/applied.ts";
import { type EncryptionStep, encryptionStep } from "../../../src/plan/encryption.ts";
import type { TunnelInput } from "../../../src/plan/observed.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import {
  condition,
  endpointOf,
  makeTunnelInput,
  proxyOf,
  proxyStatus,
  targetOf,
  tunnel,
} from "../../support/tunnel-input.ts";

type Rollout = "done" | "rolling" | "unseen";

const readyOnes = [condition("Ready", "True", "SessionUp"), condition("Connected", "True", "SessionUp")];
const done = [...readyOnes, condition("Updated", "True", "UpToDate")];
const rolling = [...readyOnes, condition("Updated", "False", "RollingOut", "0 of 1 pods are up to date, 2 exist")];

/** `unseen`: the status is still about the spec before, of which all pods were up to date. */
const aged = <T extends ProxyResource | TargetResource>(object: T, rollout: Rollout): T =>
  rollout === "unseen" ? { ...object, metadata: { ...object.metadata, generation: 4 } } : object;

function proxy(encryption: ProxyResource["spec"]["encryption"], rollout: Rollout = "done"): ProxyResource {
  const plain = proxyOf(0, proxyStatus(rollout === "rolling" ? rolling : done, endpointOf(0)));
  return aged({ ...plain, spec: { ...plain.spec, encryption } }, rollout);
}

function target(encryption: TargetResource["spec"]["encryption"], rollout: Rollout = "done"): TargetResource {
  const plain = targetOf(0, rollout === "rolling" ? rolling : done);
  return aged({ ...plain, spec: { ...plain.spec, encryption } }, rollout);
}

const plain: EncryptionStep = { proxy: "optional", target: "off" };
const encrypted: EncryptionStep = { proxy: "required", target: "required" };
const both = (waits: string): EncryptionStep => ({ proxy: "optional", target: "required", waits });
const forTarget = (how = "") => both(`encryption: its Proxy requires it once Target api-0 is rolled out${how}`);
const forProxy = (how = "") => both(`encryption: its Target stops it once Proxy api-0 is rolled out${how}`);
const how = " (RollingOut: 0 of 1 pods are up to date, 2 exist)";

describe("encryption of a pair", () => {
  const cases: Record<
    string,
    [wish: "off" | "required", proxy: ProxyResource | undefined, target: TargetResource | undefined, EncryptionStep]
  > = {
    "is on at both sides of a new one at once": ["required", undefined, undefined, encrypted],
    "is off at both sides of a new one at once": ["off", undefined, undefined, plain],
    "is on at once before there is a Target": ["required", proxy("optional"), undefined, encrypted],
    "stays as it is where it is on": ["required", proxy("required"), target("required"), encrypted],
    "stays as it is where it is off": ["off", proxy("optional"), target("off"), plain],

    "on: the Target goes first": ["required", proxy("optional"), target("off"), forTarget()],
    "on: the Proxy waits while the operator has not seen the Target's change": [
      "required",
      proxy("optional"),
      target("required", "unseen"),
      forTarget(),
    ],
    "on: the Proxy waits for the Target's pods": [
      "required",
      proxy("optional"),
      target("required", "rolling"),
      forTarget(how),
    ],
    "on: the Proxy follows": ["required", proxy("optional"), target("required"), encrypted],
    "on: a Proxy that is gone comes back lenient while the Target is not there yet": [
      "required",
      undefined,
      target("required", "rolling"),
      forTarget(how),
    ],
    "on: the Target's later rollouts do not take it back from the Proxy": [
      "required",
      proxy("required"),
      target("required", "rolling"),
      encrypted,
    ],
    "on: a Proxy that somebody set too early lets the Target in again": [
      "required",
      proxy("required"),
      target("off"),
      forTarget(),
    ],

    "off: the Proxy goes first": ["off", proxy("required"), target("required"), forProxy()],
    "off: the Target waits while the operator has not seen the Proxy's change": [
      "off",
      proxy("optional", "unseen"),
      target("required"),
      forProxy(),
    ],
    "off: the Target waits for the Proxy's pods": [
      "off",
      proxy("optional", "rolling"),
      target("required"),
      forProxy(how),
    ],
    "off: the Target follows": ["off", proxy("optional"), target("required"), plain],
    "off: a Target that is off stays off while its Proxy rolls for another reason": [
      "off",
      proxy("optional", "rolling"),
      target("off"),
      plain,
    ],
    "off: a Target that does not exist is made without it": ["off", proxy("optional", "rolling"), undefined, plain],
    "off: a Target that does not exist waits while its Proxy is to require it": [
      "off",
      proxy("required"),
      undefined,
      forProxy(),
    ],
    "off: the Target waits for a Proxy that is made anew": [
      "off",
      undefined,
      target("required"),
      both("encryption: its Target stops it once its Proxy is rolled out"),
    ],

    "on and taken back before the Target was rolled out: the Proxy never required it": [
      "off",
      proxy("optional"),
      target("required", "rolling"),
      plain,
    ],
    "on and taken back while the Proxy rolls out": [
      "off",
      proxy("required", "rolling"),
      target("required"),
      forProxy(),
    ],
    "off and taken back while the Proxy rolls out": [
      "required",
      proxy("optional", "rolling"),
      target("required"),
      encrypted,
    ],
    "off and taken back while the Target rolls out": [
      "required",
      proxy("optional"),
      target("off", "rolling"),
      forTarget(),
    ],
  };
  for (const [title, [wish, ofProxy, ofTarget, step]] of Object.entries(cases)) {
    test(title, () => expect(encryptionStep(wish, ofProxy, ofTarget)).toEqual(step));
  }
});

/** A pair as it stands: what each object asks for, and the settings that its pods have; while they are rolled out there are pods of both. */
interface World {
  wish: "off" | "required";
  proxy?: { spec: "optional" | "required"; pods: readonly string[] };
  target?: { spec: "off" | "required"; pods: readonly string[] };
}

const isDone = ({ spec, pods }: { spec: string; pods: readonly string[] }) => pods.length === 1 && pods[0] === spec;
const rolloutOf = (side: { spec: string; pods: readonly string[] }) => (isDone(side) ? "done" : "rolling");
const withPod = (pods: readonly string[] | undefined, pod: string) => [...new Set([...(pods ?? []), pod])].sort();

/** What the operator decides. It knows only what is there, as after a restart. */
const stepIn = ({ wish, proxy: p, target: t }: World) =>
  encryptionStep(wish, p && proxy(p.spec, rolloutOf(p)), t && target(t.spec, rolloutOf(t)));

/** All that can happen next. A write of one object may fail after that of the other, and both sides roll out when they like. */
function nextOf(world: World): World[] {
  const { proxy: p, target: t } = world;
  const step = stepIn(world);
  return [
    { ...world, wish: "required" },
    { ...world, wish: "off" },
    { ...world, proxy: { spec: step.proxy, pods: withPod(p?.pods, step.proxy) } },
    ...(p === undefined ? [] : [{ ...world, target: { spec: step.target, pods: withPod(t?.pods, step.target) } }]),
    ...(p === undefined ? [] : [{ ...world, proxy: { spec: p.spec, pods: [p.spec] } }]),
    ...(t === undefined ? [] : [{ ...world, target: { spec: t.spec, pods: [t.spec] } }]),
  ];
}

/** Every state that can be reached, each once. */
function reachable(): World[] {
  const found = new Map<string, World>();
  const open: World[] = [{ wish: "off" }];
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    const key = JSON.stringify([world.wish, world.proxy, world.target]);
    if (found.has(key)) continue;
    found.set(key, world);
    open.push(...nextOf(world));
  }
  return [...found.values()];
}

describe("of all states of a pair that can be reached", () => {
  const worlds = reachable();

  test("there are many", () => expect(worlds.length).toBeGreaterThan(20));

  test("none lets a Proxy require it while a target pod does not encrypt", () => {
    const wrong = worlds.filter((world) => stepIn(world).proxy === "required" && world.target?.pods.includes("off"));
    expect(wrong).toEqual([]);
  });

  test("none lets a Target stop it while a proxy pod requires it", () => {
    const stops = (world: World) => stepIn(world).target === "off" && world.target?.spec === "required";
    expect(worlds.filter((world) => stops(world) && world.proxy?.pods.includes("required"))).toEqual([]);
    const isMade = (world: World) => stepIn(world).target === "off" && world.target === undefined;
    expect(worlds.filter((world) => isMade(world) && world.proxy?.spec === "required")).toEqual([]);
  });

  test("each comes to what the Tunnel wants when nothing changes any more", () => {
    for (const world of worlds) {
      let now = world;
      for (let turn = 0; turn < 4; turn += 1) {
        const { proxy: p, target: t } = stepIn(now);
        now = { ...now, proxy: { spec: p, pods: [p] }, target: { spec: t, pods: [t] } };
      }
      expect(stepIn(now)).toEqual(now.wish === "required" ? encrypted : plain);
    }
  });
});

describe("a Tunnel whose encryption is switched on", () => {
  const wanted = { ...tunnel, spec: { ...tunnel.spec, encryption: "required" as const } };
  const pick = (input: TunnelInput) =>
    planTunnel(input).apply.flatMap(({ kind, metadata, ...rest }) =>
      kind === "Proxy" || kind === "Target"
        ? [`${kind} ${metadata.name} ${(rest as unknown as ProxyResource).spec.encryption}`]
        : [],
    );
  const updated = (input: TunnelInput) =>
    planTunnel(input).status.conditions.find(({ type }) => type === "Updated")?.message;

  test("goes on with each pair by itself, and says what the first waits for", () => {
    const ready = { ...targetOf(1), spec: { ...targetOf(1).spec, encryption: "required" as const } };
    const input = makeTunnelInput({ tunnel: wanted, targets: [targetOf(0), ready] });
    expect(pick(input)).toEqual([
      ...["Proxy api-0 optional", "Target api-0 required", "Proxy api-1 required", "Target api-1 required"],
    ]);
    const waits = "encryption: its Proxy requires it once Target api-0 is rolled out";
    expect(updated(input)).toBe(`0 of 2 pairs are up to date; pair 0: ${waits}`);
    expect(planTunnel(input).status.replicasStatus.map(({ ready, message }) => [ready, message])).toEqual([
      [true, waits],
      [true, undefined as never],
    ]);
  });

  test("makes a pair that is added meanwhile with it at once", () => {
    const input = makeTunnelInput({ tunnel: wanted, proxies: [proxyOf(0)], targets: [targetOf(0)] });
    expect(pick(input)).toEqual(["Proxy api-0 optional", "Target api-0 required", "Proxy api-1 required"]);
  });

  test("is not up to date before its Proxies require it, though both children are as they were applied", () => {
    const waiting = makeTunnelInput({ tunnel: wanted, targets: [target("required", "rolling"), targetOf(1)] });
    const steps = planTunnel(waiting).apply;
    const applied = waiting.targets.map((each) => {
      const wish = steps.find(({ kind, metadata }) => kind === "Target" && metadata.name === each.metadata.name);
      const { annotations = {} } = wish === undefined ? {} : withHash(wish).metadata;
      return { ...each, metadata: { ...each.metadata, annotations } };
    });
    expect(updated({ ...waiting, targets: applied })).toStartWith("0 of 2 pairs are up to date; pair 0: encryption:");
  });
});
