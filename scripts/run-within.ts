import { spawn } from "node:child_process";
import { once } from "node:events";

const tailLength = 64 * 1024;
const heldLength = 4 * 1024 * 1024;

/** A program's end: its exit code (1 after a signal) and the last 64 Ki characters that it printed. */
export interface Ending {
  code: number;
  tail: string;
}

/**
 * Runs a program, passes its output on as it comes or, with `isHeld`, at its end, and stops it with everything that it started when its time
 * is over.
 */
export async function runWithin(
  [program = "", ...args]: readonly string[],
  options: { cwd: string; minutes: number; isHeld?: boolean },
): Promise<Ending> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, so that all of it can be stopped.
    detached: true,
  });
  let tail = "";
  let held = "";
  const pass = (to: NodeJS.WriteStream) => (chunk: string) => {
    tail = (tail + chunk).slice(-tailLength);
    if (options.isHeld) held = (held + chunk).slice(-heldLength);
    else to.write(chunk);
  };
  child.stdout.setEncoding("utf8").on("data", pass(process.stdout));
  child.stderr.setEncoding("utf8").on("data", pass(process.stderr));

  const stop = (signal: NodeJS.Signals) => signalGroup(child.pid, signal);
  const interrupted = () => {
    stop("SIGTERM");
    process.exit(130);
  };
  process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
  const timer = setTimeout(() => {
    pass(process.stderr)(`\n${program} ${args.join(" ")}: stopped after ${options.minutes} minutes\n`);
    stop("SIGTERM");
    setTimeout(() => stop("SIGKILL"), 10_000).unref();
  }, options.minutes * 60_000);
  try {
    // "close" comes after the last output, "exit" may come before it.
    const [code] = (await once(child, "close")) as [number | null];
    return { code: code ?? 1, tail };
  } catch (error) {
    pass(process.stderr)(`${program}: ${error instanceof Error ? error.message : String(error)}\n`);
    return { code: 1, tail };
  } finally {
    process.stdout.write(held);
    clearTimeout(timer);
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) {
      process.kill(-pid, signal);
    }
  } catch {
    // It has ended meanwhile.
  }
}
