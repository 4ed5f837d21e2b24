import { closeSync } from "node:fs";
import type { ProxyResource } from "../api/proxy.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { rotateRole } from "../config/rotate.ts";
import type { Values } from "../config/table.ts";
import { secretNameOf, tunnelSecretName } from "../desired/names.ts";
import { type Cluster, openWritableCluster } from "../doctor/cluster.ts";
import { lookOver } from "../doctor/look-over.ts";
import { runningPods } from "../doctor/pod-checks.ts";
import { errorText, StartError } from "../errors.ts";
import { fingerprintOf } from "../fingerprint.ts";
import { ApiError, UnreachableError } from "../kube/errors.ts";
import type { Kube } from "../kube/kube.ts";
import { builtIn } from "../kube/resources.ts";
import { previousSecretKey, secretKey } from "../names.ts";
import type { ObservedSecret } from "../plan/observed.ts";
import { manifest, otherSecret } from "../share/other-side.ts";
import {
  type Agents,
  CannotRotateError,
  type Stage,
  stageOf,
  usersOf,
  withoutSession,
  withoutValue,
} from "../share/rotation.ts";
import { needed } from "./needed.ts";
import { print } from "./print.ts";
import { settingsOf } from "./settings.ts";

type Settings = Values<typeof rotateRole.settings>;

/** Milliseconds between two looks at the agents. */
const interval = 1000;

export async function runRotate(args: readonly string[]): Promise<void> {
  const settings = settingsOf(rotateRole, args);
  const { cluster, kube } = openWritableCluster(settings);
  const namespace = settings.namespace ?? cluster.namespace;
  const name = await secretName(cluster, namespace, settings.object);
  await rotate({ cluster, kube, namespace, name, settings });
  process.exit(0);
}

interface Site {
  cluster: Cluster;
  kube: Kube;
  namespace: string;
  /** Of the Secret. */
  name: string;
  settings: Settings;
}

async function secretName(cluster: Cluster, namespace: string, { kind, name }: Settings["object"]): Promise<string> {
  if (kind === "Tunnel") {
    needed(`Tunnel ${name}`, await cluster.get<TunnelResource>("tunnel", namespace, name));
    return tunnelSecretName(name);
  }
  return secretNameOf(needed(`Proxy ${name}`, await cluster.get<ProxyResource>("proxy", namespace, name)));
}

/** Each step leaves a state from which every agent can go on, and the next run too: all that is remembered is in the Secret. */
async function rotate(site: Site): Promise<void> {
  const { name, settings } = site;
  const until = performance.now() + settings.timeout;
  const { current, previous } = await begin(site);
  const [fresh, old] = await Promise.all([fingerprintOf(current), fingerprintOf(previous)]);
  if (!settings.force) {
    say(`2/4 waiting until every agent here has read ${fresh}; the kubelets bring it within about a minute`);
    await untilNone(site, until, (agents) => withoutValue(agents, fresh));
  }
  if (settings.export) await printOther(site, current);
  if (!settings.force) {
    say(`3/4 waiting until every session uses ${fresh}`);
    await untilNone(site, until, (agents) => [...withoutValue(agents, fresh), ...withoutSession(agents, fresh)]);
  }
  const secret = await read(site);
  if (stage(secret).current !== current) throw changedMeanwhile(name);
  await write(site, secret, { [previousSecretKey]: null });
  say(`4/4 removed ${old} from Secret ${name}: only ${fresh} is accepted, as soon as the agents have read that`);
}

/** The new value beside the old one, unless a run before has put it there. */
async function begin(site: Site): Promise<Stage & { previous: string }> {
  const secret = await read(site);
  const { current, previous } = stage(secret);
  if (previous !== undefined) {
    const [fresh, old] = await Promise.all([fingerprintOf(current), fingerprintOf(previous)]);
    say(`1/4 Secret ${site.name} holds ${fresh} beside ${old} already: going on with that rotation`);
    return { current, previous };
  }
  const old = await fingerprintOf(current);
  const { value, fingerprint } = await freshValue(old);
  await write(site, secret, { [secretKey]: btoa(value), [previousSecretKey]: Buffer.from(current).toString("base64") });
  say(`1/4 put ${fingerprint} beside ${old} into Secret ${site.name}; both are accepted`);
  return { current: value, previous: current };
}

/** Whose fingerprint is not that of the value before: the agents could not tell which of the two they use. */
async function freshValue(old: string): Promise<{ value: string; fingerprint: string }> {
  for (;;) {
    const value = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
    const fingerprint = await fingerprintOf(value);
    if (fingerprint !== old) return { value, fingerprint };
  }
}

async function untilNone(site: Site, until: number, look: (agents: Agents) => string[]): Promise<void> {
  let told = "";
  for (;;) {
    const pending = look(await agentsOf(site));
    if (pending.length === 0) return;
    const text = pending.map((line) => `    ${line}`).join("\n");
    if (text !== told) process.stderr.write(`${text}\n`);
    told = text;
    if (performance.now() >= until) {
      throw new StartError(
        "not every agent uses the new secret in time; both values stay valid. Run the same again to go on, or with --force to remove the old one all the same",
      );
    }
    await Bun.sleep(interval);
  }
}

async function agentsOf({ cluster, namespace, name }: Site): Promise<Agents> {
  const { proxies, targets, pods, samples } = await lookOver(cluster, namespace);
  if (pods === undefined) {
    throw new StartError("pods cannot be listed, so that nobody can tell which secret they use; ask for the right to");
  }
  return usersOf(name, { proxies, targets, pods: runningPods({ pods: { found: pods } }), samples });
}

/** Standard output ends with it: what reads it, as kubectl apply -f - does, waits for its end, and the rotation for what it brings about. */
async function printOther({ settings }: Site, secret: string): Promise<void> {
  const name = settings.name ?? settings.object.name;
  await print(manifest([otherSecret({ name, namespace: settings.targetNamespace, secret })]));
  closeSync(1);
  say("    printed the Secret of the other side, which contains the new SECRET: apply it there");
}

async function read({ cluster, namespace, name }: Site): Promise<ObservedSecret> {
  return needed(`Secret ${name}`, await cluster.get<ObservedSecret>("secret", namespace, name));
}

function stage(secret: ObservedSecret): Stage {
  try {
    return stageOf(secret);
  } catch (error) {
    if (error instanceof CannotRotateError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/** Only if the Secret is still as it was read. */
async function write(
  { kube, namespace, name }: Site,
  { metadata }: ObservedSecret,
  data: Record<string, string | null>,
): Promise<void> {
  const body = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion }, data };
  try {
    await kube.mergePatch({ resource: builtIn.secret, namespace, name, body });
  } catch (error) {
    if (error instanceof ApiError && error.code === 409) throw changedMeanwhile(name, error);
    if (error instanceof ApiError || error instanceof UnreachableError) {
      throw new StartError(`Secret ${name} cannot be written: ${errorText(error)}`, { cause: error });
    }
    throw error;
  }
}

function changedMeanwhile(name: string, cause?: unknown): StartError {
  return new StartError(`Secret ${name} was changed meanwhile by somebody else; look at it, and run the same again`, {
    cause,
  });
}

const say = (line: string) => process.stderr.write(`${line}\n`);
