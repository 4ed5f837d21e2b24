/** The stage of the demo: two backends, the processes of a tunnel, and how what they say is printed. */

import { join } from "node:path";
import { formatHostPort, type HostPort, parseHostPort } from "../src/endpoint.ts";
import { type LogLine, type RunningProcess, startProcess } from "../test/support/process.ts";

const executable = join(import.meta.dir, "../dist/netaminity");
const colors = process.stdout.isTTY === true && !process.env.NO_COLOR;
const paint = (code: number, text: string) => (colors ? `\u001b[${code}m${text}\u001b[0m` : text);

let chapters = 0;

export function chapter(title: string): void {
  chapters += 1;
  console.log(`\n${paint(1, `${chapters}. ${title}`)}`);
}

export function tell(text: string): void {
  console.log(`   ${text}`);
}

/** Stops the demo when something is not as the story says. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) {
    throw new Error(otherwise);
  }
}

/** A role of the executable whose log is told line by line. */
export interface Actor extends AsyncDisposable {
  readonly process: RunningProcess;
  /** Where /readyz and /metrics are served. */
  readonly health: HostPort;
  /** Prints the log lines since the last time. */
  tellLog(): void;
}

export async function startActor(
  name: string,
  args: readonly string[],
  secretFile: string,
): Promise<Actor & { listening: LogLine }> {
  tell(paint(90, `$ netaminity ${args.join(" ")}`));
  const running = startProcess([executable, ...args, "--health-listen", "127.0.0.1:0", "--log-format", "json"], {
    NETAMINITY_SECRET_FILE: secretFile,
  });
  const listening = await running.log.first("listening");
  let told = 0;
  return {
    process: running,
    listening,
    health: endpointField(listening, "health"),
    tellLog: () => {
      for (const line of running.log.lines.slice(told)) {
        const { time: _, ...fields } = line.fields;
        const pairs = Object.entries(fields).map(([key, value]) => `${key}=${value}`);
        tell(`${paint(36, `${name.padEnd(8)}|`)} ${[line.message, ...pairs].join(" ")}`);
      }
      told = running.log.lines.length;
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

export function endpointField(line: LogLine, field: string): HostPort {
  const endpoint = parseHostPort(String(line.fields[field]));
  must(endpoint !== undefined, `the log line ${JSON.stringify(line)} has no endpoint ${field}`);
  return endpoint;
}

/** The answer of `/readyz`, for example `503 no session`. */
export async function readiness(actor: Actor): Promise<string> {
  const response = await fetch(`http://${formatHostPort(actor.health)}/readyz`);
  return `${response.status} ${(await response.text()).trim()}`;
}

/** The samples of `/metrics` whose names start with one of these. */
export async function samples(actor: Actor, prefixes: readonly string[]): Promise<string[]> {
  const text = await (await fetch(`http://${formatHostPort(actor.health)}/metrics`)).text();
  return text.split("\n").filter((line) => prefixes.some((prefix) => line.startsWith(prefix)));
}

/** A web server that says who asked. */
export function startWebBackend() {
  let served = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      served += 1;
      return Response.json({ path: new URL(request.url).pathname, request: served });
    },
  });
  return { endpoint: { host: "127.0.0.1", port: server.port ?? 0 }, [Symbol.dispose]: () => void server.stop(true) };
}
