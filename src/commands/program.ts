import { basename } from "node:path";

/** Name under which kubectl finds the executable as a plugin. */
const pluginName = "kubectl-netaminity";

/** How people call this program: `netaminity`, or `kubectl netaminity` when kubectl did. */
export function programName(startedAs = process.argv0): string {
  return basename(startedAs).replace(/\.exe$/i, "") === pluginName ? "kubectl netaminity" : "netaminity";
}

/** Name under which kubectl asks what can follow `kubectl netaminity ...`. */
const completerName = "kubectl_complete-netaminity";

export function isCompleter(startedAs = process.argv0): boolean {
  return basename(startedAs) === completerName;
}
