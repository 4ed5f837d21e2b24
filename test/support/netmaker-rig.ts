import { afterEach, beforeEach } from "bun:test";
import type { KubeNode } from "../../src/publish/kube-node.ts";
import { createPublishMetrics } from "../../src/publish/metrics.ts";
import { createNetmaker, type NetmakerSettings } from "../../src/publish/netmaker.ts";
import { createNetmakerApi } from "../../src/publish/netmaker-api.ts";
import type { Login } from "../../src/publish/netmaker-login.ts";
import type { Provider } from "../../src/publish/provider.ts";
import { makeNode } from "./mesh.ts";
import { type Fault, type ScriptedNetmaker, startNetmaker } from "./netmaker.ts";

export interface NetmakerRig {
  netmaker: ScriptedNetmaker;
  login: Login;
  /** Milliseconds on the providers' clock. */
  clock: number;
}

const { signal } = new AbortController();

/** A new scripted Netmaker for each test of the file. */
export function netmakerRig(): NetmakerRig {
  const rig = {} as NetmakerRig;
  beforeEach(async () => {
    const login = { username: "netaminity", password: "correct horse" };
    Object.assign(rig, { netmaker: await startNetmaker(), login, clock: 0 });
  });
  afterEach(async () => {
    await rig.netmaker[Symbol.asyncDispose]();
  });
  return rig;
}

export function openProvider(
  rig: NetmakerRig,
  { cluster = "test", ...given }: Partial<Omit<NetmakerSettings, "cluster">> & { cluster?: string } = {},
): Provider {
  const endpoint = {
    url: rig.netmaker.url,
    ca: () => undefined,
    userAgent: "test",
    metrics: createPublishMetrics(),
    timing: { call: 500, firstPause: 1, maxPause: 5 },
  };
  const settings = { cluster: async () => cluster, force: false, adoptKaputNot: false, ...given };
  const api = createNetmakerApi(endpoint, () => rig.login);
  return createNetmaker(api, settings, () => rig.clock);
}

export async function pass(provider: Provider, nodes: readonly KubeNode[] = [makeNode("a")]) {
  const picture = await provider.look({ nodes, signal });
  return { picture, applied: await picture.apply(signal) };
}

/** The rules that the server holds, without their ids. */
export const rulesOf = ({ netmaker }: NetmakerRig) => [...netmaker.rules.values()].map(({ id: _, ...rule }) => rule);

/** The next such request fails so. */
export function failOnce({ netmaker }: NetmakerRig, request: string, fault: Fault): void {
  let isDone = false;
  netmaker.fault = (now) => {
    if (isDone || now !== request) return undefined;
    isDone = true;
    return fault;
  };
}
