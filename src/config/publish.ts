import { everyRole, namespaceName } from "./common.ts";
import { boolean, duration, file, type Kind, listenEndpoint, listOf, oneOf, text } from "./kinds.ts";
import { optional, type Role, type Values, withDefault } from "./table.ts";

const onlyFlag = { sources: ["flag"] as const };
const onlyVariable = { sources: ["environment"] as const, confidential: true };
const secretText = text("TEXT", "at least one character", /^[^\0]+$/);

const apiUrl: Kind<string> = {
  placeholder: "URL",
  accepted: "http:// or https:// with a host, such as https://api.netmaker.example.com, without /api behind it",
  parse: (given) => {
    const url = /^https?:\/\/[^/\s]/.test(given) && URL.canParse(given) ? new URL(given) : undefined;
    const isPlain = url !== undefined && url.username === "" && url.search === "" && url.hash === "";
    return isPlain ? given.replace(/\/+$/, "") : undefined;
  },
};

const output: Kind<{ kind: "secret" | "configmap"; name: string }> = {
  placeholder: "KIND/NAME",
  accepted: "secret/NAME or configmap/NAME",
  parse: (given) => {
    const [, kind, name] = /^(secret|configmap)\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/.exec(given) ?? [];
    return (kind === "secret" || kind === "configmap") && name !== undefined ? { kind, name } : undefined;
  },
};

const settings = {
  provider: withDefault(
    oneOf(["netmaker", "netsody"]),
    "netmaker",
    "The mesh that is told which pods are behind which node.",
  ),
  clusterName: optional(
    text("NAME", "1 to 40 of a-z, 0-9 and -", /^[a-z0-9-]{1,40}$/),
    "Name of this cluster in the rules, for meshes that several clusters share; the first 8 characters of the UID of namespace kube-system when absent.",
    { borrowedVariable: "K8S_CLUSTER_NAME" },
  ),
  check: withDefault(
    boolean,
    "false",
    "Print what would be written and what is wrong, write nothing, and end.",
    onlyFlag,
  ),
  once: withDefault(boolean, "false", "Make one pass, print what was written, and end.", onlyFlag),
  force: withDefault(boolean, "false", "Delete also more than half of all rules in one pass.", onlyFlag),
  dryRun: withDefault(boolean, "false", "Log what would be written, and write nothing to the mesh."),
  adoptKaputNot: withDefault(
    boolean,
    "false",
    "Netmaker: take over the rules that kaput-not made for Nodes of this cluster.",
  ),
  interval: withDefault(duration("5s", "1h"), "60s", "Pause between two passes while no Node changes."),
  netmakerApiUrl: optional(apiUrl, "Netmaker: base URL of its API; required.", {
    borrowedVariable: "NETMAKER_API_URL",
  }),
  netmakerUsername: optional(secretText, "Netmaker: user to log in as, without a second factor.", {
    borrowedVariable: "NETMAKER_USERNAME",
  }),
  netmakerPassword: optional(secretText, "Netmaker: the password of that user, instead of a file.", {
    ...onlyVariable,
    borrowedVariable: "NETMAKER_PASSWORD",
  }),
  netmakerPasswordFile: optional(file, "Netmaker: file with that password; read at each pass.", {
    borrowedVariable: "NETMAKER_PASSWORD_FILE",
  }),
  netmakerToken: optional(secretText, "Netmaker: access token of a user, instead of a user and a password.", {
    ...onlyVariable,
    borrowedVariable: "NETMAKER_TOKEN",
  }),
  netmakerTokenFile: optional(file, "Netmaker: file with that token; read at each pass.", {
    borrowedVariable: "NETMAKER_TOKEN_FILE",
  }),
  netmakerCredentials: optional(
    text("FOLDER", "the path of a folder"),
    "Netmaker: folder with the files username and password, or token, such as a mounted Secret; read at each pass.",
  ),
  netmakerCaFile: optional(
    file,
    "Netmaker: PEM file with the only authorities that may have signed its certificate; those of the system when absent.",
  ),
  netsodyBase: optional(file, "Netsody: TOML file of the network without pod CIDRs; read every 10 s; required."),
  netsodyOutput: withDefault(
    output,
    "secret/netaminity-netsody",
    "Netsody: object, in the namespace of the Lease, whose key network.toml takes what is published; it must exist.",
  ),
  netsodyTable: withDefault(
    oneOf(["resource", "route"]),
    "resource",
    "Netsody: table that an entry is written as; route for agents that do not know resources.",
  ),
  netsodyGroups: withDefault(
    listOf(text("GROUP", "text without commas and line breaks", /^[^,\p{Cc}]+$/u)),
    "ALL",
    "Netsody: groups of each entry; may be repeated.",
  ),
  netsodyNetwork: withDefault(
    text("NAME", "1 to 63 of a-z, A-Z, 0-9, _ and -", /^[A-Za-z0-9_-]{1,63}$/),
    "mesh",
    "Netsody: name under which agents ask for the network: /netsody/NAME.toml.",
  ),
  netsodyListen: withDefault(listenEndpoint, "[::]:8081", "Netsody: address at which agents ask for the network."),
  netsodyUsername: withDefault(
    text("USER", "text without colons", /^[^:\p{Cc}]+$/u),
    "netsody",
    "Netsody: user by which agents log in.",
  ),
  netsodyPassword: optional(secretText, "Netsody: the password of agents, instead of a file.", onlyVariable),
  netsodyPasswordFile: optional(file, "Netsody: file with the password of agents; read again once a minute."),
  kubeconfig: optional(file, "Kubeconfig file; inside a cluster the pod's service account is used when absent.", {
    borrowedVariable: "KUBECONFIG",
  }),
  leaderElect: withDefault(boolean, "true", "Let only one of several replicas write at a time.", {
    borrowedVariable: "LEADER_ELECTION_ENABLED",
  }),
  leaderElectNamespace: optional(namespaceName, "Namespace of the Lease by which replicas elect one.", {
    borrowedVariable: "POD_NAMESPACE",
  }),
  leaseName: withDefault(
    text("NAME", "the name of a Lease", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/),
    "netaminity-publish",
    "Name of that Lease.",
    { borrowedVariable: "LEADER_ELECTION_ID" },
  ),
  ...everyRole,
};

export const publishRole: Role<typeof settings> = {
  name: "publish",
  summary: "Tell a mesh (Netmaker, Netsody) which pod CIDRs are behind which node.",
  settings,
  check: (values) =>
    togetherProblem(values) ?? (values.provider === "netmaker" ? netmakerProblem(values) : netsodyProblem(values)),
};

type Given = Values<typeof settings>;

function togetherProblem({ check, once, dryRun, force, adoptKaputNot, provider }: Given): string | undefined {
  if (check && once) return "both check and once are given; accepted: at most one of the two";
  if (once && dryRun) return "both once and dry-run are given; accepted: --check for one look that writes nothing";
  if (adoptKaputNot && provider !== "netmaker") {
    return `adopt-kaput-not is given for the provider ${provider}; accepted: with netmaker alone`;
  }
  return force && !once && !check
    ? "force is given for a role that stays; accepted: --force with --once or --check"
    : undefined;
}

function netmakerProblem(values: Given): string | undefined {
  const { netmakerApiUrl, netmakerUsername, netmakerPassword, netmakerPasswordFile, netmakerCredentials } = values;
  if (netmakerApiUrl === undefined) {
    return `netmaker-api-url is not given; accepted: ${apiUrl.accepted}, as --netmaker-api-url or NETAMINITY_NETMAKER_API_URL`;
  }
  const hasToken = values.netmakerToken !== undefined || values.netmakerTokenFile !== undefined;
  const hasPassword = netmakerPassword !== undefined || netmakerPasswordFile !== undefined;
  if (!hasToken && netmakerCredentials === undefined && !(netmakerUsername !== undefined && hasPassword)) {
    return "no login for Netmaker is given; accepted: netmaker-username with netmaker-password-file (or NETMAKER_PASSWORD), netmaker-token-file (or NETMAKER_TOKEN), or netmaker-credentials";
  }
  return undefined;
}

function netsodyProblem({ netsodyBase, netsodyPassword, netsodyPasswordFile, check, once }: Given): string | undefined {
  if (netsodyBase === undefined) {
    return "netsody-base is not given; accepted: the path of a file, as --netsody-base or NETAMINITY_NETSODY_BASE";
  }
  const isServing = !check && !once;
  return isServing && (netsodyPassword === undefined) === (netsodyPasswordFile === undefined)
    ? "accepted: exactly one of netsody-password-file and the variable NETAMINITY_NETSODY_PASSWORD, the password by which agents get the network"
    : undefined;
}
