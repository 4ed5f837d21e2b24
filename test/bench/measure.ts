import { type LoadResult, runLoad, type Usage } from "./load.ts";
import { socketMemory } from "./pressure.ts";
import { ProgramError } from "./process.ts";
import type { Endpoints } from "./products.ts";
import { burstSize, type Row, sides } from "./rows.ts";
import type { Site } from "./site.ts";
import { median } from "./statistics.ts";
import { watchTimeWait } from "./time-wait.ts";
import { wakeUpsPerSecond } from "./wake-ups.ts";

/** What a measurement needs to know about the product that is running and its surroundings. */
export interface Subject {
  load: string;
  site: Site;
  endpoints: Endpoints;
}

const mebibyte = 1024 * 1024;
/** A window of a bulk row is this many times as long as others: a link swings slower than loopback. */
const bulkWindows = 1.5;

/** Seconds until the direct connection's throughput is flat on a link of that many milliseconds (measured). */
const slowStart = (roundTrip: number) => 0.6 + roundTrip / 60;

/** Seconds on top of the measured window for connects, warming up and coming to rest. */
const extra = 30;

/** Seconds that are measured. */
export interface Windows {
  /** Of most rows. */
  seconds: number;
  /** Of the row that makes new streams for a long time. */
  sustained: number;
}

/** Seconds over which the wake-ups of an idle process are counted, and before which it has come to rest. */
const idleWindow = 5;
const idleRest = 4;

/**
 * Measures one row once. `round` 0 is the first on these processes. The keys are those of
 * `metricsOf`, and `left`: backend connections that did not end although their consumers had closed, `pressed`: see
 * below. Rejects when the product failed.
 */
export async function measure(
  row: Row,
  subject: Subject,
  { seconds, sustained }: Windows,
  round: number,
): Promise<Record<string, number>> {
  switch (row.kind) {
    case "throughput":
      return await throughput(subject, row.streams, row.direction, seconds);
    case "rate":
      return await rate(subject, row.workers, seconds);
    case "memory":
      return await memory(subject, row.streams, seconds);
    case "streams":
      return await lastingStreams(subject, row.workers, sustained);
    case "wakeups":
      return await idleWakeUps(subject);
    case "link":
      return await link(subject, row.link.roundTrip, round);
    case "bulk":
      return await bulk(subject, row, seconds);
  }
}

/** Waits until a consumer gets its first reply through the product. */
export async function untilReady(subject: Subject): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    for (const side of sides) {
      const program = subject.endpoints[side];
      if (program?.exitCode() !== undefined)
        throw new ProgramError(`${program.name} ended with code ${program.exitCode()}`);
    }
    try {
      await runLoad("reply", loadOptions(subject, { count: 1, bursts: 0 }, extra));
      return;
    } catch (cause) {
      if (Date.now() > deadline) throw new ProgramError("no reply within 10 s of the start", { cause });
      await Bun.sleep(100);
    }
  }
}

async function throughput(
  subject: Subject,
  streams: number,
  direction: string,
  seconds: number,
): Promise<Record<string, number>> {
  const flags = { streams, direction, for: `${seconds}s` };
  const result = await runLoad("throughput", loadOptions(subject, flags, seconds));
  const bytes = result.upBytes + result.downBytes;
  if (bytes === 0) throw new ProgramError("no byte arrived inside the window");
  const spent = bySide(result.watched, "cpu", (used) => (used.cpuSeconds * 1e9) / bytes);
  return {
    throughput: (bytes * 8) / result.seconds / 1e9,
    left: result.left,
    pressed: pressed(result),
    ...spent,
    ...peaks(result.watched, "peak"),
  };
}

async function rate(subject: Subject, workers: number, seconds: number): Promise<Record<string, number>> {
  const result = await runLoad("rate", loadOptions(subject, { streams: workers, for: `${seconds}s` }, seconds));
  if (result.failures > 0) throw new ProgramError(`${result.failures} exchanges failed: ${result.failure}`);
  return {
    rate: result.exchanges / result.seconds,
    p50: result.p50 * 1000,
    p99: result.p99 * 1000,
    left: result.left,
    ...total(result.watched, (microseconds) => ({ cpu: microseconds / result.exchanges })),
    ...bySide(result.watched, "cpu", (used) => (used.cpuSeconds * 1e6) / result.exchanges),
    ...peaks(result.watched, "peak"),
  };
}

/** New streams as fast as they come; `failures` count, because a machine that runs out of ports refuses more and more of them. */
async function lastingStreams(subject: Subject, workers: number, seconds: number): Promise<Record<string, number>> {
  const { between } = subject.endpoints;
  if (between === undefined) throw new ProgramError("it is not known where its two sides meet");
  const waiting = watchTimeWait(subject.site.server.enter, between);
  const result = await runLoad("rate", loadOptions(subject, { streams: workers, for: `${seconds}s` }, seconds));
  const most = await waiting.most();
  return {
    streams: result.exchanges / result.seconds,
    failures: result.failures,
    "time-wait": most.between,
    crowded: most.all >= most.limit ? 1 : 0,
    left: result.left,
  };
}

/** Of processes that have been started a moment ago, when the collector still runs once a second. */
async function idleWakeUps({ endpoints }: Subject): Promise<Record<string, number>> {
  await Bun.sleep(idleRest * 1000);
  const running = sides.flatMap((side) => (endpoints[side] === undefined ? [] : [{ side, ...endpoints[side] }]));
  const rates = await wakeUpsPerSecond(
    running.map(({ pid }) => pid),
    idleWindow,
  );
  return Object.fromEntries(running.map(({ side }, index) => [`wakeups-${side}`, rates[index] ?? Number.NaN]));
}

/** Idle, then many idle streams, then many busy ones, on processes that have done nothing else before. */
async function memory(subject: Subject, count: number, seconds: number): Promise<Record<string, number>> {
  const idle = await runLoad("idle", loadOptions(subject, { streams: 0, for: `${seconds}s`, warm: "1s" }, seconds));
  const streams = { streams: count, for: `${seconds}s`, warm: "1s" };
  const holding = await runLoad("idle", loadOptions(subject, streams, seconds));
  const busy = await runLoad("throughput", loadOptions(subject, { ...streams, direction: "both" }, seconds));
  return {
    left: holding.left + busy.left,
    pressed: pressed(busy),
    ...peaks(idle.watched, "idle"),
    ...peaks(holding.watched, "idle-streams"),
    ...peaks(busy.watched, "busy-streams"),
    throughput: ((busy.upBytes + busy.downBytes) * 8) / busy.seconds / 1e9,
  };
}

async function link(subject: Subject, milliseconds: number, round: number): Promise<Record<string, number>> {
  // A rest as long as many round trips lets every product refill what it keeps ready.
  const pause = `${Math.max(1000, milliseconds * 10)}ms`;
  const flags = { streams: burstSize, bursts: 3, count: 5, pause };
  const result: LoadResult<"reply"> = await runLoad("reply", loadOptions(subject, flags, 60));
  const [cold = [], ...warm] = result.together;
  const inMilliseconds = (values: number[]) => (median(values) ?? Number.NaN) * 1000;
  return {
    connect: inMilliseconds(result.connects),
    alone: inMilliseconds(result.alone),
    // Later rounds find processes that have seen a burst before.
    ...(round === 0 ? { cold: inMilliseconds(cold) } : {}),
    together: inMilliseconds(warm.flat()),
  };
}

/** Streams over a link, when slow start is over and beside others that are silent. */
async function bulk(
  subject: Subject,
  { link, streams, direction, idle, replies }: Row & { kind: "bulk" },
  seconds: number,
): Promise<Record<string, number>> {
  const window = seconds * bulkWindows;
  const flags = {
    streams,
    direction,
    idle,
    count: replies,
    for: `${window}s`,
    warm: `${slowStart(link.roundTrip)}s`,
    // On a long link a thousand handshakes one after the other would take minutes.
    "at-once": 100,
    // What the kernels still hold of this measurement must not reach into the next one's.
    reset: "true",
  };
  const result = await runLoad("throughput", loadOptions(subject, flags, window));
  const bytes = result.upBytes + result.downBytes;
  if (bytes === 0) throw new ProgramError("no byte arrived inside the window");
  const reply = median(result.replies);
  return {
    speed: bytes / result.seconds / 1e6,
    ...(reply === undefined ? {} : { reply: reply * 1000 }),
    left: result.left,
    pressed: pressed(result),
    ...bySide(result.watched, "cpu", (used) => (used.cpuSeconds * 1e9) / bytes),
    ...peaks(result.watched, "peak"),
  };
}

function loadOptions({ load, site, endpoints }: Subject, flags: Record<string, string | number>, seconds: number) {
  const watched = sides.flatMap((side) => {
    const program = endpoints[side];
    return program === undefined ? [] : [[side, program.pid] as const];
  });
  return {
    command: [...site.server.enter, load],
    flags: {
      connect: endpoints.consumers,
      backend: site.backend,
      ...(site.backendNamespace === undefined ? {} : { namespace: site.backendNamespace }),
      ...flags,
    },
    watch: Object.fromEntries(watched),
    timeout: seconds + extra,
  };
}

/** 1 when the kernel ran out of memory for sockets meanwhile: see socketMemory. */
function pressed(result: LoadResult<"throughput">): number {
  return result.peakSocketPages > socketMemory().pressure ? 1 : 0;
}

function peaks(watched: Record<string, Usage>, key: string): Record<string, number> {
  return bySide(watched, key, (used) => used.peakRssAnon / mebibyte);
}

/** What follows from the processor time of both sides together; nothing of the direct connection, which has none. */
function total(
  watched: Record<string, Usage>,
  value: (microseconds: number) => Record<string, number>,
): Record<string, number> {
  const all = Object.values(watched);
  return all.length === 0 ? {} : value(all.reduce((sum, used) => sum + used.cpuSeconds * 1e6, 0));
}

function bySide(watched: Record<string, Usage>, key: string, value: (used: Usage) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(watched).map(([side, used]) => [`${key}-${side}`, value(used)]));
}
