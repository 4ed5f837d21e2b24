import { everyTool, namespaceName, outputFormat } from "./common.ts";
import { boolean, duration } from "./kinds.ts";
import { optional, type Role, withDefault } from "./table.ts";

const settings = {
  namespace: optional(namespaceName, "Namespace to list; that of the context when absent.", {
    sources: ["flag"],
    short: "n",
  }),
  allNamespaces: withDefault(boolean, "false", "List all namespaces.", { sources: ["flag"], short: "A" }),
  watch: withDefault(boolean, "false", "Go on, and show the state anew after each interval.", {
    sources: ["flag"],
    short: "w",
  }),
  interval: withDefault(duration("500ms", "1h"), "2s", "Pause between two looks of --watch.", { sources: ["flag"] }),
  output: outputFormat,
  ...everyTool,
};

export const statusRole: Role<typeof settings> = {
  name: "status",
  summary: "List tunnels with their sessions, streams and bytes.",
  settings,
  check: ({ namespace, allNamespaces }) =>
    namespace !== undefined && allNamespaces
      ? "both namespace and all-namespaces are given; accepted: at most one of the two"
      : undefined,
};
