import { readFileSync } from "node:fs";
import { type Changes, createChanges } from "./tcp-wait.ts";

/** One line of a role's log. */
export interface LogLine {
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

export interface LogBook {
  readonly lines: readonly LogLine[];
  /** Lines with this message whose fields include all of `fields`. */
  all(message: string, fields?: Record<string, unknown>): LogLine[];
  /** The first such line, now or later. */
  first(message: string, fields?: Record<string, unknown>, deadline?: number): Promise<LogLine>;
  /** Everything as text, for checks that something was never logged. */
  text(): string;
}

export interface WritableLogBook extends LogBook {
  add(line: LogLine): void;
}

function fits(line: LogLine, message: string, fields: Record<string, unknown>): boolean {
  return line.message === message && Object.entries(fields).every(([key, value]) => line.fields[key] === value);
}

export function createLogBook(changes: Changes = createChanges()): WritableLogBook {
  const lines: LogLine[] = [];
  const all: LogBook["all"] = (message, fields = {}) => lines.filter((line) => fits(line, message, fields));
  const text = () => lines.map((line) => JSON.stringify(line)).join("\n");
  return {
    lines,
    all,
    text,
    first: async (message, fields = {}, deadline) => {
      const wanted = () =>
        `a log line ${JSON.stringify(message)} with ${JSON.stringify(fields)}; there are:\n${text()}`;
      await changes.until(() => all(message, fields).length > 0, wanted, deadline);
      const line = all(message, fields)[0];
      if (line === undefined) throw new Error("unreachable: the condition above holds");
      return line;
    },
    add: (line) => {
      lines.push(line);
      changes.changed();
    },
  };
}

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** Lines of stdout and stderr. */
  readonly log: LogBook;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  exited(deadline?: number): Promise<number | string>;
  signal(name: NodeJS.Signals): void;
  /** Resident anonymous memory in bytes (`RssAnon` of /proc). */
  memory(): number;
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
  if (rest !== "") onLine(rest);
}

/** JSON log lines become fields; anything else becomes a line of level `text`. */
function parseLine(line: string): LogLine {
  if (line.startsWith("{")) {
    try {
      const { level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
      return { level: String(level), message: String(message), fields };
    } catch {
      // Not JSON after all.
    }
  }
  return { level: "text", message: line, fields: {} };
}

function residentMemory(pid: number): number {
  const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kibibytes === undefined) throw new Error(`process ${pid} has no RssAnon`);
  return Number(kibibytes) * 1024;
}

/**
 * Starts a program; it is killed at the end of the scope if it still runs. With a descriptor `errors`, its standard error goes there and not
 * into the log.
 */
export function startProcess(
  command: string[],
  environment: Record<string, string> = {},
  errors: number | "pipe" = "pipe",
): RunningProcess {
  const changes = createChanges();
  const log = createLogBook();
  let ending: number | string | undefined;
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: errors,
  });
  const onLine = (line: string) => log.add(parseLine(line));
  const streams = [child.stdout, child.stderr].filter((stream) => stream instanceof ReadableStream);
  const reading = Promise.all(streams.map((stream) => readLines(stream, onLine)));
  void child.exited.then(async () => {
    await reading;
    ending = child.signalCode ?? child.exitCode ?? "unknown";
    changes.changed();
  });
  const exited: RunningProcess["exited"] = async (deadline) => {
    await changes.until(
      () => ending !== undefined,
      () => `${command.join(" ")} ends; its log:\n${log.text()}`,
      deadline,
    );
    return ending ?? "unknown";
  };
  return {
    pid: child.pid,
    log,
    exited,
    signal: (name) => {
      if (ending === undefined) process.kill(child.pid, name);
    },
    memory: () => residentMemory(child.pid),
    [Symbol.asyncDispose]: async () => {
      if (ending !== undefined) return;
      child.kill("SIGKILL");
      await exited();
    },
  };
}
