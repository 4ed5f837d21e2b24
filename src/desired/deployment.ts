import type {
  V1Container,
  V1Deployment,
  V1DeploymentSpec,
  V1EnvVar,
  V1PodSpec,
  V1Volume,
} from "@kubernetes/client-node";
import type { PodTemplate } from "../api/pod-template.ts";
import { apiGroup, healthPort as defaultHealthPort, previousSecretKey, secretKey, secretMountPath } from "../names.ts";
import { hashOf } from "./applied.ts";
import type { DesiredObject } from "./desired.ts";
import { durationSeconds } from "./duration.ts";
import { childMetadata, type Owner, podLabels } from "./metadata.ts";
import { containerSecurity, network, podSecurity, resources, scheduling } from "./pod-template.ts";

/** Annotation of agent pods: where their health server listens. */
export const healthPortAnnotation = `${apiGroup}/health-port`;

/** Name of the one container in every agent pod. */
export const agentContainer = "agent";

/**
 * Seconds between the decision to delete a pod and SIGTERM, in which it works as before. Nodes go on sending consumers to it until they
 * have heard of the deletion, a Target needs a moment to find the next proxy pod, and a target pod's successor one to start.
 */
const leaveSeconds = 8;

/** Hashes of the part of the spec and of the pod template from which a Deployment was made: whose change a difference is, the user's or the operator's. */
export const wishAnnotation = `${apiGroup}/wish`;
export const podsAnnotation = `${apiGroup}/pods`;
/** `taken`: its latest change of pods holds one of the places of `maxRollouts` until it is done. */
export const rolloutAnnotation = `${apiGroup}/rollout`;

/** Seconds for which a pod that has had no session yet lets the kubelet wait for one. */
const firstSessionWait = 3600;

/** Seconds between the end of the drain and SIGKILL: time to say goodbye and exit. */
const exitAllowance = 15;

/** How agent pods are run, from the operator's own settings. */
export interface AgentSettings {
  /** For all pods; a field of the object's own template replaces it. */
  podTemplate?: PodTemplate;
  image: string;
  pullPolicy: "Always" | "IfNotPresent" | "Never";
  /** Names of image pull Secrets in addition to those of the pod template. */
  pullSecrets: readonly string[];
  /** Seconds, where the object has no `drainTimeout`. */
  drainTimeout: number;
  logLevel: string;
  logFormat: string;
}

/** What differs between the Deployments of Proxies and Targets. */
export interface Workload {
  owner: Owner;
  name: string;
  role: "proxy" | "target";
  /** Labels by which the Deployment finds its pods. */
  selector: Record<string, string>;
  /** More labels of the pods and the Deployment. */
  labels: Record<string, string>;
  rollout: Pick<V1DeploymentSpec, "replicas" | "strategy" | "progressDeadlineSeconds">;
  secretName: string;
  drainTimeout: string | undefined;
  template: PodTemplate;
  /** Listening ports besides the health port. */
  ports: readonly { name: string; port: number }[];
  /** What of the owner's spec its pods follow from; a field that is added later is left out while it has its default. */
  wish: object;
  /** Settings of the role by environment variable. */
  environment: Record<string, string>;
}

/** The agents' defaults are left out: pods that were made before there was encryption are not to roll because of it. */
export function encryptionSetting(encryption: "off" | "optional" | "required"): Record<string, string> {
  return encryption === "required" ? { NETAMINITY_ENCRYPTION: encryption } : {};
}

/** A Deployment with what `pace` needs to know of it. */
export type AgentDeployment = V1Deployment &
  DesiredObject & { metadata: { annotations: Record<string, string> }; spec: V1DeploymentSpec };

export function deployment(workload: Workload, agent: AgentSettings): AgentDeployment {
  const { owner, name, selector, rollout } = workload;
  const ownLabels = { ...workload.labels, ...selector };
  const { labels, annotations, healthPort = defaultHealthPort } = workload.template;
  const template = {
    metadata: {
      labels: podLabels(ownLabels, labels),
      annotations: { ...annotations, [healthPortAnnotation]: `${healthPort}` },
    },
    spec: podSpec(workload, agent),
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...childMetadata(owner, name, ownLabels),
      annotations: { [wishAnnotation]: hashOf(workload.wish), [podsAnnotation]: hashOf(template) },
    },
    spec: { ...rollout, revisionHistoryLimit: 2, selector: { matchLabels: selector }, template },
  };
}

function podSpec(workload: Workload, agent: AgentSettings): V1PodSpec {
  const { template, selector } = workload;
  const pullSecrets = [...(template.imagePullSecrets?.map(({ name }) => name) ?? []), ...agent.pullSecrets];
  return {
    ...scheduling(template, selector),
    ...network(template),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...(template.serviceAccountName ? { serviceAccountName: template.serviceAccountName } : {}),
    ...(pullSecrets.length > 0 && { imagePullSecrets: [...new Set(pullSecrets)].map((name) => ({ name })) }),
    securityContext: podSecurity(template),
    terminationGracePeriodSeconds: leaveSeconds + drainSeconds(workload, agent) + exitAllowance,
    containers: [container(workload, agent)],
    volumes: [secretVolume(workload.secretName)],
  };
}

function container(workload: Workload, agent: AgentSettings): V1Container {
  const { template, role, ports } = workload;
  const healthPort = template.healthPort ?? defaultHealthPort;
  const allPorts = [...ports, { name: "health", port: healthPort }];
  return {
    name: agentContainer,
    image: agent.image,
    imagePullPolicy: agent.pullPolicy,
    args: [role],
    env: environment(workload, agent, healthPort),
    // The host port is ours to set and to take back; left to the API server's default it would survive hostNetwork: false.
    ports: allPorts.map(({ name, port }) => ({
      name,
      containerPort: port,
      protocol: "TCP",
      ...(template.hostNetwork && { hostPort: port }),
    })),
    resources: resources(template),
    securityContext: containerSecurity(template),
    // A standby is asked once an hour: each refusal is a Warning Event. The answer comes as soon as it has its first session.
    startupProbe: {
      ...probe(`/readyz?wait=${firstSessionWait}`),
      ...{ periodSeconds: 1, timeoutSeconds: firstSessionWait + 60, failureThreshold: 2_147_483_647 },
    },
    // From then on: liveness is patient and never about the peer; readiness follows the session within two seconds.
    livenessProbe: { ...probe("/healthz"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 2 },
    lifecycle: { preStop: { sleep: { seconds: leaveSeconds } } },
    // So that the reason of a crash loop is the agent's own last words.
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [{ name: "secret", mountPath: secretMountPath, readOnly: true }],
  };
}

function probe(path: string) {
  return { httpGet: { path, port: "health" } };
}

function environment(workload: Workload, agent: AgentSettings, healthPort: number): V1EnvVar[] {
  const settings = {
    ...workload.environment,
    NETAMINITY_HEALTH_LISTEN: `[::]:${healthPort}`,
    NETAMINITY_SECRET_FILE: `${secretMountPath}/${secretKey}`,
    NETAMINITY_PREVIOUS_SECRET_FILE: `${secretMountPath}/${previousSecretKey}`,
    NETAMINITY_DRAIN_TIMEOUT: `${drainSeconds(workload, agent)}s`,
    NETAMINITY_LOG_LEVEL: agent.logLevel,
    NETAMINITY_LOG_FORMAT: agent.logFormat,
  };
  return Object.entries(settings).map(([name, value]) => ({ name, value }));
}

function drainSeconds({ drainTimeout }: Workload, agent: AgentSettings): number {
  return (drainTimeout === undefined ? undefined : durationSeconds(drainTimeout)) ?? agent.drainTimeout;
}

/** Only our two keys are mounted; the second may be missing. The kubelet replaces the files when the Secret changes. */
function secretVolume(secretName: string): V1Volume {
  const source = (key: string) => ({ name: secretName, items: [{ key, path: key }] });
  return {
    name: "secret",
    projected: {
      defaultMode: 0o444,
      sources: [{ secret: source(secretKey) }, { secret: { ...source(previousSecretKey), optional: true } }],
    },
  };
}
