import { healthPortAnnotation } from "../desired/deployment.ts";
import { healthPort } from "../names.ts";
import type { ProxyInput } from "./observed.ts";
import { addressesOf, isStaying } from "./pods.ts";

/** One pod whose `http://host:port/healthz` the operator asks. */
export interface ProbeAddress {
  podUid: string;
  host: string;
  port: number;
  /** Its Proxy, and whether the rendezvous leads to it. */
  of: string;
  isActive: boolean;
}

/**
 * The pods of a Proxy to probe now: the active one and its standbys, as soon as they have addresses.
 * Empty while there is no second pod: without one there is nothing to decide.
 */
export function podsToProbe({ proxy, pods }: Pick<ProxyInput, "proxy" | "pods">): readonly ProbeAddress[] {
  const { metadata, spec, status } = proxy;
  const present = spec.podTemplate?.healthPort ?? healthPort;
  const addresses = pods.filter(isStaying).flatMap((pod) => {
    const [first] = addressesOf(pod);
    if (first === undefined) return [];
    const { uid: podUid, name, annotations = {} } = pod.metadata;
    // A pod of an earlier template may listen at another one.
    const port = Number(annotations[healthPortAnnotation] ?? present);
    return [{ podUid, host: first.address, port, of: metadata.uid, isActive: name === status?.activePod }];
  });
  return addresses.length > 1 ? addresses : [];
}
