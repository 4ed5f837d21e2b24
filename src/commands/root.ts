import { defineCommand, runCommand } from "citty";
import { rootHelp } from "../config/help.ts";
import { suggestion } from "../config/nearest.ts";
import { roles, tools } from "../config/roles.ts";
import { variableOf } from "../config/table.ts";
import { version } from "../config/version.ts";
import { ExitError, errorText, stackOf, UsageError } from "../errors.ts";
import { endOnDefect } from "./defects.ts";
import { isCompleter, programName } from "./program.ts";

/** The command tree. Each command is loaded only when it is asked for: proxy and target must not pay for the others. */
const subCommands = {
  operator: async () => (await import("./operator.ts")).operatorCommand,
  proxy: async () => (await import("./proxy.ts")).proxyCommand,
  target: async () => (await import("./target.ts")).targetCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  status: async () => (await import("./status.ts")).statusCommand,
  manifest: async () => (await import("./manifest.ts")).manifestCommand,
  completion: async () => (await import("./completion.ts")).completionCommand,
};

const root = defineCommand({ meta: { name: "netaminity", version }, subCommands });

/** Runs the command that the arguments name; a failure becomes one line on standard error and the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  endOnDefect((defect) => report(defect, true));
  try {
    if (isCompleter()) {
      await (await import("./kubectl-completion.ts")).answerKubectl(args);
      return;
    }
    const answer = answerWithoutCommand(args);
    if (answer === undefined) {
      await runCommand(root, { rawArgs: [...args] });
    } else {
      process.stdout.write(`${answer}\n`);
    }
  } catch (error) {
    process.exit(report(error, asksForDebug(args)));
  }
}

/** What is printed when the first argument names no command; undefined when it does. */
function answerWithoutCommand([first]: readonly string[]): string | undefined {
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    return rootHelp(roles, tools, version, programName());
  }
  if (first === "--version" || first === "-v" || first === "version") {
    return version;
  }
  if (!Object.hasOwn(subCommands, first)) {
    const what = first.startsWith("-") ? "flag before a command" : "command";
    throw new UsageError(
      `unknown ${what} ${JSON.stringify(first)}${suggestion(first, Object.keys(subCommands))}; accepted: ${Object.keys(subCommands).join(", ")}`,
    );
  }
  return undefined;
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
