import { CannotAskError, type Cluster } from "../doctor/cluster.ts";
import { agentsOf, listAll } from "../doctor/look-over.ts";
import { errorText } from "../errors.ts";
import { pictureOf } from "./picture.ts";
import type { Line, Picture, Point, Rates, Told } from "./picture-types.ts";
import { Sampler } from "./sampler.ts";

/** Points of each line that are kept: ten minutes at the default interval. */
const maxPoints = 300;

export interface WatcherOptions {
  cluster: Cluster;
  /** Undefined: all. */
  namespace: string | undefined;
  /** Milliseconds between two looks. */
  interval: number;
  /** Told of each look. */
  tell: <Name extends "picture" | "trouble">(name: Name, data: Told[Name]) => void;
}

export interface Watcher {
  /** What a page that connects is told first. */
  now(): { points: Told["history"]["points"]; picture: Picture | undefined; trouble: Told["trouble"] | undefined };
  stop(): Promise<void>;
}

/** Looks at the cluster again and again, whoever watches, so that a page that opens sees the last minutes. */
export function startWatcher({ cluster, namespace, interval, tell }: WatcherOptions): Watcher {
  const past = new Map<string, Point[]>();
  let picture: Picture | undefined;
  let trouble: Told["trouble"] | undefined;
  const sampler = new Sampler(cluster);
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;

  const look = async () => {
    try {
      const listed = await listAll(cluster, namespace);
      const samples = await sampler.samplesOf(agentsOf(listed));
      const next = withRates(pictureOf({ ...listed, samples }, Date.now()), picture);
      remember(past, next);
      picture = next;
      trouble = undefined;
      tell("picture", next);
    } catch (error) {
      if (!(error instanceof CannotAskError)) throw error;
      trouble = { since: trouble?.since ?? new Date().toISOString(), message: errorText(error) };
      tell("trouble", trouble);
    }
  };
  const run = async () => {
    while (!isStopped) {
      await look();
      await Promise.race([Bun.sleep(interval), stopping.promise]);
    }
  };
  const running = run();
  return {
    now: () => ({ points: Object.fromEntries(past), picture, trouble }),
    async stop() {
      isStopped = true;
      stopping.resolve();
      await running;
    },
  };
}

/** Counters that went back (an agent was started anew) say nothing about the time between. */
export function withRates(next: Picture, before: Picture | undefined): Picture {
  const seconds = before === undefined ? 0 : (Date.parse(next.at) - Date.parse(before.at)) / 1000;
  if (seconds <= 0) return next;
  const old = new Map(before?.lines.map((line) => [line.key, line]));
  return {
    ...next,
    lines: next.lines.map((line) => {
      const rates = ratesOf(line, old.get(line.key), seconds);
      return rates === undefined ? line : { ...line, rates };
    }),
  };
}

function ratesOf({ numbers: now }: Line, before: Line | undefined, seconds: number): Rates | undefined {
  const then = before?.numbers;
  if (now === undefined || then === undefined) return undefined;
  if (now.toBackend < then.toBackend || now.toConsumer < then.toConsumer) return undefined;
  return {
    toBackend: (now.toBackend - then.toBackend) / seconds,
    toConsumer: (now.toConsumer - then.toConsumer) / seconds,
  };
}

export function pointOf({ numbers, rates }: Line, at: string): Point {
  const second = Math.round(Date.parse(at) / 1000);
  return [second, numbers?.streams ?? null, rates?.toBackend ?? null, rates?.toConsumer ?? null];
}

function remember(past: Map<string, Point[]>, { at, lines }: Picture): void {
  const present = new Set(lines.map(({ key }) => key));
  for (const key of past.keys()) if (!present.has(key)) past.delete(key);
  for (const line of lines) {
    const points = past.get(line.key) ?? [];
    past.set(line.key, points);
    points.push(pointOf(line, at));
    if (points.length > maxPoints) points.shift();
  }
}
