import { allowIcmpAnnotation, cozystack, ownProxyName, proxyNameLabel, wholeIpAnnotation } from "./names.ts";
import type { ObservedService } from "./observed.ts";

/** What of a Service's address goes to its pod. */
export interface Mode {
  /** `all`: every port and protocol; `ports`: those of the Service. */
  ports: "all" | "ports";
  /** Whether ICMP echo passes; ICMP errors always do. */
  icmp: boolean;
}

/** What a Service asks for: a mode, nothing, or something that is not accepted. */
export type Asked = { mode: Mode } | { wrong: string } | undefined;

const all: Mode = { ports: "all", icmp: true };

export function askedMode({ metadata }: ObservedService, compatCozystack: boolean): Asked {
  const annotations = metadata.annotations ?? {};
  const own = annotations[wholeIpAnnotation];
  if (own !== undefined) {
    return ownMode(own, annotations[allowIcmpAnnotation]);
  }
  return compatCozystack ? cozystackMode(annotations, metadata.labels?.[proxyNameLabel]) : undefined;
}

function ownMode(value: string, allowIcmp: string | undefined): Asked {
  if (value === "false") {
    return undefined;
  }
  if (value !== "true" && value !== "ports") {
    return { wrong: `the annotation ${wholeIpAnnotation} is ${JSON.stringify(value)}; accepted: true, ports, false` };
  }
  if (allowIcmp !== undefined && allowIcmp !== "true" && allowIcmp !== "false") {
    return { wrong: `the annotation ${allowIcmpAnnotation} is ${JSON.stringify(allowIcmp)}; accepted: true, false` };
  }
  return { mode: value === "true" ? all : { ports: "ports", icmp: allowIcmp === "true" } };
}

/** The annotation alone gives the whole address; a labelled Service without it, or with `false`, its ports, as cozy-proxy has it since its label exists. */
function cozystackMode(annotations: Record<string, string>, proxyName: string | undefined): Asked {
  if (annotations[cozystack.wholeIp] === "true") {
    return { mode: all };
  }
  return proxyName === cozystack.proxyName
    ? { mode: { ports: "ports", icmp: annotations[cozystack.allowIcmp] === "true" } }
    : undefined;
}

/** Whether kube-proxy leaves this Service to us, its health check too. */
export function isLeftToUs({ metadata }: ObservedService, compatCozystack: boolean): boolean {
  const name = metadata.labels?.[proxyNameLabel];
  return name === ownProxyName || (compatCozystack && name === cozystack.proxyName);
}
