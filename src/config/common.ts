import { logFormats, logLevels } from "../log.ts";
import { consumerPort, healthPort, rendezvousPort } from "../names.ts";
import { duration, file, listenEndpoint, oneOf, text } from "./kinds.ts";
import { optional, withDefault } from "./table.ts";

/** Settings of every role. */
export const everyRole = {
  healthListen: withDefault(
    listenEndpoint,
    `[::]:${healthPort}`,
    "Address of the health server: /healthz, /readyz and /metrics.",
  ),
  logLevel: withDefault(oneOf(logLevels), "info", "Least important level that is logged."),
  logFormat: withDefault(oneOf(logFormats), "pretty", "Form of a log line: for people, or one JSON object."),
  config: optional(file, "YAML file with settings, keys in camelCase.", { sources: ["flag", "environment"] }),
};

/** Settings of both ends of a tunnel. */
export const bothEnds = {
  secretFile: optional(
    file,
    "File that holds the secret both ends share, UTF-8 text, of which one line break at the end is no part; it is read again when it changes. Either this or the variable NETAMINITY_SECRET is needed.",
  ),
  secret: optional(
    text("SECRET", "at least one character", /^[\s\S]*$/),
    "The shared secret itself, instead of a file; the same text means the same secret.",
    {
      sources: ["environment"],
      confidential: true,
    },
  ),
  previousSecretFile: optional(
    file,
    "File with the secret that was used before a rotation and is still accepted; it may be absent.",
  ),
  deadline: withDefault(duration("100ms", "10m"), "6s", "Silence after which the other end is taken for dead."),
  drainTimeout: withDefault(
    duration("0s", "24h"),
    "30s",
    "Time that running streams get to finish after SIGTERM, SIGINT, SIGHUP or SIGQUIT before they are reset.",
  ),
};

/** Settings of the tools that ask an API server. */
export const everyTool = {
  kubeconfig: optional(
    file,
    "Kubeconfig file; ~/.kube/config when absent, and inside a pod its service account. As for kubectl, KUBECONFIG may name several.",
    { sources: ["flag", "environment"] },
  ),
  context: optional(text("NAME", "the name of a context"), "Context of the kubeconfig; its current one when absent.", {
    sources: ["flag"],
  }),
};

export const namespaceName = text("NAMESPACE", "the name of a namespace", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

export const outputFormat = withDefault(oneOf(["text", "json"]), "text", "Form of the answer: for people, or JSON.", {
  sources: ["flag"],
  short: "o",
});

export const defaultRendezvousListen = `[::]:${rendezvousPort}`;
export const defaultConsumerListen = `[::]:${consumerPort}`;
