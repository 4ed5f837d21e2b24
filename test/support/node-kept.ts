/** The role's own parts on both nodes of the lab; what the API server would tell comes from the test. */

import { createLog } from "../../src/log.ts";
import type { Family } from "../../src/node/address.ts";
import { createConntrack } from "../../src/node/conntrack.ts";
import { changeOf } from "../../src/node/document.ts";
import { type Keeper, startKeeper } from "../../src/node/keeper.ts";
import { type MeshSettings, meshTableOf } from "../../src/node/mesh-table.ts";
import { createNodeMetrics, type NodeMetrics } from "../../src/node/metrics.ts";
import { wholeIpTable } from "../../src/node/names.ts";
import { createNft, type Nft } from "../../src/node/nft.ts";
import type { ObservedService } from "../../src/node/observed.ts";
import { planNode } from "../../src/node/plan.ts";
import type { Table } from "../../src/node/table.ts";
import { wholeIpTableOf } from "../../src/node/whole-ip-table.ts";
import type { Lab } from "./node-lab.ts";
import { makeState, type Slices, settings } from "./node-objects.ts";

export { endpoint as endpointOf } from "./node-objects.ts";

export interface KeptNode {
  nft: Nft;
  metrics: NodeMetrics;
  wanted(family: Family, name: string): Table | undefined;
  /** Ends the process's part and leaves the table, and begins anew. */
  restart(): Promise<void>;
}

export interface KeptNodes extends AsyncDisposable {
  one: KeptNode;
  two: KeptNode;
  /** What the cluster has from now on; resolves when the kernels have what follows from it. */
  are(services: readonly ObservedService[], slices: Slices): Promise<void>;
  /** The same without waiting. */
  become(services: readonly ObservedService[], slices: Slices): void;
  /** Resolves when both kernels have what they should. */
  kept(): Promise<void>;
}

/** Milliseconds. */
const patience = 20_000;

export function keepNodes(lab: Lab, family: Family, mesh?: MeshSettings): KeptNodes {
  let state = makeState([], {});
  const keepers = new Map<string, { keeper: Keeper; stop: AbortController }>();
  const keep = (name: "one" | "two"): KeptNode => {
    const nft = createNft([...lab.on(name), "nft"]);
    const metrics = createNodeMetrics();
    const wanted = (of: Family, table: string) => {
      const plan = planNode(state, { ...settings, node: name });
      if (table === wholeIpTable) return wholeIpTableOf(plan, of);
      return mesh === undefined ? undefined : meshTableOf(mesh, plan.surroundings.podCidrs, of);
    };
    const start = () => {
      const stop = new AbortController();
      const keeper = startKeeper({
        ...{ nft, wanted, metrics, signal: stop.signal },
        conntrack: createConntrack([...lab.on(name), "conntrack"]),
        log: createLog({ level: "error", format: "pretty" }),
      });
      keepers.set(name, { keeper, stop });
    };
    start();
    return {
      ...{ nft, metrics, wanted },
      async restart() {
        const running = keepers.get(name);
        running?.stop.abort();
        await running?.keeper.done;
        start();
      },
    };
  };
  const nodes = { one: keep("one"), two: keep("two") };
  const kept = async () => {
    const until = performance.now() + patience;
    for (const { nft, wanted } of Object.values(nodes)) {
      for (let isSame = false; !isSame; ) {
        const table = wanted(family, wholeIpTable);
        isSame = changeOf(await nft.read(family, wholeIpTable), table).length === 0;
        if (!isSame && performance.now() > until) throw new Error("a node's table is not what it should be");
        if (!isSame) await Bun.sleep(20);
      }
    }
  };
  const become: KeptNodes["become"] = (services, slices) => {
    state = makeState(services, slices);
    for (const { keeper } of keepers.values()) keeper.changed();
  };
  return {
    ...nodes,
    become,
    kept,
    async are(services, slices) {
      become(services, slices);
      await kept();
    },
    async [Symbol.asyncDispose]() {
      for (const { stop } of keepers.values()) stop.abort();
      await Promise.all([...keepers.values()].map(({ keeper }) => keeper.done));
    },
  };
}
