import { defineCommand, runCommand } from "citty";
import { buildFacts } from "../config/build-facts.ts";
import { roleHelp, rootHelp } from "../config/help.ts";
import { suggestion } from "../config/nearest.ts";
import { roles, tools } from "../config/roles.ts";
import { variableOf } from "../config/table.ts";
import { version } from "../config/version.ts";
import { ExitError, errorText, stackOf, UsageError } from "../errors.ts";
import { endOnDefect } from "./defects.ts";
import { isCompleter, programName } from "./program.ts";

/** What each command runs. It is loaded only when it is asked for: proxy and target must not pay for the others. */
const runs: Readonly<Record<string, () => Promise<(args: readonly string[]) => Promise<void>>>> = {
  operator: async () => (await import("./operator.ts")).runOperator,
  proxy: async () => (await import("./proxy.ts")).runProxy,
  target: async () => (await import("./target.ts")).runTarget,
  node: async () => (await import("./node.ts")).runNode,
  publish: async () => (await import("./publish.ts")).runPublish,
  doctor: async () => (await import("./doctor.ts")).runDoctor,
  status: async () => (await import("./status.ts")).runStatus,
  dashboard: async () => (await import("./dashboard.ts")).runDashboard,
  export: async () => (await import("./export.ts")).runExport,
  rotate: async () => (await import("./rotate.ts")).runRotate,
  manifest: async () => (await import("./manifest.ts")).runManifest,
  completion: async () => (await import("./completion.ts")).runCompletion,
};

/** The command tree. Flags and help come from the tables of settings: of them citty knows too little (docs/INTERNAL.md, "Decisions"). */
const root = defineCommand({
  meta: { name: "netaminity", version },
  subCommands: Object.fromEntries(
    Object.entries(runs).map(([name, load]) => [
      name,
      defineCommand({ meta: { name }, run: async ({ rawArgs }) => (await load())(rawArgs) }),
    ]),
  ),
});

/** Runs the command that the arguments name; a failure becomes one line on standard error and the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  endOnDefect((defect) => report(defect, true));
  try {
    if (isCompleter()) {
      await (await import("./kubectl-completion.ts")).answerKubectl(args);
      return;
    }
    const answer = answerAtOnce(args);
    if (answer === undefined) {
      await runCommand(root, { rawArgs: [...args] });
    } else {
      process.stdout.write(`${answer}\n`);
    }
  } catch (error) {
    process.exit(report(error, asksForDebug(args)));
  }
}

/** Help and version, also behind a command; undefined when a command is to be run. Throws UsageError when the first argument names none. */
function answerAtOnce([first, ...others]: readonly string[]): string | undefined {
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    return rootHelp(roles, tools, version, programName());
  }
  if (first === "version") {
    return buildFacts();
  }
  if (first === "--version" || first === "-v") {
    return version;
  }
  const command = [...roles, ...tools].find(({ name }) => name === first);
  if (command === undefined) {
    const what = first.startsWith("-") ? "flag before a command" : "command";
    throw new UsageError(
      `unknown ${what} ${JSON.stringify(first)}${suggestion(first, Object.keys(runs))}; accepted: ${Object.keys(runs).join(", ")}`,
    );
  }
  if (others.includes("--help") || others.includes("-h")) {
    return roleHelp(command, programName());
  }
  return others.includes("--version") ? version : undefined;
}

/** Prints why the process ends and returns its exit code. An error that nobody foresaw keeps its stack: it is a bug to be reported. */
function report(error: unknown, withStack: boolean): number {
  const known = error instanceof ExitError;
  const text = known ? errorText(error) : `unexpected failure: ${errorText(error)}`;
  const stack = withStack || !known ? stackOf(error) : undefined;
  process.stderr.write(`netaminity: ${text}${stack === undefined ? "" : `\n${stack}`}\n`);
  return known ? error.exitCode : 1;
}

/** Looked for without reading the settings, because they may be what is wrong. */
function asksForDebug(args: readonly string[]): boolean {
  return (
    process.env[variableOf("logLevel")] === "debug" ||
    args.some((arg, index) => arg === "--log-level=debug" || (arg === "--log-level" && args[index + 1] === "debug"))
  );
}
