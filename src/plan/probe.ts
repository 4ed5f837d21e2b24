import type { ProxyInput } from "./observed.ts";

/** One pod whose `http://host:port/healthz` the operator asks, every 2 s. */
export interface ProbeAddress {
  podUid: string;
  host: string;
  port: number;
}

/**
 * The pods of a Proxy to probe now: the active one and its standbys, as soon as they have addresses.
 * Empty while there is no standby to switch to.
 */
export declare function podsToProbe(input: Pick<ProxyInput, "proxy" | "pods">): readonly ProbeAddress[];
