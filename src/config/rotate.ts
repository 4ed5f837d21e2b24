import { everyTool, namespaceName } from "./common.ts";
import { objectOf } from "./doctor.ts";
import { otherSide } from "./export.ts";
import { boolean, duration } from "./kinds.ts";
import { optional, type Role, required, withDefault } from "./table.ts";

const settings = {
  object: required(objectOf(["Tunnel", "Proxy"]), "Whose secret is to be replaced by a new one.", {
    sources: ["argument"],
  }),
  namespace: optional(namespaceName, "Namespace of the object; that of the context when absent.", {
    sources: ["flag"],
    short: "n",
  }),
  export: withDefault(
    boolean,
    "false",
    "Print the Secret of the other side of a Proxy, for kubectl apply -f -, as soon as every proxy accepts the new value. Everything else is said on standard error.",
    { sources: ["flag"] },
  ),
  ...otherSide,
  timeout: withDefault(
    duration("1s", "24h"),
    "10m",
    "How long to wait for the agents, all in all. What was done by then stays, and the next run goes on with it.",
    { sources: ["flag"] },
  ),
  force: withDefault(
    boolean,
    "false",
    "Remove the old value without waiting: whoever does not use the new one by then is locked out at its next session.",
    { sources: ["flag"] },
  ),
  ...everyTool,
};

export const rotateRole: Role<typeof settings> = {
  name: "rotate",
  summary: "Replace the secret of a Tunnel or Proxy by a new one without a cut; interrupted, the next run goes on.",
  settings,
  check: ({ object, export: exports, name, targetNamespace }) => {
    if (object.kind === "Tunnel" && exports) {
      return `export is given with tunnel/${object.name}, which has both its sides in this cluster; accepted: with proxy/NAME`;
    }
    return !exports && (name !== undefined || targetNamespace !== undefined)
      ? "name or target-namespace is given without export; accepted: together with --export"
      : undefined;
  },
};
