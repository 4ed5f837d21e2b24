import { closeSync, openSync } from "node:fs";

/** A program that runs until it is disposed of. */
export interface Running extends AsyncDisposable {
  pid: number;
  name: string;
  /** Undefined while it runs. */
  exitCode(): number | undefined;
}

export class ProgramError extends Error {}

/** How long a program may take to end after SIGTERM before it is killed. */
const endPatience = 2000;

const open = new Set<Bun.Subprocess>();
const undo = new Set<() => void>();

/** Starts a program whose output goes to a file. */
export function start(
  name: string,
  command: readonly string[],
  logFile: string,
  environment: Record<string, string> = {},
): Running {
  const log = openSync(logFile, "a");
  // The program must not outlive this one, however this one ends.
  const child = Bun.spawn(["setpriv", "--pdeathsig", "KILL", "--", ...command], {
    stdin: "ignore",
    stdout: log,
    stderr: log,
    env: { ...cleanEnvironment(), ...environment },
  });
  closeSync(log);
  open.add(child);
  return {
    pid: child.pid,
    name,
    exitCode: () => child.exitCode ?? (child.signalCode === null ? undefined : -1),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), endPatience);
      await child.exited;
      clearTimeout(timer);
      open.delete(child);
    },
  };
}

/** Runs a program and returns what it printed; throws ProgramError when it fails or takes more than `timeout` seconds. */
export async function runToEnd(command: readonly string[], timeout: number): Promise<string> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe", env: cleanEnvironment() });
  open.add(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), timeout * 1000);
  try {
    const [output, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code === 0) return output;
    throw new ProgramError(`${errors.trim() || command.join(" ")} (${child.signalCode ?? `exit code ${code}`})`);
  } finally {
    clearTimeout(timer);
    open.delete(child);
  }
}

/** Runs a program on this one's own output until it ends; returns its exit code. */
export async function runInForeground(command: readonly string[]): Promise<number> {
  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    env: cleanEnvironment(),
  });
  open.add(child);
  const code = await child.exited;
  open.delete(child);
  return code;
}

/** Remembers what must be undone when the program is interrupted; returns a function that forgets it again. */
export function undoOnExit(action: () => void): () => void {
  undo.add(action);
  return () => undo.delete(action);
}

/** Ends everything that was started, at once. */
export function endEverything(): void {
  for (const child of open) child.kill("SIGKILL");
  for (const action of undo) action();
  open.clear();
  undo.clear();
}

/** The environment without the settings of the products, so that the caller's shell cannot change what is measured. */
function cleanEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NETAMINITY_|BORE_|RUST_LOG)/.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""]));
}
