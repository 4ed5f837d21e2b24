import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loopbackSite, openLink } from "./link.ts";
import { measure, type Subject, untilReady, type Windows } from "./measure.ts";
import { calm, untilCalm } from "./pressure.ts";
import type { Endpoints, Product } from "./products.ts";
import type { Results } from "./results.ts";
import { type LinkShape, measures, processesOf, type Row } from "./rows.ts";
import { loopbackAddress, type Site } from "./site.ts";
import { rotated } from "./statistics.ts";

export interface Run {
  tools: { load: string; delay: string };
  products: readonly Product[];
  rounds: number;
  windows: Windows;
  /** Congestion control of the links. */
  congestion: string;
  folder: string;
  results: Results;
  progress(text: string): void;
}

/** Measures all rows, round by round, the products in turn inside each row of each round. */
export async function runRows(run: Run, rows: readonly Row[]): Promise<void> {
  const lasting = rows.filter((row) => row.kind === "throughput" || row.kind === "rate");
  for (const members of Map.groupBy(lasting, processesOf).values())
    await runSharedProcesses(run, members, (product, nth) => loopback(run, product, nth));
  for (const row of rows.filter((row) => processesOf(row) === undefined)) await runFreshProcesses(run, row);
  const linked = rows.filter((row) => row.kind === "link" || row.kind === "bulk");
  for (const [link, members] of Map.groupBy(linked, (row) => row.link)) await runLink(run, link, members);
}

interface Started extends AsyncDisposable {
  product: Product;
  subject: Subject;
}

/** The same processes serve all rows and rounds. */
async function runSharedProcesses(
  run: Run,
  rows: readonly Row[],
  place: (product: Product, nth: number) => Promise<Site>,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const started: Started[] = [];
  for (const [nth, product] of run.products.entries()) {
    if (!rows.some((row) => measures(row, product, 0))) continue;
    try {
      started.push(stack.use(await startProduct(run, product, await place(product, nth))));
    } catch (error) {
      for (const row of rows) recordFailure(run, row, product, 0, error);
    }
  }
  for (let round = 0; round < run.rounds; round++) {
    for (const row of rows) {
      for (const { product, subject } of rotated(started, round)) {
        if (measures(row, product, round)) await measureOnce(run, row, product, round, subject);
      }
    }
  }
}

/** New processes for every measurement, so that what came before does not show in their memory. */
async function runFreshProcesses(run: Run, row: Row): Promise<void> {
  for (let round = 0; round < run.rounds; round++) {
    for (const product of rotated(run.products, round)) {
      if (!measures(row, product, round)) continue;
      try {
        await using started = await startProduct(
          run,
          product,
          await loopback(run, product, run.products.indexOf(product)),
        );
        await measureOnce(run, row, product, round, started.subject);
      } catch (error) {
        recordFailure(run, row, product, round, error);
      }
    }
  }
}

/** All rows of one link, each with new processes, so that many streams of one do not show in the next one's memory. */
async function runLink(run: Run, shape: LinkShape, rows: readonly (Row & { link: LinkShape })[]): Promise<void> {
  const folder = join(run.folder, rows.map((row) => row.name)[0] ?? "link");
  mkdirSync(folder, { recursive: true });
  await using link = await openLink(run.tools.delay, shape, run.congestion, folder);
  for (const row of rows) await runSharedProcesses(run, [row], async () => ({ ...link.site, folder }));
}

async function loopback(run: Run, product: Product, nth: number): Promise<Site> {
  const folder = join(run.folder, product.name);
  mkdirSync(folder, { recursive: true });
  return await loopbackSite(loopbackAddress(nth), folder);
}

async function startProduct(run: Run, product: Product, site: Site): Promise<Started> {
  const endpoints = await product.start(site);
  const stop = async () => await stopBoth(endpoints);
  const subject: Subject = { load: run.tools.load, site, endpoints };
  try {
    await untilReady(subject);
  } catch (error) {
    await stop();
    throw error;
  }
  return { product, subject, [Symbol.asyncDispose]: stop };
}

async function stopBoth({ client, server }: Endpoints): Promise<void> {
  await Promise.all([client?.[Symbol.asyncDispose](), server?.[Symbol.asyncDispose]()]);
}

/** How often a measurement is done again that others have spoiled. */
const repetitions = 2;

async function measureCalmly(run: Run, row: Row, subject: Subject, round: number): Promise<Record<string, number>> {
  await untilCalm();
  return await measure(row, subject, run.windows, round);
}

async function measureOnce(run: Run, row: Row, product: Product, round: number, subject: Subject): Promise<void> {
  run.progress(`round ${round + 1}/${run.rounds}  ${row.name}  ${product.name}`);
  try {
    let values = await measureCalmly(run, row, subject, round);
    // When it is over and the memory is not released, others on this machine hold it: such a number says nothing.
    for (let again = 0; again < repetitions && values.pressed === 1 && !calm(); again++)
      values = await measureCalmly(run, row, subject, round);
    run.results.add(row.name, product.name, round, values);
  } catch (error) {
    recordFailure(run, row, product, round, error);
  }
}

function recordFailure(run: Run, row: Row, product: Product, round: number, error: unknown): void {
  run.results.fail(row.name, product.name, round, error instanceof Error ? error.message : String(error));
}
