import { broken, type Check, deciding, ok, skipped } from "./check.ts";

/** One step that was tried: what it gave, or why it failed. Absent when an earlier step failed. */
export type Step<T> = { gave: T } | { failed: string };

/** What was tried of a target's way to its proxy and to its backend, in this order. */
export interface ByHandFacts {
  proxy?: {
    endpoint: string;
    /** The HTTP proxy that leads there, and the variable that names one for other programs. */
    via?: string;
    variable?: string;
    /** Numeric addresses. */
    name: Step<readonly string[]>;
    /** The address that answered. */
    tcp?: Step<string>;
    protocol?: Step<"netaminity" | "bore">;
    /** Absent when none was given. Gave: the proxy's objection, if it had one. */
    secret?: Step<{ objection: string | undefined }>;
  };
  backend?: { endpoint: string; name: Step<readonly string[]>; tcp?: Step<string> };
}

/** The links of a target that runs by hand. */
export function byHandPath({ proxy, backend }: ByHandFacts): Check[] {
  return [
    ...(proxy === undefined ? [skipped("proxy", "--proxy-endpoint was not given")] : proxyLinks(proxy)),
    ...(backend === undefined ? [skipped("backend", "--endpoint was not given")] : backendLinks(backend)),
  ];
}

function proxyLinks(proxy: NonNullable<ByHandFacts["proxy"]>): Check[] {
  const { endpoint, via, name, tcp, protocol, secret } = proxy;
  return [
    via === undefined ? nameLink("name", endpoint, name) : ok("name", `${endpoint} is for ${via} to resolve`),
    stepLink("tcp", tcp, "name", {
      gave: (address) => `${address} accepts connections${via === undefined ? "" : ` via ${via}`}`,
      next: reachNext(proxy),
    }),
    stepLink("protocol", protocol, "tcp", {
      gave: (found) => (found === "netaminity" ? "a netaminity proxy answers" : "a stock bore server answers"),
      next: "Something else listens there, or the connection is cut on the way: compare the port with the Proxy's status.proxyEndpoint.",
    }),
    "gave" in (protocol ?? {}) && secret === undefined
      ? skipped("secret", "neither --secret-file nor NETAMINITY_SECRET was given")
      : secretLink(secret),
  ];
}

function reachNext({ via, variable }: NonNullable<ByHandFacts["proxy"]>): string {
  if (via !== undefined) return `See that ${via} lets CONNECT through to this host and port, and that the proxy runs.`;
  const next = "See that the proxy runs, that the port is right, and that no firewall on the way refuses or drops it.";
  if (variable === undefined) return next;
  return `${next} ${variable} is set, perhaps since only an HTTP proxy leads out: a target uses it only with --via environment.`;
}

function secretLink(secret: Step<{ objection: string | undefined }> | undefined): Check {
  if (secret !== undefined && "gave" in secret && secret.gave.objection !== undefined) {
    const next = "Use the same value as the proxy: the key secret of the Secret that the Proxy names.";
    return broken("secret", `the proxy refuses it: ${secret.gave.objection}`, next);
  }
  return stepLink("secret", secret, "protocol", {
    gave: () => "the proxy accepts it",
    next: "The connection was cut during the handshake: try again, and read the proxy's log.",
  });
}

function backendLinks({ endpoint, name, tcp }: NonNullable<ByHandFacts["backend"]>): Check[] {
  return [
    nameLink("backend name", endpoint, name),
    stepLink("backend", tcp, "backend name", {
      gave: (address) => `${address} accepts connections`,
      next: "See that the backend runs and may be reached from this machine.",
    }),
  ];
}

function nameLink(link: string, endpoint: string, name: Step<readonly string[]>): Check {
  return stepLink(link, name, "", {
    gave: (addresses) => `${endpoint} leads to ${addresses.join(", ")}`,
    next: "Correct the name, or the DNS of this machine.",
  });
}

function stepLink<T>(
  link: string,
  step: Step<T> | undefined,
  before: string,
  { gave, next }: { gave: (value: T) => string; next: string },
): Check {
  if (step === undefined) return skipped(link, `not tried, because of ${before}`);
  return deciding("gave" in step ? ok(link, gave(step.gave)) : broken(link, step.failed, next));
}
