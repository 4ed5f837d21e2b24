import { broken, type Check, deciding, ok, skipped } from "./check.ts";

/** One step that was tried: what it gave, or why it failed. Absent when an earlier step failed. */
export type Step<T> = { gave: T } | { failed: string };

/** What was tried of a target's way to its proxy and to its backend, in this order. */
export interface ByHandFacts {
  proxy?: {
    endpoint: string;
    /** Numeric addresses. */
    name: Step<readonly string[]>;
    /** The address that answered. */
    tcp?: Step<string>;
    protocol?: Step<"netaminity" | "bore">;
    /** Absent when none was given. Gave: the proxy's objection, if it had one, and what is odd about the secret of this end. */
    secret?: Step<{ objection: string | undefined; suspicion?: string | undefined }>;
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

function proxyLinks({ endpoint, name, tcp, protocol, secret }: NonNullable<ByHandFacts["proxy"]>): Check[] {
  return [
    nameLink("name", endpoint, name),
    stepLink("tcp", tcp, "name", {
      gave: (address) => `${address} accepts connections`,
      next: "See that the proxy runs, that the port is right, and that no firewall on the way refuses or drops it.",
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

function secretLink(secret: NonNullable<ByHandFacts["proxy"]>["secret"]): Check {
  if (secret !== undefined && "gave" in secret && secret.gave.objection !== undefined) {
    const { objection, suspicion } = secret.gave;
    const next = "Use the same value as the proxy: the key secret of the Secret that the Proxy names.";
    const here = suspicion === undefined ? "" : `; the one given here ${suspicion}`;
    return broken("secret", `the proxy refuses it: ${objection}${here}`, next);
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
