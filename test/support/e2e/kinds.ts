/** The three kinds and their pods, as a test looks at them. */
import type { V1Pod } from "@kubernetes/client-node";
import { groupVersion, labels } from "../../../src/names.ts";
import { type Cluster, waitFor } from "../cluster/index.ts";

export type Kind = "tunnel" | "proxy" | "target";

const plurals = { tunnel: "tunnels", proxy: "proxies", target: "targets" } as const;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface Resource {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly proxyEndpoint?: string;
    readonly activePod?: string;
    readonly readyReplicas?: number;
    readonly liveReplicas?: number;
    readonly replicas?: number;
  };
}

export interface Kinds {
  get(kind: Kind, name: string): Promise<Resource>;
  /** Merge-patches the object. */
  patch(kind: Kind, name: string, patch: object): Promise<void>;
  remove(kind: Kind, name: string): Promise<void>;
  /** Waits until conditions that are about the present spec say so. */
  until(kind: Kind, name: string, wanted: Readonly<Record<string, string>>, deadline?: number): Promise<Resource>;
  /** Waits for a condition with this reason and gives its message. */
  untilReason(kind: Kind, name: string, type: string, reason: string, deadline?: number): Promise<string>;
  /** Waits until a Proxy has that many pods that could be the active one, and no others. */
  untilLive(proxy: string, count: number, deadline?: number): Promise<void>;
  /** Waits until no pod of it is on its way out any more. */
  untilNoneLeave(kind: Kind, name: string, deadline?: number): Promise<void>;
  /** Pods of a Proxy or Target that are not being deleted. */
  pods(kind: "proxy" | "target", name: string): Promise<V1Pod[]>;
  /** The pod to which the rendezvous of a Proxy leads. */
  activePod(proxy: string): Promise<V1Pod>;
}

export function kindsOf(cluster: Cluster, namespace: string): Kinds {
  const path = (kind: Kind, name: string): string =>
    `/apis/${groupVersion}/namespaces/${namespace}/${plurals[kind]}/${name}`;
  const podsOf = (kind: Kind, name: string): Promise<V1Pod[]> =>
    cluster.pods.list(namespace, `${labels[kind]}=${name}`);
  const get: Kinds["get"] = (kind, name) => cluster.api.request<Resource>(path(kind, name));
  const waitUntil = async <T>(
    what: string,
    deadline: number,
    [kind, name]: readonly [Kind, string],
    probe: (resource: Resource) => T | undefined | false,
  ): Promise<T> => {
    let last: Resource | undefined;
    try {
      return await waitFor(what, { deadline, interval: 100 }, async () => {
        last = await get(kind, name);
        return probe(last);
      });
    } catch (error) {
      throw new Error(`${what}; it is ${JSON.stringify(last?.status)}`, { cause: error });
    }
  };
  return {
    get,
    async patch(kind, name, body) {
      await cluster.api.request(path(kind, name), { method: "PATCH", body });
    },
    async remove(kind, name) {
      await cluster.api.request(path(kind, name), { method: "DELETE" });
    },
    until: (kind, name, wanted, deadline = 60_000) =>
      waitUntil(`${kind} ${name} ${JSON.stringify(wanted)}`, deadline, [kind, name], (resource) => {
        const conditions = resource.status?.conditions ?? [];
        const { generation } = resource.metadata;
        const holds = Object.entries(wanted).every(([type, status]) =>
          conditions.some(
            (each) => each.type === type && each.status === status && each.observedGeneration === generation,
          ),
        );
        return holds ? resource : undefined;
      }),
    untilReason: (kind, name, type, reason, deadline = 30_000) =>
      waitUntil(`${kind} ${name}: ${type} because of ${reason}`, deadline, [kind, name], (resource) => {
        return resource.status?.conditions?.find((each) => each.type === type && each.reason === reason)?.message;
      }),
    async untilLive(proxy, count, deadline = 60_000) {
      await waitUntil(`proxy ${proxy} has ${count} live pods`, deadline, ["proxy", proxy], ({ status }) => {
        return status?.liveReplicas === count && status.replicas === count;
      });
    },
    async untilNoneLeave(kind, name, deadline = 60_000) {
      await waitFor(`the old pods of ${kind} ${name} are gone`, { deadline, interval: 250 }, async () => {
        return (await podsOf(kind, name)).every((pod) => pod.metadata?.deletionTimestamp === undefined);
      });
    },
    async pods(kind, name) {
      const pods = await podsOf(kind, name);
      return pods.filter((pod) => pod.metadata?.deletionTimestamp === undefined);
    },
    async activePod(proxy) {
      const name = (await get("proxy", proxy)).status?.activePod;
      if (name === undefined) throw new Error(`proxy ${proxy} has no active pod`);
      return cluster.pods.get({ namespace, pod: name });
    },
  };
}

export function podName(pod: V1Pod): string {
  return pod.metadata?.name ?? "";
}

export function nodeOf(pod: V1Pod): string {
  return pod.spec?.nodeName ?? "";
}
