import { healthPort } from "../names.ts";
import type { ProxyInput } from "./observed.ts";
import { addressesOf, isStaying } from "./pods.ts";

/** One pod whose `http://host:port/healthz` the operator asks, every 2 s. */
export interface ProbeAddress {
  podUid: string;
  host: string;
  port: number;
}

/**
 * The pods of a Proxy to probe now: the active one and its standbys, as soon as they have addresses.
 * Empty while there is no second pod: without one there is nothing to decide.
 */
export function podsToProbe({ proxy, pods }: Pick<ProxyInput, "proxy" | "pods">): readonly ProbeAddress[] {
  const port = proxy.spec.podTemplate?.healthPort ?? healthPort;
  const addresses = pods.filter(isStaying).flatMap((pod) => {
    const [first] = addressesOf(pod);
    return first === undefined ? [] : [{ podUid: pod.metadata.uid, host: first.address, port }];
  });
  return addresses.length > 1 ? addresses : [];
}
