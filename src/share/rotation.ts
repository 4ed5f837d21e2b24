import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import { secretNameOf } from "../desired/names.ts";
import type { Samples } from "../doctor/samples.ts";
import { sumOf } from "../doctor/samples.ts";
import { labels, previousSecretKey, secretKey } from "../names.ts";
import type { ObservedPod, ObservedSecret } from "../plan/observed.ts";
import { controllerOf } from "../plan/ownership.ts";
import { isReady } from "../plan/pods.ts";
import { EmptySecretError, SecretTextError, secretText } from "../secret-text.ts";

/** How far a rotation is, read from the Secret alone: `previous` is there from its first step to its last one. */
export interface Stage {
  current: string;
  previous: string | undefined;
}

/** The Secret cannot be rotated here. */
export class CannotRotateError extends Error {
  override readonly name = "CannotRotateError";
}

/** Throws CannotRotateError when the Secret is somebody else's to write, or what it holds is no secret. */
export function stageOf(secret: ObservedSecret): Stage {
  const { name } = secret.metadata;
  const owner = controllerOf(secret);
  if (owner !== undefined && owner.kind !== "Tunnel" && owner.kind !== "Proxy") {
    throw new CannotRotateError(
      `Secret ${name} is kept by ${owner.kind} ${owner.name}, which would put its own value back: change it there (docs/two-clusters.md)`,
    );
  }
  const current = textUnder(secret, secretKey);
  if (current === undefined) throw new CannotRotateError(`Secret ${name} has no usable key ${secretKey}`);
  const previous = textUnder(secret, previousSecretKey);
  return { current, previous: previous === current ? undefined : previous };
}

function textUnder({ metadata, data = {} }: ObservedSecret, key: string): string | undefined {
  const encoded = data[key];
  if (encoded === undefined) return undefined;
  try {
    return secretText(Buffer.from(encoded, "base64"));
  } catch (error) {
    if (error instanceof EmptySecretError) return undefined;
    if (!(error instanceof SecretTextError)) throw error;
    throw new CannotRotateError(`Secret ${metadata.name}, key ${key}: ${error.message}`);
  }
}

/** What is known of the agents at one moment. */
export interface Agents {
  proxies: readonly ProxyResource[];
  targets: readonly TargetResource[];
  /** Those that run. */
  pods: readonly ObservedPod[];
  /** By uid of the pod; absent: it did not answer. */
  samples: ReadonlyMap<string, Samples>;
}

/** The Proxies and Targets of a namespace that use this Secret, and their pods. */
export function usersOf(secret: string, { proxies, targets, pods, samples }: Agents): Agents {
  const isUser = (one: ProxyResource | TargetResource) => secretNameOf(one) === secret;
  const [using, dialling] = [proxies.filter(isUser), targets.filter(isUser)];
  const isTheirs = (pod: ObservedPod) =>
    using.some((one) => isOf(pod, labels.proxy, one)) || dialling.some((one) => isOf(pod, labels.target, one));
  return { proxies: using, targets: dialling, pods: pods.filter(isTheirs), samples };
}

const isOf = ({ metadata }: ObservedPod, label: string, owner: { metadata: { name: string } }) =>
  metadata.labels?.[label] === owner.metadata.name;

/** What is in the way of the next step, a line for each agent; empty: nothing. */
export function withoutValue(agents: Agents, fingerprint: string): string[] {
  return agents.pods.flatMap((pod) => {
    const { name, uid } = pod.metadata;
    const said = agents.samples.get(uid);
    if (said === undefined && isToldBySession(agents, pod)) return [];
    if (said === undefined) return [`pod ${name} does not say which secret it has (its metrics cannot be read)`];
    if (!said.some((sample) => sample.name === info))
      return [`pod ${name} is of a version that does not say which secret it has`];
    return sumOf(said, info, { use: "current", fingerprint }) > 0 ? [] : [`pod ${name} has not read the new value yet`];
  });
}

/**
 * Where no connection leads to private nodes the API server cannot ask their pods either. A target pod that is ready has a session, and when its
 * proxy is one of these, the sessions tell which secret it uses.
 */
function isToldBySession({ proxies, targets }: Agents, pod: ObservedPod): boolean {
  const target = targets.find((one) => isOf(pod, labels.target, one));
  return (
    target !== undefined &&
    isReady(pod) &&
    proxies.some(({ status }) => status?.proxyEndpoint === target.spec.proxyEndpoint)
  );
}

/** The same for sessions: they tell of targets wherever those run. */
export function withoutSession({ proxies, pods, samples }: Agents, fingerprint: string): string[] {
  return proxies
    .filter(({ spec }) => spec.replicas > 0)
    .flatMap((proxy) => {
      const said = pods
        .filter((pod) => isOf(pod, labels.proxy, proxy))
        .flatMap(({ metadata }) => samples.get(metadata.uid) ?? []);
      const [all, fresh] = [sumOf(said, sessions), sumOf(said, sessions, { fingerprint })];
      const { name } = proxy.metadata;
      if (all === 0) return [`Proxy ${name} has no session, so that nobody can tell what its target knows`];
      return fresh === all ? [] : [`${all - fresh} of ${all} sessions of Proxy ${name} still use the old value`];
    });
}

const info = "netaminity_secret_info";
const sessions = "netaminity_secret_sessions";
