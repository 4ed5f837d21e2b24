import { bothEnds, everyTool, namespaceName, outputFormat } from "./common.ts";
import { boolean, file, httpProxy, type Kind, oneOf, remoteEndpoint } from "./kinds.ts";
import { optional, type Role, withDefault } from "./table.ts";

/** What the doctor is asked about. */
export interface Patient {
  kind: "Tunnel" | "Proxy" | "Target" | "Service";
  name: string;
}

/** As kubectl takes them: singular, plural and short name. */
export const kindWords: Readonly<Record<Patient["kind"], readonly string[]>> = {
  Tunnel: ["tunnel", "tunnels", "tnl"],
  Proxy: ["proxy", "proxies", "prx"],
  Target: ["target", "targets", "tgt"],
  /** One with an address of its own: docs/node.md. */
  Service: ["service", "services", "svc"],
};

const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** An object of one of these kinds, as kubectl takes it. */
export function objectOf<K extends Patient["kind"]>(kinds: readonly K[]): Kind<{ kind: K; name: string }> {
  const words = kinds.map((kind) => `${kindWords[kind][0]}/NAME`);
  const accepted = [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((part) => part !== "").join(" or ");
  const placeholder = words.length === 1 ? accepted : "KIND/NAME";
  const parse = (given: string) => {
    const [word = "", name = "", ...rest] = given.split("/");
    const kind = kinds.find((each) => kindWords[each].includes(word.toLowerCase()));
    return kind === undefined || rest.length > 0 || !objectName.test(name) ? undefined : { kind, name };
  };
  return { placeholder, accepted, parse };
}

const settings = {
  object: optional(
    objectOf(["Tunnel", "Proxy", "Target", "Service"]),
    "The object whose path is examined. Without it a target run by hand is: give proxy-endpoint, endpoint or both.",
    { sources: ["argument"] },
  ),
  namespace: optional(namespaceName, "Namespace of the object; that of the context when absent.", {
    sources: ["flag"],
    short: "n",
  }),
  probe: withDefault(
    boolean,
    "false",
    "Send an HTTP request through the tunnel, from a proxy pod's consumer port to the backend and back.",
    { sources: ["flag"] },
  ),
  output: outputFormat,
  ...everyTool,
  proxyEndpoint: optional(remoteEndpoint, "By hand: the rendezvous that a target would connect to.", {
    sources: ["flag", "environment"],
  }),
  via: optional(httpProxy, "By hand: the HTTP proxy through which a target would connect to the rendezvous.", {
    sources: ["flag", "environment"],
    confidential: true,
  }),
  endpoint: optional(remoteEndpoint, "By hand: the backend that a target would connect to.", {
    sources: ["flag", "environment"],
  }),
  secretFile: optional(file, "By hand: file with the secret that a target would show.", {
    sources: ["flag", "environment"],
  }),
  secret: bothEnds.secret,
  encryption: withDefault(oneOf(["off", "required"]), "off", "By hand: what the target's encryption is set to.", {
    sources: ["flag", "environment"],
  }),
};

export const doctorRole: Role<typeof settings> = {
  name: "doctor",
  summary: "Say where the path of a tunnel breaks, with evidence and the next step.",
  settings,
  check: ({ object, proxyEndpoint, endpoint, probe, secret, secretFile }) => {
    if (object === undefined && proxyEndpoint === undefined && endpoint === undefined) {
      return "nothing to examine is given; accepted: tunnel/NAME, proxy/NAME, target/NAME or service/NAME, or --proxy-endpoint and --endpoint of a target run by hand";
    }
    if (object === undefined && probe) {
      return "probe was given without an object; accepted: --probe together with tunnel/NAME, proxy/NAME or target/NAME";
    }
    if (object?.kind === "Service" && probe) {
      return "probe was given with a Service; accepted: --probe together with tunnel/NAME, proxy/NAME or target/NAME";
    }
    return object === undefined && secret !== undefined && secretFile !== undefined
      ? "both NETAMINITY_SECRET and secret-file are given; accepted: at most one of the two"
      : undefined;
  },
};
