import type { ProxyStatus } from "../api/proxy.ts";
import { proxyConsumerService } from "../desired/consumer-service.ts";
import { type ActiveEndpoint, endpointSlices } from "../desired/endpoint-slice.ts";
import { proxyNetworkPolicy } from "../desired/network-policy.ts";
import { rendezvousService } from "../desired/rendezvous-service.ts";
import { attemptText, attemptTime } from "./attempt.ts";
import { transitionEvents } from "./conditions.ts";
import { fingerprintPause } from "./fingerprint.ts";
import { asFormerPair } from "./former-pair.ts";
import type { ProxyInput } from "./observed.ts";
import { type OwnSecret, planOwnSecret } from "./own-secret.ts";
import { ownedBy, refOf, unwanted } from "./ownership.ts";
import { askAgain } from "./pace.ts";
import type { DesiredObject, EventNote, Plan } from "./plan.ts";
import { addressesOf, runningContainer } from "./pods.ts";
import { findingsOf, type ProxyFindings } from "./proxy-findings.ts";
import { proxyStatus } from "./proxy-status.ts";
import { retryPause, sooner } from "./retry.ts";
import { inSteps } from "./service-steps.ts";

/** Decides what a Proxy needs: its Deployment, its Services, and the slices that lead to exactly one of its pods. */
export function planProxy(given: ProxyInput): Plan<ProxyStatus> {
  const input = { ...given, proxy: asFormerPair(given.proxy, given.deployments) };
  const { proxy, failures } = input;
  const findings = findingsOf(input);
  const consumerService = proxyConsumerService(proxy);
  const policy = proxyNetworkPolicy(proxy, input.settings.networkPolicy);
  const wantedServices = [rendezvousService(proxy), ...(consumerService === undefined ? [] : [consumerService])];
  const [rendezvous, ...consumers] = inSteps(wantedServices, ownedBy(proxy, input.services));
  const secret = secretOf(input);
  const apply: DesiredObject[] = [
    ...secret.apply,
    ...(rendezvous === undefined ? [] : [rendezvous]),
    ...endpointSlices(proxy, activeEndpoint(findings)),
    ...consumers,
    ...(policy === undefined ? [] : [policy]),
    ...(secret.isForeign ? [] : findings.paced.apply),
  ];
  const { hold } = findings.paced;
  const observed = [...input.deployments, ...input.services, ...input.endpointSlices, ...input.networkPolicies];
  const status = proxyStatus(input, findings);
  return {
    create: secret.create,
    apply,
    hold,
    remove: [
      ...unwanted(proxy, observed, [...apply, ...hold, ...findings.paced.apply], failures),
      ...findings.choice.silent.map((pod) => refOf(pod, proxy.metadata.namespace)),
    ],
    status,
    events: [...activeEvents(findings), ...transitionEvents(proxy.status?.conditions, status.conditions)],
    ...sooner(
      sooner(retryPause(failures), findings.choice.lookAgain),
      askAgain(findings.paced) ?? fingerprintPause(input),
    ),
  };
}

/** Where the Proxy names a Secret it is the user's. */
function secretOf({ proxy, secret, freshSecret }: ProxyInput): OwnSecret {
  return proxy.spec.secretRef === undefined
    ? planOwnSecret(proxy, secret, freshSecret)
    : { create: [], apply: [], isForeign: false };
}

function activeEndpoint({ choice: { active, attempt }, former }: ProxyFindings): ActiveEndpoint | undefined {
  if (active === undefined) return undefined;
  const remembered = former?.uid === active.metadata.uid ? former.containerId : undefined;
  return {
    pod: active.metadata,
    // While the agent is down its last id stays, so that its return is seen as a restart.
    containerId: runningContainer(active) ?? remembered ?? "",
    // What is over is overwritten: an apply that leaves it out would not be made for that alone.
    attempt: attempt === undefined && former?.attempt === undefined ? undefined : attemptText(attempt),
    nodeName: active.spec?.nodeName,
    addresses: addressesOf(active),
  };
}

function activeEvents({ choice: { active, departure, silent }, former }: ProxyFindings): EventNote[] {
  const deleted = silent.map(
    ({ metadata: { name } }): EventNote => ({
      type: "Warning",
      reason: "SilentPodDeleted",
      message: `pod ${name} does not answer though Kubernetes calls it ready; it was replaced by ${active?.metadata.name} and is deleted`,
    }),
  );
  if (departure === undefined || former === undefined) return deleted;
  const why = `${former.name} ${departure}`;
  if (departure === "got no session") {
    const message = `the rendezvous leads back to pod ${active?.metadata.name}: ${former.name} got no session within ${attemptTime / 1000} s`;
    return [{ type: "Warning", reason: "ActivePodReturned", message }, ...deleted];
  }
  const moved: EventNote =
    active === undefined
      ? { type: "Warning", reason: "ActivePodLost", message: `${why}, and no other proxy pod runs` }
      : {
          type: "Normal",
          reason: "ActivePodChanged",
          message: `the rendezvous leads to pod ${active.metadata.name} now: ${why}`,
        };
  return [moved, ...deleted];
}
