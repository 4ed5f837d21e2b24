import { createInterface } from "node:readline";
import style from "../../dist/page/page.css.txt" with { type: "text" };
// Bundled before the executable is (scripts/build-page.ts).
import html from "../../dist/page/page.html.txt" with { type: "text" };
import script from "../../dist/page/page.js.txt" with { type: "text" };
import { dashboardRole } from "../config/dashboard.ts";
import { objectOf } from "../config/doctor.ts";
import { startDashboard } from "../dashboard/server.ts";
import { startWatcher } from "../dashboard/watcher.ts";
import { openCluster } from "../doctor/cluster.ts";
import { diagnoseObject } from "../doctor/diagnose-object.ts";
import { listenFailure } from "../errors.ts";
import { listenForStop } from "./lifetime.ts";
import { settingsOf } from "./settings.ts";

/** What a page may ask the doctor about. */
const shown = objectOf(["Tunnel", "Proxy", "Target"]);

export async function runDashboard(args: readonly string[]): Promise<void> {
  const settings = settingsOf(dashboardRole, args);
  const cluster = openCluster(settings);
  const { namespace, interval } = settings;
  const stop = listenForStop();
  const server = serve({
    port: settings.port,
    files: { html, script, style },
    greet: (tell) => {
      const { points, picture, trouble } = watcher.now();
      tell("history", { context: settings.context ?? cluster.server, points });
      if (picture !== undefined) tell("picture", picture);
      if (trouble !== undefined) tell("trouble", trouble);
    },
    diagnose: async (word, place, name) => {
      const object = shown.parse(`${word}/${name}`);
      if (object === undefined || place === "") return undefined;
      return await diagnoseObject(cluster, object, { namespace: place, probes: false });
    },
  });
  const watcher = startWatcher({ cluster, namespace, interval, tell: server.tell });
  const link = server.makeLink();
  process.stdout.write(
    `The dashboard is at\n\n  ${link}\n\nuntil Ctrl+C. The address opens it once; press Enter for another one.\n`,
  );
  if (settings.open) openBrowser(link);
  if (process.stdin.isTTY) {
    createInterface({ input: process.stdin }).on("line", () => process.stdout.write(`  ${server.makeLink()}\n`));
  }
  await stop.first;
  server.stop();
  await Promise.race([watcher.stop(), Bun.sleep(1000)]);
  process.exit(0);
}

function serve(options: Parameters<typeof startDashboard>[0]): ReturnType<typeof startDashboard> {
  try {
    return startDashboard(options);
  } catch (cause) {
    throw listenFailure(`127.0.0.1:${options.port} (port)`, cause);
  }
}

function openBrowser(link: string): void {
  const program = ["xdg-open", "open"].find((name) => Bun.which(name) !== null);
  if (program === undefined)
    process.stderr.write("netaminity: neither xdg-open nor open is here: open the address yourself\n");
  else Bun.spawn([program, link], { stdio: ["ignore", "ignore", "ignore"] }).unref();
}
