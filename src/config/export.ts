import { everyTool, namespaceName } from "./common.ts";
import { objectOf } from "./doctor.ts";
import { boolean, duration, file, oneOf, remoteEndpoint, text } from "./kinds.ts";
import { optional, type Role, required, withDefault } from "./table.ts";

/** As the names of Targets have to be. */
export const targetName = text(
  "NAME",
  "lower-case letters, digits and '-', starting with a letter, at most 52 characters",
  /^[a-z]([a-z0-9-]{0,50}[a-z0-9])?$/,
);

/** Settings that say where the other side is. */
export const otherSide = {
  name: optional(
    targetName,
    "Name of the Target on the other side, which its Secret is named after; that of the Proxy when absent.",
    {
      sources: ["flag"],
    },
  ),
  targetNamespace: optional(
    namespaceName,
    "Namespace of the Secret and the Target on the other side; when absent none is written, so that kubectl -n decides.",
    { sources: ["flag"] },
  ),
};

export const outputFile = optional(
  file,
  "File to write instead of standard output; only its owner may read it (mode 0600).",
  { sources: ["flag"] },
);

const settings = {
  object: required(objectOf(["Proxy"]), "The Proxy that the other side is to reach.", { sources: ["argument"] }),
  backend: required(remoteEndpoint, "The backend, as seen from the other side.", { sources: ["flag"] }),
  namespace: optional(namespaceName, "Namespace of the Proxy; that of the context when absent.", {
    sources: ["flag"],
    short: "n",
  }),
  as: withDefault(
    oneOf(["kubernetes", "systemd", "compose", "env"]),
    "kubernetes",
    "What to print: a Secret and a Target for kubectl apply -f -; or for a target run by hand a script that sets up a service of systemd, a file for docker compose, or a file of variables.",
    { sources: ["flag"] },
  ),
  ...otherSide,
  encryption: withDefault(oneOf(["off", "required"]), "required", "The encryption of the Target.", {
    sources: ["flag"],
  }),
  inCluster: withDefault(
    boolean,
    "false",
    "The target runs in the Proxy's own cluster, so that a rendezvous of type ClusterIP will do.",
    {
      sources: ["flag"],
    },
  ),
  wait: withDefault(
    duration("0s", "24h"),
    "0s",
    "How long to wait until the endpoint of the Proxy is known, as a load balancer takes its time.",
    { sources: ["flag"] },
  ),
  output: outputFile,
  ...everyTool,
};

export const exportRole: Role<typeof settings> = {
  name: "export",
  summary: "Print what the other side of a Proxy needs, its secret included.",
  settings,
  check: ({ as, targetNamespace }) =>
    as !== "kubernetes" && targetNamespace !== undefined
      ? `target-namespace is given with as ${as}; accepted: with as kubernetes`
      : undefined,
};
