import { broken, type Check, deciding, ok, remark, skipped, unknown } from "./check.ts";
import { plainMeans, unless } from "./encryption-checks.ts";

/** One step that was tried: what it gave, or why it failed. Absent when an earlier step failed. */
export type Step<T> = { gave: T } | { failed: string };

/** The proxy's objection, if it had one, and what is odd about the secret of this end; "not offered" by one that can only be asked by opening a session. */
export type SecretAnswer = { objection: string | undefined; suspicion?: string | undefined } | "not offered";

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
    /** Gave: a netaminity proxy answers. */
    protocol?: Step<void>;
    /** Absent when none was given. */
    secret?: Step<SecretAnswer>;
    /** What the target is set to. */
    encryption: "off" | "required";
    /** What the proxy says that it can and wants; absent when the protocol failed. */
    offered?: "none" | "optional" | "required";
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
      gave: () => "a netaminity proxy answers",
      next: "Something else listens there, or the connection is cut on the way: compare the port with the Proxy's status.proxyEndpoint. A bore server is served only by a target with --bore-port.",
    }),
    "gave" in (protocol ?? {}) && secret === undefined
      ? skipped("secret", "neither --secret-file nor NETAMINITY_SECRET was given")
      : secretLink(secret),
    encryptionLink(proxy),
  ];
}

/** What a target with this setting and this proxy would come to. */
function encryptionLink({ encryption, offered, tcp, via }: NonNullable<ByHandFacts["proxy"]>): Check {
  const link = "encryption";
  if (offered === undefined) return skipped(link, "not tried, because of protocol");
  if (encryption === "required") {
    return offered === "none"
      ? broken(
          link,
          "it is required here, and the proxy cannot encrypt",
          "Update the proxy; until then the target has no session.",
        )
      : ok(link, "it is required here, and the proxy can");
  }
  if (offered === "required") {
    return broken(
      link,
      "the proxy requires it, and it is off here",
      "Give the target --encryption required (NETAMINITY_ENCRYPTION).",
    );
  }
  const isLocal = via === undefined && tcp !== undefined && "gave" in tcp && /^(127\.|\[::1\])/.test(tcp.gave);
  if (isLocal) return ok(link, "it is off, and the packets never leave this machine");
  const next = offered === "none" ? "Update the proxy, then give" : "Give";
  return remark(link, `the session will be ${plainMeans}`, `${next} the target --encryption required, ${unless}.`);
}

function reachNext({ via, variable }: NonNullable<ByHandFacts["proxy"]>): string {
  if (via !== undefined) return `See that ${via} lets CONNECT through to this host and port, and that the proxy runs.`;
  const next = "See that the proxy runs, that the port is right, and that no firewall on the way refuses or drops it.";
  if (variable === undefined) return next;
  return `${next} ${variable} is set, perhaps since only an HTTP proxy leads out: a target uses it only with --via environment.`;
}

function secretLink(secret: Step<SecretAnswer> | undefined): Check {
  const answer = secret !== undefined && "gave" in secret ? secret.gave : undefined;
  if (answer === "not offered") {
    const next = "Update the proxy, or read the log of a target that uses this secret.";
    return deciding(
      unknown("secret", "the proxy is older than this doctor and cannot check it without a session", next),
    );
  }
  if (answer?.objection !== undefined) {
    const next = "Use the same value as the proxy: the key secret of the Secret that the Proxy names.";
    const here = answer.suspicion === undefined ? "" : `; the one given here ${answer.suspicion}`;
    return broken("secret", `the proxy refuses it: ${answer.objection}${here}`, next);
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
