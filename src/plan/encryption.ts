import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelSpec } from "../api/tunnel.ts";
import type { PairEncryption } from "../desired/pair.ts";
import { isTrue } from "./conditions.ts";

/** What the two sides of a pair are to be set to now. */
export interface EncryptionStep extends PairEncryption {
  /** What the side that comes last waits for; absent when both are as the Tunnel wants them. */
  waits?: string;
}

/**
 * Switches encryption of one pair on or off without a cut: a target pod that does not encrypt gets nothing from a proxy pod that requires
 * it. So the Target goes first when it is switched on, the Proxy when it is switched off, and the other follows once no pod of the old
 * setting is left. It is a function of what is there alone: a restarted operator and a wish that is taken back in the middle go on from
 * where the pair stands. A Target that does not exist yet carries nothing, so it holds nobody up.
 */
export function encryptionStep(
  wish: TunnelSpec["encryption"],
  proxy: ProxyResource | undefined,
  target: TargetResource | undefined,
): EncryptionStep {
  return wish === "required" ? switchedOn(proxy, target) : switchedOff(proxy, target);
}

function switchedOn(proxy: ProxyResource | undefined, target: TargetResource | undefined): EncryptionStep {
  const isEncrypting = target === undefined || (target.spec.encryption === "required" && isRolledOut(target));
  // A Target that is rolled out for another reason later encrypts all the while, and its Proxy stays as it is.
  const wasOn = proxy?.spec.encryption === "required" && target?.spec.encryption === "required";
  if (isEncrypting || wasOn) return { proxy: "required", target: "required" };
  return {
    ...{ proxy: "optional", target: "required" },
    waits: `encryption: its Proxy requires it once Target ${progress(target, "required")}`,
  };
}

function switchedOff(proxy: ProxyResource | undefined, target: TargetResource | undefined): EncryptionStep {
  const isRequired = proxy?.spec.encryption === "required";
  const hasToWait = target === undefined ? isRequired : target.spec.encryption === "required" && !isLenient(proxy);
  if (!hasToWait) return { proxy: "optional", target: "off" };
  const what = proxy === undefined ? "its Proxy is rolled out" : `Proxy ${progress(proxy, "optional")}`;
  return {
    ...{ proxy: "optional", target: "required" },
    waits: `encryption: its Target stops it once ${what}`,
  };
}

const isLenient = (proxy: ProxyResource | undefined): boolean =>
  proxy !== undefined && proxy.spec.encryption !== "required" && isRolledOut(proxy);

/** Whether all pods are of its present spec, as its own status says about that very generation. */
export function isRolledOut({ metadata, status }: ProxyResource | TargetResource): boolean {
  return status?.observedGeneration === metadata.generation && isTrue(status?.conditions, "Updated");
}

/** The name, what is waited for, and how far that is. A status of an earlier spec says nothing about it. */
function progress({ metadata, spec, status }: ProxyResource | TargetResource, wanted: string): string {
  const isAboutThis = spec.encryption === wanted && status?.observedGeneration === metadata.generation;
  const updated = isAboutThis ? status?.conditions.find(({ type }) => type === "Updated") : undefined;
  const how = updated?.status === "False" ? ` (${updated.reason}: ${updated.message})` : "";
  return `${metadata.name} is rolled out${how}`;
}
