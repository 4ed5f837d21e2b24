import { previousSecretKey, secretKey } from "../names.ts";
import { EmptySecretError, SecretTextError, secretText } from "../secret-text.ts";
import { bad, type Verdict } from "./conditions.ts";
import type { ApplyFailure, ObservedDeployment, ObservedPod, ObservedSecret } from "./observed.ts";
import { agentStatus, isStaying } from "./pods.ts";
import type { Reason } from "./reasons.ts";

// Small named checks that answer "why is it not Ready?". Each gives an objection or nothing; planners put them in order.

const failureReasons: Record<Exclude<ApplyFailure["kind"], "not-removed">, Reason> = {
  "name-conflict": "NameConflict",
  "port-conflict": "PortConflict",
  invalid: "InvalidSpec",
  forbidden: "Forbidden",
};

/** Something could not be written. The gravest kind first: the order of the table above. */
export function refused(failures: readonly ApplyFailure[]): Verdict | undefined {
  for (const [kind, reason] of Object.entries(failureReasons)) {
    const first = failures.find((failure) => failure.kind === kind);
    if (first !== undefined) return bad(reason, textOf(first));
  }
  return undefined;
}

/** Something that is not wanted any more could not be deleted. What is wanted is there all the same. */
export function notRemoved(failures: readonly ApplyFailure[]): Verdict | undefined {
  const first = failures.find(({ kind }) => kind === "not-removed");
  return first && bad("NotRemoved", textOf(first));
}

const textOf = ({ object, message }: ApplyFailure): string => `${object.kind} ${object.name}: ${message}`;

/** The shared secret that `spec.secretRef` names. */
export function secretUnusable(name: string, secret: ObservedSecret | undefined): Verdict | undefined {
  if (secret === undefined) {
    return bad("SecretMissing", `Secret ${name} does not exist; create it with the key ${secretKey}`);
  }
  const encoded = secret.data?.[secretKey];
  if (encoded === undefined) return bad("SecretInvalid", `Secret ${name} has no key ${secretKey}`);
  const previous = secret.data?.[previousSecretKey];
  return (
    valueUnusable(name, secretKey, encoded) ??
    (previous === undefined ? undefined : valueUnusable(name, previousSecretKey, previous))
  );
}

function valueUnusable(name: string, key: string, encoded: string): Verdict | undefined {
  try {
    // The rule of the agents, which read the same bytes.
    secretText(Buffer.from(encoded, "base64"));
    return undefined;
  } catch (error) {
    // To the agents that means that there was no secret before.
    if (error instanceof EmptySecretError && key === previousSecretKey) return undefined;
    if (!(error instanceof SecretTextError)) throw error;
    return bad("SecretInvalid", `Secret ${name}, key ${key}: ${error.message}`);
  }
}

/** The Deployment says that it cannot make pods (quota, Pod Security) or gave up on the newest revision. */
export function deploymentFailing(deployment: ObservedDeployment | undefined): Verdict | undefined {
  const conditions = deployment?.status?.conditions ?? [];
  const replicaFailure = conditions.find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  if (replicaFailure !== undefined) {
    return bad(
      "PodsFailing",
      `pods cannot be made: ${replicaFailure.message ?? replicaFailure.reason ?? "no reason given"}`,
    );
  }
  const stuck = conditions.find(({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded");
  return stuck && bad("ProgressDeadline", stuck.message ?? "the newest pods did not become ready in time");
}

/** The first pod that reports an error, in the words of the container, the kubelet or the scheduler. */
export function podsFailing(pods: readonly ObservedPod[]): Verdict | undefined {
  for (const pod of pods.filter(isStaying)) {
    const trouble = troubleOf(pod);
    if (trouble !== undefined) return bad("PodsFailing", `pod ${pod.metadata.name}: ${trouble}`);
  }
  return undefined;
}

/** Waiting reasons that are the normal way to a running container. */
const normalWaits: readonly (string | undefined)[] = [undefined, "ContainerCreating", "PodInitializing"];
const imagePulls: readonly (string | undefined)[] = ["ErrImagePull", "ImagePullBackOff"];

function troubleOf(pod: ObservedPod): string | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") {
    return `not scheduled: ${scheduled.message ?? scheduled.reason ?? "no reason given"}`;
  }
  const status = agentStatus(pod);
  const { waiting, terminated } = status?.state ?? {};
  if (terminated !== undefined) return ended(terminated);
  if (normalWaits.includes(waiting?.reason)) return undefined;
  // The kubelet alternates between two reasons per attempt, and counts the pause up: the status must not follow that.
  if (imagePulls.includes(waiting?.reason)) return `ImagePullBackOff: ${pullError(waiting?.message)}`;
  if (waiting?.reason === "CrashLoopBackOff" && status?.lastState?.terminated !== undefined) {
    return `CrashLoopBackOff: ${ended(status.lastState.terminated)}`;
  }
  return [waiting?.reason, waiting?.message].filter(Boolean).join(": ");
}

function ended({ exitCode, reason, message }: { exitCode: number; reason?: string; message?: string }): string {
  const last = message?.trim().split("\n").at(-1);
  return `the agent ended with exit code ${exitCode}${reason ? ` (${reason})` : ""}${last ? `: ${last}` : ""}`;
}

function pullError(message = "no reason given"): string {
  const cause = message.lastIndexOf("ErrImagePull: ");
  return cause < 0 ? message : message.slice(cause + "ErrImagePull: ".length);
}
