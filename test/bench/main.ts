import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { arch, cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { chooseProducts } from "./catalog.ts";
import { congestionControl } from "./link.ts";
import { encryptedSubject, subject } from "./metrics.ts";
import { help, OptionError, type Options, parseOptions } from "./options.ts";
import { endEverything, undoOnExit } from "./process.ts";
import type { Product } from "./products.ts";
import { report } from "./report.ts";
import { emptyResults, type Line, lines, type Results, tripOf } from "./results.ts";
import { type Row, rowNames, rows } from "./rows.ts";
import { type Run, runRows } from "./run.ts";
import { runSoak } from "./soak.ts";
import { buildHelpers, netaminityExecutable } from "./tools.ts";

/** How busy other programs kept the machine; far above 0 means that the numbers are worth less. */
const loadBefore = loadavg()[0] ?? Number.NaN;

/** Runs what the options ask for; returns the exit code. The folder with the logs stays when it is not 0. */
async function main(options: Options): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "netaminity-bench-"));
  const executables = join(folder, "executables");
  mkdirSync(executables);
  const forget = undoOnExit(() => rmSync(folder, { recursive: true, force: true }));
  let code = 1;
  try {
    const tools = await buildHelpers();
    const chosen = rows.filter((row) => options.rows.includes(row.name));
    code =
      options.soak === undefined
        ? await compare(options, tools, chosen, await chooseProducts(options, chosen, executables), folder)
        : await runSoak(tools.soak, await netaminityExecutable(executables), options, folder);
    return code;
  } finally {
    forget();
    rmSync(code === 0 ? folder : executables, { recursive: true, force: true });
    if (code !== 0) process.stderr.write(`logs are in ${folder}\n`);
  }
}

async function compare(
  options: Options,
  tools: Run["tools"],
  chosen: readonly Row[],
  products: readonly Product[],
  folder: string,
): Promise<number> {
  const { rounds, seconds, sustained } = options;
  const congestion = congestionControl(options.congestion);
  const results = emptyResults(rounds);
  const windows = { seconds, sustained };
  await runRows({ tools, products, rounds, windows, congestion, folder, results, progress }, chosen);
  progress("");
  const names = products.map((product) => product.name);
  const all = lines(results, chosen, products);
  process.stdout.write(`${summary(options, congestion)}\n\n${report(all, names)}\n`);
  for (const row of chosen) printTrip(results, row);
  for (const row of chosen) {
    printSum(results, row, names, "left", "backend connections outlived their consumers");
    printSum(results, row, names, "crowded", "rounds in which the kernel could keep no more sockets in TIME_WAIT");
    printSum(results, row, names, "pressed", "rounds while the kernel had no memory left for sockets (tcp_mem)");
  }
  for (const { row, product, round, reason } of results.failures) {
    process.stdout.write(`\nfailed: ${row}, ${product}, round ${round + 1}: ${reason}\n`);
  }
  if (options.json !== undefined) {
    await Bun.write(options.json, `${JSON.stringify(asJson(options, results, all, names), undefined, 2)}\n`);
  }
  return results.failures.some((failure) => [subject, encryptedSubject].includes(failure.product)) ? 1 : 0;
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function summary({ rounds, seconds }: Options, congestion: string): string {
  return `${rounds} rounds of ${seconds} s, ${cpus().length} processors, Linux ${release()} ${arch()}, load average before ${loadBefore.toFixed(1)}, links with ${congestion}; medians, ratios are medians of the rounds' ratios`;
}

function printTrip(results: Results, row: Row): void {
  const trip = tripOf(results, row);
  if (trip !== undefined) process.stdout.write(`\n${row.name}: a round trip of the link took ${trip.toFixed(1)} ms\n`);
}

/** Says what was seen besides, when it was not nothing. */
function printSum(results: Results, row: Row, products: readonly string[], key: string, what: string): void {
  for (const product of products) {
    const sum = results.samples(row.name, key, product).reduce((sum: number, count) => sum + (count ?? 0), 0);
    if (sum > 0) process.stdout.write(`\n${row.name}, ${product}: ${sum} ${what}\n`);
  }
}

function asJson(options: Options, results: Results, all: readonly Line[], products: readonly string[]) {
  return {
    date: new Date().toISOString(),
    kernel: release(),
    processors: cpus().length,
    loadBefore,
    rounds: options.rounds,
    seconds: options.seconds,
    lines: all.map(({ row, metric, ...rest }) => ({
      row,
      metric: metric.key,
      section: metric.section,
      label: metric.label,
      subject: metric.subject,
      ...rest,
      samples: Object.fromEntries(products.map((product) => [product, results.samples(row, metric.key, product)])),
    })),
    failures: results.failures,
  };
}

function interrupt(signal: NodeJS.Signals, code: number): void {
  process.once(signal, () => {
    endEverything();
    process.exit(code);
  });
}

interrupt("SIGINT", 130);
interrupt("SIGTERM", 143);
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === "help") process.stdout.write(`${help}\n`);
  else if (options === "list") process.stdout.write(`${rowNames().join("\n")}\n`);
  else process.exitCode = await main(options);
} catch (error) {
  endEverything();
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof OptionError ? 2 : 1;
}
