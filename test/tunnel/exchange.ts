import type { TcpSocket } from "../support/tcp.ts";

export type Side = "consumer" | "server";

export type Step =
  | { side: Side; do: "write"; size: number }
  | { side: Side; do: "finish" | "stop reading" | "read on" | "reset" }
  | { do: "settle" }
  | { do: "wait"; milliseconds: number };

/** Random numbers below 1 that a seed repeats (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const sizes = [1, 2, 13, 100, 1460, 4096, 16_384, 65_536, 65_537, 200_000, 524_288, 1_500_000];
/** So few that a stream stays in frames. */
export const shortSizes = [1, 2, 13, 100, 1460, 4096];
const sides: readonly Side[] = ["consumer", "server"];

/** A script of at most `length` steps that a plain connection can play: nobody writes after its FIN, and a reset comes last. */
export function randomScript(random: () => number, length: number, among: readonly number[] = sizes): Step[] {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const steps: Step[] = [];
  const finished = new Set<Side>();
  const still = new Set<Side>();
  const end = (step: Step) => {
    // Half of the resets come while bytes are on the way, the others when everything has arrived.
    if (random() < 0.5)
      steps.push({ side: "consumer", do: "read on" }, { side: "server", do: "read on" }, { do: "settle" });
    steps.push(step);
  };
  while (steps.length < length && finished.size < 2) {
    const side = pick(sides);
    const chance = random();
    if (chance < 0.5) {
      if (!finished.has(side)) steps.push({ side, do: "write", size: pick(among) });
    } else if (chance < 0.6) {
      steps.push({ side, do: still.has(side) ? "read on" : "stop reading" });
      if (!still.delete(side)) still.add(side);
    } else if (chance < 0.75) {
      steps.push({ do: "wait", milliseconds: Math.floor(random() * 6) });
    } else if (chance < 0.83) {
      still.clear();
      steps.push({ side: "consumer", do: "read on" }, { side: "server", do: "read on" }, { do: "settle" });
    } else if (chance < 0.93) {
      if (!finished.has(side)) steps.push({ side, do: "finish" });
      finished.add(side);
    } else if (chance < 0.97) {
      end({ side, do: "reset" });
      return steps;
    }
  }
  return steps;
}

/** What one end saw of the other. `bytes` is a digest, or whether they are the beginning of what was sent where a reset overtook them. */
export interface Sight {
  bytes: string;
  ending: string;
}

export type Outcome = Record<Side, Sight>;

interface Ends {
  socket: Record<Side, TcpSocket>;
  written: Record<Side, Uint8Array[]>;
  finished: Set<Side>;
}

function other(side: Side): Side {
  return side === "consumer" ? "server" : "consumer";
}

function total(chunks: Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
}

async function settle(ends: Ends): Promise<void> {
  for (const side of sides) {
    const reader = ends.socket[other(side)];
    await reader.untilReceived(total(ends.written[side]), 20_000);
    if (ends.finished.has(side)) await reader.untilFin(20_000);
  }
}

async function play(ends: Ends, step: Step, random: () => number): Promise<void> {
  switch (step.do) {
    case "settle":
      return settle(ends);
    case "wait":
      return Bun.sleep(step.milliseconds);
    case "write": {
      const chunk = new Uint8Array(step.size);
      for (let index = 0; index < chunk.length; index += 61) chunk[index] = Math.floor(random() * 256);
      ends.written[step.side].push(chunk);
      // Not awaited: the next step comes while bytes are on the way. A reset may overtake them.
      ends.socket[step.side].send(chunk).catch(() => {});
      return;
    }
    case "finish":
      ends.finished.add(step.side);
      return ends.socket[step.side].finish();
    case "stop reading":
      return ends.socket[step.side].pause();
    case "read on":
      return ends.socket[step.side].resume();
    case "reset":
      return ends.socket[step.side].abort();
  }
}

/** Plays a script between two ends and tells what each of them saw. `seed` decides the content. */
export async function playScript(
  consumer: TcpSocket,
  server: TcpSocket,
  script: readonly Step[],
  seed: number,
): Promise<Outcome> {
  const ends: Ends = { socket: { consumer, server }, written: { consumer: [], server: [] }, finished: new Set() };
  const random = randomFrom(seed);
  for (const step of script) await play(ends, step, random);
  const last = script.at(-1);
  const resetBy = last?.do === "reset" ? last.side : undefined;
  const overtaken = resetBy !== undefined && script.at(-2)?.do !== "settle";
  if (resetBy === undefined) {
    for (const side of sides) {
      ends.socket[side].resume();
      if (!ends.finished.has(side)) ends.socket[side].finish();
    }
  } else {
    ends.socket[other(resetBy)].resume();
  }
  await Promise.all(sides.map((side) => ends.socket[side].untilClosed(30_000)));
  const see = (side: Side): Sight => {
    const sent = Buffer.concat(ends.written[other(side)]);
    const socket = ends.socket[side];
    const got = socket.bytes();
    const complete = got.equals(sent) ? `all ${got.byteLength} bytes` : `${got.byteLength} bytes that differ`;
    const isBeginning = got.equals(sent.subarray(0, got.byteLength));
    if (side === resetBy && !overtaken) return { bytes: complete, ending: "resets" };
    if (overtaken) {
      const ending = side === resetBy ? "resets" : socket.reset === undefined ? "no reset" : "is reset";
      return { bytes: isBeginning ? "a beginning" : "not a beginning", ending };
    }
    return { bytes: complete, ending: socket.reset ?? (socket.fin ? "FIN" : "nothing") };
  };
  return { consumer: see("consumer"), server: see("server") };
}
