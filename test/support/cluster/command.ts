/** Short-lived commands: run one to its end and get its output, or an error that shows what it said. */

const defaultTimeout = 60_000;

export class CommandError extends Error {
  override readonly name = "CommandError";
  constructor(
    readonly command: readonly string[],
    /** Exit code, or null when a signal (also the deadline's) ended it. */
    readonly exitCode: number | null,
    readonly stdout: string,
    readonly stderr: string,
  ) {
    const said = (stderr.trim() || stdout.trim()).slice(-2000);
    super(`${command.join(" ")}: ${exitCode === null ? "killed" : `exit code ${exitCode}`}: ${said}`);
  }
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds after which the command is killed. Default 60 000. */
  readonly timeout?: number;
}

/** Runs a command and gives its standard output. Throws {@link CommandError} unless it exits with 0. */
export async function run(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    stdin: options.input === undefined ? "ignore" : new Blob([options.input]),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...options.env },
    timeout: options.timeout ?? defaultTimeout,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0) throw new CommandError(command, child.exitCode, stdout, stderr);
  return stdout;
}

/** Lines of a text without the empty ones. */
export function lines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
