import { statusRole } from "../config/status.ts";
import { CannotAskError, openCluster } from "../doctor/cluster.ts";
import { lookOver } from "../doctor/look-over.ts";
import { type Row, rowsOf } from "../doctor/overview.ts";
import { overviewText } from "../doctor/overview-text.ts";
import { listenForStop } from "./lifetime.ts";
import { print } from "./print.ts";
import { settingsOf } from "./settings.ts";

/** Moves the cursor to the first line and clears what is below. */
const clear = "\u001b[H\u001b[J";

export async function runStatus(args: readonly string[]): Promise<void> {
  const settings = settingsOf(statusRole, args);
  const cluster = openCluster(settings);
  const namespace = settings.allNamespaces ? undefined : (settings.namespace ?? cluster.namespace);
  const show = (rows: readonly Row[]) =>
    settings.output === "json"
      ? jsonText(rows, settings.watch)
      : overviewText(rows, { namespaces: settings.allNamespaces });
  const look = async () => show(rowsOf(await lookOver(cluster, namespace), Date.now()));
  if (settings.watch) {
    await watch(look, {
      interval: settings.interval,
      clears: settings.output === "text" && process.stdout.isTTY === true,
    });
  } else {
    await print(await look());
  }
  // Connections to the API server are kept for the next request and would hold the process.
  process.exit(0);
}

/** Of a watch each look is one line. */
function jsonText(rows: readonly Row[], isWatch: boolean): string {
  return JSON.stringify(rows, undefined, isWatch ? 0 : 2);
}

/** Shows the state again and again until SIGINT or SIGTERM; an API server that is away is said, and waited for. */
async function watch(
  look: () => Promise<string>,
  { interval, clears }: { interval: number; clears: boolean },
): Promise<void> {
  const stop = listenForStop();
  while (!stop.received) {
    try {
      const text = await look();
      await print(clears ? `${clear}${text}` : text);
    } catch (error) {
      if (!(error instanceof CannotAskError)) throw error;
      process.stderr.write(`netaminity: ${error.message}\n`);
    }
    await Promise.race([stop.first, Bun.sleep(interval)]);
  }
}
