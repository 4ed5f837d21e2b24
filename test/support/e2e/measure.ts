/** One scenario: consumers at work, something happens, and what that did to them becomes a row of the table. */
import type { Consumer, Load } from "./consumer.ts";
import { type Connection, countsByResult, type Impact } from "./impact.ts";
import type { Site } from "./site.ts";
import { formatRow, type Row } from "./table.ts";

/** Failed connections of one scenario that the log shows. */
const shownFailures = 5;

export interface Scenario {
  /** As the table shall name it. */
  readonly name: string;
  /** Milliseconds within which new connections shall succeed again. */
  readonly goal: number;
  readonly consumer: Consumer;
  /** `host:port` of the consumer Service. */
  readonly address: string;
  /** Milliseconds that each established connection stays; for ever when absent. */
  readonly life?: number;
}

/** Causes it under load and waits until consumers are served well again, a minute at most. */
export async function measure(
  site: Pick<Site, "rows" | "cluster">,
  { name, goal, consumer, address, life = 0 }: Scenario,
  cause: (load: Load) => Promise<unknown>,
): Promise<Impact> {
  await using load = await consumer.startLoad({ address, life });
  const since = Date.now();
  await cause(load);
  await load.calm();
  const impact = await load.stop(since);
  for (const each of [...impact.failed, ...impact.broken].slice(0, shownFailures)) {
    console.log(`  after ${each.at - since} ms: ${JSON.stringify(each)}`);
    if (each.result === "timeout") for (const entry of await tracked(site, each)) console.log(`    ${entry}`);
  }
  addRow(site, { scenario: name, impact, goal });
  return impact;
}

/** Where each node's connection tracking sent it: an unanswered one is remembered for two minutes. */
async function tracked({ cluster }: Pick<Site, "cluster">, { port }: Connection): Promise<string[]> {
  const list = ["sh", "-c", `conntrack -L -p tcp --orig-port-src ${port} 2>/dev/null || true`];
  const entries = await Promise.all(
    cluster.nodes.map(async ({ name }) => (await cluster.runIn(name, list)).split("\n").map((line) => [name, line])),
  );
  return entries.flat().flatMap(([node, line]) => (line ? [`${node}: ${line.replaceAll(/ +/g, " ")}`] : []));
}

/** Shown at once too: a run that hangs later has still measured this. */
export function addRow({ rows }: Pick<Site, "rows">, row: Row): void {
  rows.push(row);
  console.log(formatRow(row));
}

/** What nobody may notice: a rollout, or the loss of what no connection passes. */
export const unharmed = { corrupt: 0, failed: "", broken: "" };

/** The part of an impact that {@link unharmed} is about. */
export function harm({ corrupt, failed, broken }: Impact): typeof unharmed {
  return { corrupt, failed: countsByResult(failed), broken: countsByResult(broken) };
}
