import type { ProxyResource, ProxyStatus } from "../api/proxy.ts";
import { secretNameOf } from "../desired/names.ts";
import { selectorOf, selectorText } from "../desired/pod-template.ts";
import { hasAnswered, isSilent } from "./active-pod.ts";
import { nextAttempt } from "./attempt.ts";
import { bad, firstObjection, good, nextConditions, ofGeneration, type Verdict } from "./conditions.ts";
import { fingerprintStatus } from "./fingerprint.ts";
import type { ObservedPod, ProxyInput } from "./observed.ts";
import { isNewest, isOnReadyNode, runningContainer } from "./pods.ts";
import { withProgress } from "./progress.ts";
import type { ProxyFindings } from "./proxy-findings.ts";
import { isObserved, rolledOut } from "./rollout.ts";
import { deploymentFailing, notRemoved, podsFailing, refused, secretUnusable } from "./workload-checks.ts";

/** What a Proxy's status says after this pass. */
export function proxyStatus(input: ProxyInput, findings: ProxyFindings): ProxyStatus {
  const { proxy, now } = input;
  const { metadata, spec } = proxy;
  const { pods, livePods, servingPods, newestRevision, choice, endpoint } = findings;
  const generation = metadata.generation ?? 0;
  const ready = readiness(input, findings);
  const isPresent = (pod: ObservedPod | undefined) =>
    pod !== undefined && isNewest(pod, newestRevision) && findings.paced.isMade && isObserved(findings.deployment);
  const isServing = servingPods.some(isPresent);
  return {
    observedGeneration: generation,
    conditions: nextConditions(
      proxy.status?.conditions,
      withProgress([
        // While an older pod has a session, the one that is tried has proved nothing yet.
        ["Ready", ofGeneration(ready, isPresent(choice.active) && (servingPods.length === 0 || isServing))],
        ["Connected", ofGeneration(connection(findings, ready), isServing)],
        ["Updated", refused(input.failures) ?? notRemoved(input.failures) ?? updated(input, findings)],
      ]),
      { now, generation },
    ),
    ...("known" in endpoint && { proxyEndpoint: endpoint.known }),
    ...(spec.service && { consumerEndpoint: `${spec.service.name}.${metadata.namespace}.svc:${spec.service.port}` }),
    secretName: secretNameOf(proxy),
    ...fingerprintStatus(input, proxy.status),
    ...(choice.active && { activePod: choice.active.metadata.name }),
    replicas: pods.length,
    liveReplicas: livePods.length,
    readyReplicas: servingPods.length,
    updatedReplicas: pods.filter((pod) => isNewest(pod, newestRevision)).length,
    selector: selectorText(selectorOf("proxy", metadata.name)),
  };
}

/** Ready needs no session: the Target may be made only afterwards, from the endpoint that this announces. */
function readiness(input: ProxyInput, findings: ProxyFindings): Verdict {
  const { proxy, failures, secret } = input;
  const { livePods, choice, endpoint } = findings;
  const isBehind = choice.active !== undefined && livePods.includes(choice.active);
  return firstObjection(
    [
      refused(failures),
      scaledToZero(proxy),
      // One that is absent and not named is made in this very pass.
      secret === undefined && proxy.spec.secretRef === undefined
        ? undefined
        : secretUnusable(secretNameOf(proxy), secret),
      "unknown" in endpoint ? endpoint.unknown : undefined,
      isBehind ? undefined : noLivePod(findings, input.nodes),
    ],
    good("Available", `targets can connect${"known" in endpoint ? ` to ${endpoint.known}` : ""}`),
  );
}

function scaledToZero({ spec }: ProxyResource): Verdict | undefined {
  return spec.replicas === 0 ? bad("ScaledToZero", "spec.replicas is 0") : undefined;
}

function noLivePod({ choice: { active }, pods, deployment }: ProxyFindings, nodes: ProxyInput["nodes"]): Verdict {
  if (active !== undefined && runningContainer(active) !== undefined && !isOnReadyNode(active, nodes)) {
    return bad(
      "NodeNotReady",
      `proxy pod ${active.metadata.name} is on node ${active.spec?.nodeName}, which is not ready, and no other pod can take over`,
    );
  }
  return podsFailing(pods) ?? deploymentFailing(deployment) ?? bad("PodsStarting", "no proxy pod runs yet");
}

function connection({ servingPods, endpoint }: ProxyFindings, ready: Verdict): Verdict {
  const [serving] = servingPods;
  if (serving !== undefined) {
    return good("SessionUp", `pod ${serving.metadata.name} carries a session and serves consumers`);
  }
  if (ready.status === "False") return ready;
  const where = "known" in endpoint ? ` at ${endpoint.known}` : "";
  return bad(
    "WaitingForTarget",
    `no target has a session yet; its proxyEndpoint${where} and its secret must be those of this Proxy`,
  );
}

function updated(input: ProxyInput, findings: ProxyFindings): Verdict {
  const { deployment, paced, pods, newestRevision } = findings;
  if (paced.waits !== undefined) return paced.waits;
  const newest = pods.filter((pod) => isNewest(pod, newestRevision));
  const running = newest.filter((pod) => runningContainer(pod) !== undefined);
  return rolledOut(
    paced.isMade ? deployment : undefined,
    { wanted: input.proxy.spec.replicas, newest: running.length, all: pods.length },
    podsFailing(newest) ??
      withoutSession(findings) ??
      unanswered(input, findings, running) ??
      deploymentFailing(deployment),
  );
}

/** `newest` pods run, but none is tried: the operator reaches the pod that serves, and not them. */
function unanswered(
  { probes }: ProxyInput,
  { choice: { active }, newestRevision }: ProxyFindings,
  newest: readonly ObservedPod[],
): Verdict | undefined {
  const [first] = newest;
  if (active === undefined || first === undefined || isNewest(active, newestRevision)) return undefined;
  if (!hasAnswered(active, probes) || !newest.every((pod) => isSilent(pod, probes))) return undefined;
  return bad(
    "PodsFailing",
    `pod ${first.metadata.name} runs but does not answer at its health port, so it is not tried`,
  );
}

/** The newest pods run, but no target got a session there. */
function withoutSession({
  choice: { active, attempt },
  servingPods,
  newestRevision,
}: ProxyFindings): Verdict | undefined {
  if (active === undefined || attempt === undefined || attempt.failures === 0) return undefined;
  // Else it was about a better node for one of them.
  if (servingPods.every((pod) => isNewest(pod, newestRevision))) return undefined;
  const goesOn = active.metadata.uid === attempt.pod;
  const next = goesOn ? "now" : `at ${new Date(nextAttempt(attempt)).toISOString().slice(0, 19)}Z`;
  return bad(
    "NoSessionAfterChange",
    `the newest pods got no session with a target (tried ${attempt.failures} times), so a pod of an older revision goes on serving; tried again ${next}`,
  );
}
