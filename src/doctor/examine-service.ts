import { parseCidrs } from "../node/address.ts";
import { chooseEndpoint, readyEndpoints } from "../node/endpoint.ts";
import type { ObservedNode, ObservedService, ObservedSlice } from "../node/observed.ts";
import type { NodeSettings } from "../node/plan.ts";
import type { ObservedPod } from "../plan/observed.ts";
import type { Cluster } from "./cluster.ts";
import { type Found, seen } from "./facts.ts";

/** What a whole-IP Service depends on. */
export interface ServiceFacts {
  service: Found<ObservedService>;
  /** All of the cluster: an address can be another one's. */
  services: Found<readonly ObservedService[]>;
  slices: Found<readonly ObservedSlice[]>;
  apiServer: Found<readonly ObservedSlice[]>;
  nodes: Found<readonly ObservedNode[]>;
  /** The DaemonSets of the role node. */
  roles: Found<readonly RoleFacts[]>;
  /** What the role says of itself on the node of the pod; undefined when there is nobody to ask. */
  table: { node: string; readiness: Found<string> } | undefined;
}

export interface RoleFacts {
  metadata: { name: string; namespace: string };
  spec?: {
    template?: {
      spec?: {
        containers?: readonly {
          env?: readonly { name: string; value?: string }[];
          ports?: readonly { name?: string; containerPort: number }[];
        }[];
      };
    };
  };
  status?: { desiredNumberScheduled?: number; numberReady?: number };
}

/** The chart's label of the role's DaemonSet and pods. */
const selector = "app.kubernetes.io/component=node";
const timeout = 5000;

export async function examineService(cluster: Cluster, namespace: string, name: string): Promise<ServiceFacts> {
  const ofService = (service: string) => `kubernetes.io/service-name=${service}`;
  const [service, services, slices, apiServer, nodes, daemonSets] = await Promise.all([
    cluster.get<ObservedService>("service", namespace, name),
    cluster.list<ObservedService>("service", undefined),
    cluster.list<ObservedSlice>("endpointSlice", namespace, ofService(name)),
    cluster.list<ObservedSlice>("endpointSlice", "default", ofService("kubernetes")),
    cluster.list<ObservedNode>("node", undefined),
    cluster.list<RoleFacts>("daemonSet", undefined, selector),
  ]);
  const roles: ServiceFacts["roles"] =
    "found" in daemonSets ? { found: daemonSets.found.filter((each) => portOf(each) !== undefined) } : daemonSets;
  return { service, services, slices, apiServer, nodes, roles, table: await askRole(cluster, roles, slices) };
}

async function askRole(
  cluster: Cluster,
  roles: ServiceFacts["roles"],
  slices: ServiceFacts["slices"],
): Promise<ServiceFacts["table"]> {
  const [role] = seen(roles) ?? [];
  const node = chooseEndpoint(readyEndpoints(seen(slices) ?? [], "ip"), "")?.node;
  const port = role === undefined ? undefined : portOf(role);
  if (role === undefined || port === undefined || node === undefined) {
    return undefined;
  }
  const { namespace } = role.metadata;
  const pods = await cluster.list<ObservedPod>("pod", namespace, selector);
  const pod = seen(pods)?.find(({ spec }) => spec?.nodeName === node);
  if (pod === undefined) {
    return { node, readiness: "found" in pods ? { absent: "object" } : pods };
  }
  const reply = await cluster.ask(namespace, pod.metadata.name, port, "/readyz", timeout);
  if ("status" in reply) {
    return { node, readiness: { found: reply.body.trim() } };
  }
  const why = "cut" in reply ? reply.cut : "silent" in reply ? reply.silent : reply.unknown;
  return { node, readiness: { unknown: why } };
}

function portOf({ spec }: RoleFacts): number | undefined {
  const [container] = spec?.template?.spec?.containers ?? [];
  return container?.ports?.find(({ name }) => name === "health")?.containerPort;
}

/** The settings with which a role runs, as far as its DaemonSet tells them. */
export function settingsOfRole({ spec }: RoleFacts): NodeSettings {
  const environment = spec?.template?.spec?.containers?.[0]?.env ?? [];
  const settingOf = (name: string) => environment.find((each) => each.name === `NETAMINITY_${name}`)?.value;
  return {
    node: "",
    podCidrs: parseCidrs(settingOf("POD_CIDR")?.split(",") ?? []),
    serviceCidrs: parseCidrs(settingOf("SERVICE_CIDR")?.split(",") ?? []),
    apiServer: [],
    compatCozystack: settingOf("COMPAT_COZYSTACK") === "true",
  };
}
