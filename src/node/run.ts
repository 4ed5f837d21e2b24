import type { WatchTiming } from "../kube/cache.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createEventRecorder, type EventRecorder } from "../kube/events.ts";
import { createKube } from "../kube/kube.ts";
import type { Log } from "../log.ts";
import { apiGroup, fieldManager } from "../names.ts";
import { type Family, families } from "./address.ts";
import { type Caches, startCaches } from "./caches.ts";
import { type Conntrack, createConntrack } from "./conntrack.ts";
import { createHealthChecks, healthChecksOf } from "./health-checks.ts";
import { type Keeper, type KeeperTiming, startKeeper } from "./keeper.ts";
import { type MeshSettings, meshTableOf } from "./mesh-table.ts";
import { createNodeMetrics, type NodeMetrics } from "./metrics.ts";
import { wholeIpTable } from "./names.ts";
import { createNft, type Nft } from "./nft.ts";
import { type NodePlan, type NodeSettings, type Note, planNode } from "./plan.ts";
import type { Table } from "./table.ts";
import { wholeIpTableOf } from "./whole-ip-table.ts";

export interface NodeOptions {
  credentials: Credentials;
  settings: Omit<NodeSettings, "apiServer">;
  /** Undefined: nothing is masqueraded. */
  mesh: MeshSettings | undefined;
  version: string;
  log: Log;
  /** Who reads and changes the kernel's tables; those of this network namespace when absent. */
  nft?: Nft;
  conntrack?: Conntrack;
  timing?: { watch?: Partial<WatchTiming>; keeper?: Partial<KeeperTiming> };
}

export interface NodeRole {
  /** Why it cannot do its job now; undefined when it can. */
  notReady(): string | undefined;
  metrics: NodeMetrics;
  /** Ends all work and leaves the tables as they are. */
  stop(): Promise<void>;
}

/** Starts the role; it runs until `stop`, whatever the API server does. Until the API server has told what there is, the kernel's tables stay as they are. */
export function startNode(options: NodeOptions): NodeRole {
  const { log } = options;
  const metrics = createNodeMetrics();
  const stopping = new AbortController();
  const { signal } = stopping;
  const checks = createHealthChecks(log);
  let keeper: Keeper | undefined;
  const watched = watchCluster(options, metrics, signal, () => keeper?.changed());
  const events = createEventRecorder({
    ...{ kube: watched.kube, metrics, log },
    controller: `${apiGroup}/node`,
    instance: options.settings.node,
  });
  const tell = createTeller(events, options.settings.node, log);
  const running = watched.caches.synced.then(async () => {
    if (signal.aborted) return;
    keeper = startKeeper({
      nft: options.nft ?? createNft(),
      conntrack: options.conntrack ?? createConntrack(),
      wanted: (family, name) => {
        const { plan, isNew } = watched.plan();
        if (isNew) {
          tell(plan.notes);
          count(metrics, plan);
          checks.serve(healthChecksOf(watched.caches, watched.settings));
        }
        return tableOf(plan, options.mesh, family, name);
      },
      ...{ metrics, log, signal },
      ...(options.timing?.keeper === undefined ? {} : { timing: options.timing.keeper }),
    });
    await keeper.done;
  });
  return {
    notReady: () => (signal.aborted ? "stopping" : (watched.caches.notReady() ?? keeper?.notReady())),
    metrics,
    async stop() {
      stopping.abort();
      checks.stop();
      await Promise.all([running, watched.caches.done]);
    },
  };
}

/** The tables that this node should have, for those who only want to see them. Gives up when the signal fires. */
export async function wantedTables(
  options: NodeOptions,
  signal: AbortSignal,
): Promise<{ tables: Table[]; notes: readonly Note[]; notReady: string | undefined }> {
  const metrics = createNodeMetrics();
  const watched = watchCluster(options, metrics, signal, () => {});
  await watched.caches.synced;
  const { plan } = watched.plan();
  const names = families.flatMap((family) => [true, false].map((isWholeIp) => ({ family, isWholeIp })));
  const tables = names.flatMap(({ family, isWholeIp }) => {
    const table = tableOf(plan, options.mesh, family, isWholeIp ? wholeIpTable : "");
    return table === undefined ? [] : [table];
  });
  return { tables, notes: plan.notes, notReady: watched.caches.notReady() };
}

interface Watched {
  kube: ReturnType<typeof createKube>;
  caches: Caches;
  settings: NodeSettings;
  /** The plan of what is known now; it is new when something has changed since the last call. */
  plan(): { plan: NodePlan; isNew: boolean };
}

function watchCluster(
  { credentials, version, log, timing, ...options }: NodeOptions,
  metrics: NodeMetrics,
  signal: AbortSignal,
  onChange: () => void,
): Watched {
  const kube = createKube({ credentials, metrics, userAgent: `netaminity-node/${version}`, fieldManager });
  const settings = { ...options.settings, apiServer: [new URL(credentials.server).hostname.replace(/^\[|\]$/g, "")] };
  let current: NodePlan | undefined;
  const caches = startCaches({
    ...{ kube, metrics, log, signal },
    timing: timing?.watch ?? {},
    onChange: () => {
      current = undefined;
      onChange();
    },
  });
  return {
    kube,
    caches,
    settings,
    plan() {
      const isNew = current === undefined;
      current ??= planNode(caches, settings);
      return { plan: current, isNew };
    },
  };
}

function tableOf(plan: NodePlan, mesh: MeshSettings | undefined, family: Family, name: string): Table | undefined {
  if (name === wholeIpTable) {
    return wholeIpTableOf(plan, family);
  }
  return mesh === undefined ? undefined : meshTableOf(mesh, plan.surroundings.podCidrs, family);
}

function count(metrics: NodeMetrics, { mappings, notes }: NodePlan): void {
  const local = mappings.filter(({ isLocal }) => isLocal).length;
  metrics.addresses.set({ pod: "local" }, local);
  metrics.addresses.set({ pod: "remote" }, mappings.length - local);
  metrics.findings.reset();
  for (const { reason } of notes) metrics.findings.inc({ reason });
}

/** Says each thing once while it lasts: one node as an Event, every one in its log. */
function createTeller(events: EventRecorder, node: string, log: Log): (notes: readonly Note[]) => void {
  let said = new Set<string>();
  return (notes) => {
    const now = new Set<string>();
    for (const { service, reason, message, reporter } of notes) {
      const key = [service.metadata.uid, reason, message, reporter].join("\n");
      now.add(key);
      if (said.has(key)) continue;
      const { namespace, name, uid } = service.metadata;
      log.warn("whole-IP Service", { service: `${namespace}/${name}`, reason, message });
      if (reporter === node) {
        const regarded = { apiVersion: "v1", kind: "Service", metadata: { namespace, name, uid } };
        events.record(regarded, { type: "Warning", reason, message });
      }
    }
    said = now;
  };
}
