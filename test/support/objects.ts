/** Objects as the API server would give them, valid by default; each maker takes what a test is about. */
import type { ProxyResource, ProxySpec, ProxyStatus } from "../../src/api/proxy.ts";
import type { ObjectMeta } from "../../src/api/resource.ts";
import type { TargetResource, TargetSpec, TargetStatus } from "../../src/api/target.ts";
import type { TunnelResource, TunnelSpec, TunnelStatus } from "../../src/api/tunnel.ts";
import { groupVersion, labels } from "../../src/names.ts";
import type {
  ObservedDeployment,
  ObservedEndpointSlice,
  ObservedNode,
  ObservedPod,
  ObservedReplicaSet,
  ObservedSecret,
  ObservedService,
  PlanSettings,
} from "../../src/plan/observed.ts";

export const now = "2026-01-01T00:00:00Z";
export const earlier = "2025-12-31T00:00:00Z";
const namespace = "demo";

interface Controller {
  apiVersion: string;
  kind: string;
  metadata: { name: string; uid: string };
}

/** The reference by which `owner` controls its children. */
export function controllerReference({ apiVersion, kind, metadata: { name, uid } }: Controller) {
  return { apiVersion, kind, name, uid, controller: true };
}

type Meta = Partial<ObjectMeta> & { owner?: Controller };

function meta(name: string, { owner, ...given }: Meta = {}) {
  const ownerReferences = owner === undefined ? {} : { ownerReferences: [controllerReference(owner)] };
  return {
    name,
    namespace,
    uid: `uid-of-${given.name ?? name}`,
    creationTimestamp: earlier,
    ...ownerReferences,
    ...given,
  };
}

export function makeTunnel(
  spec: Partial<TunnelSpec> = {},
  { status, ...given }: Meta & { status?: TunnelStatus } = {},
): TunnelResource {
  return {
    apiVersion: groupVersion,
    kind: "Tunnel",
    metadata: { ...meta("api", given), generation: 3 },
    spec: {
      replicas: 1,
      service: { name: "api", port: 30080 },
      encryption: "off",
      proxy: { replicas: 1, proxyService: { type: "ClusterIP" }, acceptProxyProtocol: false },
      target: { replicas: 1, endpoint: "backend.private.svc:8080", sendProxyProtocol: "off" },
      ...spec,
    },
    ...(status && { status }),
  };
}

export function makeProxy(
  spec: Partial<ProxySpec> = {},
  { status, ...given }: Meta & { status?: ProxyStatus } = {},
): ProxyResource {
  return {
    apiVersion: groupVersion,
    kind: "Proxy",
    metadata: { ...meta("edge", given), generation: 3 },
    spec: {
      replicas: 1,
      secretRef: { name: "shared" },
      proxyService: { type: "ClusterIP" },
      encryption: "optional",
      acceptProxyProtocol: false,
      ...spec,
    },
    ...(status && { status }),
  };
}

export function makeTarget(
  spec: Partial<TargetSpec> = {},
  { status, ...given }: Meta & { status?: TargetStatus } = {},
): TargetResource {
  return {
    apiVersion: groupVersion,
    kind: "Target",
    metadata: { ...meta("inner", given), generation: 3 },
    spec: {
      replicas: 1,
      secretRef: { name: "shared" },
      endpoint: "backend.private.svc:8080",
      proxyEndpoint: "proxy.example.net:7835",
      encryption: "off",
      sendProxyProtocol: "off",
      ...spec,
    },
    ...(status && { status }),
  };
}

export function makeSecret(
  data: Record<string, string> = { secret: btoa("s3cret") },
  given: Meta = {},
): ObservedSecret {
  return { apiVersion: "v1", kind: "Secret", metadata: meta("shared", given), data };
}

export function makeService(
  name: string,
  { spec, status, ...given }: Meta & Pick<ObservedService, "spec" | "status"> = {},
): ObservedService {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: meta(name, given),
    ...(spec && { spec }),
    ...(status && { status }),
  };
}

/** The Deployment of a Proxy or Target, fully observed by its controller. */
export function makeDeployment(
  name: string,
  { status, ...given }: Meta & Pick<ObservedDeployment, "status"> = {},
): ObservedDeployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...meta(name, given), generation: 5 },
    status: { observedGeneration: 5, ...status },
  };
}

/** The ReplicaSet of one revision of a Deployment; its hash is `r<revision>`. */
export function makeReplicaSet(deployment: ObservedDeployment, revision: number): ObservedReplicaSet {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: meta(`${deployment.metadata.name}-r${revision}`, {
      owner: deployment,
      labels: { "pod-template-hash": `r${revision}` },
      annotations: { "deployment.kubernetes.io/revision": `${revision}` },
    }),
  };
}

export interface PodFacts {
  /** Default: running since its start in container `<name>-1`. */
  state?: NonNullable<NonNullable<ObservedPod["status"]>["containerStatuses"]>[number]["state"];
  lastState?: PodFacts["state"];
  /** Id of the container; default `<name>-1`. */
  containerId?: string;
  ready?: boolean;
  phase?: string;
  node?: string;
  ips?: readonly string[];
  deleting?: boolean;
  /** RFC 3339. */
  created?: string;
  scheduled?: { status: string; reason?: string; message?: string };
}

/** A live pod on node `n1` that is not ready, as a standby or a fresh pod is. */
export function makePod(name: string, facts: PodFacts = {}, owner?: ObservedReplicaSet): ObservedPod {
  const {
    state = { running: {} },
    lastState,
    ready = false,
    phase = "Running",
    node = "n1",
    ips = ["10.1.0.1"],
  } = facts;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: meta(name, {
      ...(owner && { owner, labels: { "pod-template-hash": owner.metadata.labels?.["pod-template-hash"] ?? "" } }),
      creationTimestamp: facts.created ?? earlier,
      ...(facts.deleting && { deletionTimestamp: now }),
    }),
    spec: { nodeName: node },
    status: {
      phase,
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [
        { type: "Ready", status: ready ? "True" : "False" },
        { type: "PodScheduled", status: "True", ...facts.scheduled },
      ],
      containerStatuses: [
        {
          name: "agent",
          containerID: facts.containerId ?? `${name}-1`,
          restartCount: 0,
          state,
          ...(lastState && { lastState }),
        },
      ],
    },
  };
}

export function makeNode(name: string, ready: "True" | "False" | "Unknown" = "True"): ObservedNode {
  return { metadata: { name }, status: { conditions: [{ type: "Ready", status: ready }] } };
}

/** The slice of the Proxy `edge` that holds `pod`, which ran in `containerId` when it was chosen. */
export function makeSlice(
  proxy: ProxyResource,
  pod: ObservedPod,
  { containerId = `${pod.metadata.name}-1`, family = "IPv4" }: { containerId?: string; family?: "IPv4" | "IPv6" } = {},
): ObservedEndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: meta(`${proxy.metadata.name}-rendezvous-${family.toLowerCase()}`, {
      owner: proxy,
      annotations: { "netaminity.exeteres.net/active-container": containerId },
    }),
    addressType: family,
    endpoints: [
      { addresses: ["10.1.0.1"], targetRef: { kind: "Pod", name: pod.metadata.name, uid: pod.metadata.uid } },
    ],
  };
}

export const settings: PlanSettings = {
  agent: {
    image: "netaminity:test",
    pullPolicy: "IfNotPresent",
    pullSecrets: [],
    drainTimeout: 30,
    logLevel: "info",
    logFormat: "json",
  },
};

/** Labels that everything of ours carries. */
export const ourLabels = { [labels.name]: "netaminity", [labels.managedBy]: "netaminity" };
