/**
 * What a reconcile may look at. `operator/gather` fills these from its caches; the planners are pure functions of them.
 * The interfaces name only the fields that a planner reads, in the JSON form of the API server (times are strings), so that
 * cached objects fit as they are. Lists may contain objects of others: planners look at controller references themselves.
 */

import type { NetworkPolicy } from "../api/network-policy.ts";
import type { PodTemplate } from "../api/pod-template.ts";
import type { ProxyResource } from "../api/proxy.ts";
import type { ObjectMeta } from "../api/resource.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";

export interface ObservedObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export interface ObservedSecret extends ObservedObject {
  /** Base64 values by key. */
  data?: Record<string, string>;
}

export interface ObservedService extends ObservedObject {
  spec?: {
    type?: string;
    loadBalancerClass?: string;
    ports?: readonly { name?: string; port: number; nodePort?: number }[];
  };
  status?: { loadBalancer?: { ingress?: readonly { ip?: string; hostname?: string }[] } };
}

export interface ObservedEndpointSlice extends ObservedObject {
  addressType: string;
  endpoints?: readonly {
    addresses: readonly string[];
    targetRef?: { kind?: string; name?: string; uid?: string };
  }[];
}

export interface ObservedCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  /** RFC 3339. */
  lastTransitionTime?: string;
}

export interface ObservedDeployment extends ObservedObject {
  spec?: { replicas?: number; template?: { metadata?: { labels?: Record<string, string> } } };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    conditions?: readonly ObservedCondition[];
  };
}

/** Metadata is enough: the label `pod-template-hash` and the annotation `deployment.kubernetes.io/revision` tell revisions apart. */
export type ObservedReplicaSet = ObservedObject;

export interface ObservedContainerState {
  running?: { startedAt?: string };
  waiting?: { reason?: string; message?: string };
  terminated?: { reason?: string; message?: string; exitCode: number };
}

export interface ObservedPod extends ObservedObject {
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    podIP?: string;
    podIPs?: readonly { ip?: string }[];
    conditions?: readonly ObservedCondition[];
    containerStatuses?: readonly {
      name: string;
      containerID?: string;
      restartCount: number;
      state?: ObservedContainerState;
      lastState?: ObservedContainerState;
    }[];
  };
}

export interface ObservedNode {
  metadata: { name: string };
  status?: { conditions?: readonly ObservedCondition[] };
}

/** Outcome of the operator's own `/healthz` probes of one pod (see `podsToProbe`). Pods that were never probed are absent. */
export interface ProbeResult {
  podUid: string;
  /** The latest probe was answered with 200. */
  healthy: boolean;
  /** Probes in a row that got no such answer; 0 when healthy. */
  failures: number;
}

/**
 * Why the API server (or our own ownership check) refused to write or delete one child in this pass, for good as long as nothing changes.
 * - `name-conflict`: an object of that name exists and is not controlled by the reconciled object.
 * - `port-conflict`: 422 because the nodePort is taken.
 * - `invalid`: 400 or any other 422, and the 500 of a typed patch ("failed to create typed patch object").
 * - `forbidden`: 403 (RBAC, quota, Pod Security, an admission webhook).
 * - `not-removed`: the child is not wanted any more, and the API server refused to delete it.
 * Everything transient (network, 409, 429, other 5xx) is retried by the queue and never gets here.
 */
export type ApplyFailureKind = "name-conflict" | "port-conflict" | "invalid" | "forbidden" | "not-removed";

export interface ApplyFailure {
  kind: ApplyFailureKind;
  /** The child that could not be written. */
  object: { apiVersion: string; kind: string; name: string };
  /** The API server's message; for `name-conflict` who owns the object, or that nobody does. */
  message: string;
}

/** Settings of the operator that shape what it makes. Constant for the life of the process. */
export interface PlanSettings {
  /** Host name or address under which nodes are reachable from Targets, for rendezvous Services of type NodePort. */
  proxyHost?: string;
  /** Proxies and Targets whose pods are replaced at once because of these settings: a number, or a percentage of all. Absent: 10%. */
  maxRollouts?: string;
  /** Who may consume where a Proxy says nothing of it. Absent: everybody. */
  networkPolicy?: NetworkPolicy;
  agent: {
    /** How all agent pods run where their object says nothing. */
    podTemplate?: PodTemplate;
    image: string;
    pullPolicy: "Always" | "IfNotPresent" | "Never";
    /** Names of image pull Secrets that every agent pod gets in addition to those of its podTemplate. */
    pullSecrets: readonly string[];
    /** Seconds that streams may go on when a pod is stopped, where the object says nothing. */
    drainTimeout: number;
    logLevel: "debug" | "info" | "warn" | "error";
    logFormat: "pretty" | "json";
  };
}

interface CommonInput {
  settings: PlanSettings;
  /** RFC 3339 with seconds, as `lastTransitionTime` wants it. */
  now: string;
  /**
   * Empty for the first plan of a pass. When applying that plan failed for some children, the pass plans once more with the same
   * observations and these failures, and takes `status`, `events` and `requeueAfter` from the second plan without applying it.
   */
  failures: readonly ApplyFailure[];
}

/** May an object's running pods be replaced because of the operator's settings or version? `free` holds no place: they cannot run anyway. */
export type Turn = { kind: "granted" } | { kind: "free" } | { kind: "wait"; message: string };

interface PacedInput extends CommonInput {
  /** Absent: nobody paces. */
  turn?: Turn;
}

export interface TunnelInput extends CommonInput {
  tunnel: TunnelResource;
  /** The object named `tunnelSecretName(tunnel)`, whoever owns it. */
  secret: ObservedSecret | undefined;
  /** 32 random bytes in base64 (44 characters), fresh for each pass; used only when there is no Secret yet. */
  freshSecret: string;
  /** Services of the namespace with our managed-by label and this Tunnel as controller. */
  services: readonly ObservedService[];
  proxies: readonly ProxyResource[];
  targets: readonly TargetResource[];
  /** Proxies and Targets with this Tunnel's label that nobody controls. */
  leftPairs: readonly (ProxyResource | TargetResource)[];
}

interface SecretFacts {
  /** Of the value that the Secret holds; "later" while it is being worked out, absent when there is none that can be used. */
  secretFingerprint?: string | "later";
}

export interface ProxyInput extends PacedInput, SecretFacts {
  proxy: ProxyResource;
  /** The object named `secretNameOf(proxy)`, whoever owns it. */
  secret: ObservedSecret | undefined;
  /** As of a Tunnel; used only when the Proxy names no Secret and there is none yet. */
  freshSecret: string;
  deployments: readonly ObservedDeployment[];
  replicaSets: readonly ObservedReplicaSet[];
  services: readonly ObservedService[];
  endpointSlices: readonly ObservedEndpointSlice[];
  networkPolicies: readonly ObservedObject[];
  /** Pods with this Proxy's labels. */
  pods: readonly ObservedPod[];
  /** The nodes of those pods; undefined when the operator may not read nodes (namespaced installation). */
  nodes: readonly ObservedNode[] | undefined;
  probes: readonly ProbeResult[];
  /** Nodes of the active pods of those pairs of the same Tunnel that have a lower index. */
  takenNodes: readonly string[];
}

export interface TargetInput extends PacedInput, SecretFacts {
  target: TargetResource;
  /** The Secret that `spec.secretRef` names. */
  secret: ObservedSecret | undefined;
  deployments: readonly ObservedDeployment[];
  replicaSets: readonly ObservedReplicaSet[];
  pods: readonly ObservedPod[];
  /** As of a Proxy. */
  nodes: readonly ObservedNode[] | undefined;
}
