import { expect, test } from "bun:test";
import { Registry } from "prom-client";
import { createEventRecorder } from "../../../src/kube/events.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { createKubeMetrics } from "../../../src/kube/metrics.ts";
import { createLog } from "../../../src/log.ts";

const owner = {
  apiVersion: "netaminity.exeteres.net/v1",
  kind: "Tunnel",
  metadata: { name: "db", namespace: "demo", uid: "u1", resourceVersion: "1" },
};
const note = (message: string) => ({ type: "Warning" as const, reason: "SecretMissing", message });

/** A recorder whose writes are kept, answered at once or, when `hangs`, never. */
function rig({ hangs = false, fails = false } = {}) {
  const written: { verb: string; count?: number; note?: string }[] = [];
  const answer = <T>(): Promise<T> =>
    hangs ? new Promise(() => {}) : fails ? Promise.reject(new Error("refused")) : Promise.resolve({} as T);
  const kube = {
    create: (_: unknown, event: { note?: string }) => {
      written.push({ verb: "create", note: event.note ?? "" });
      return answer();
    },
    request: ({ verb, body }: { verb: string; body: { series: { count: number } } }) => {
      written.push({ verb, count: body.series.count });
      return answer();
    },
  } as unknown as Kube;
  const registry = new Registry();
  const metrics = createKubeMetrics("test", [registry]);
  const clock = { now: 1_000_000 };
  const logged: string[] = [];
  const log = createLog({ level: "info", format: "json", write: (line) => void logged.push(line) });
  const recorder = createEventRecorder({
    kube,
    metrics,
    log,
    controller: "test",
    instance: "me",
    now: () => clock.now,
  });
  const dropped = async () => (await metrics.eventsDropped.get()).values[0]?.value ?? 0;
  return { recorder, written, clock, dropped, logged };
}

test("repetitions are counted in one Event, which is written again each time that the count has doubled", () => {
  const { recorder, written, logged } = rig();
  for (let time = 0; time < 9; time += 1) {
    recorder.record(owner, note("no Secret"));
  }
  recorder.record(owner, note("another"));
  expect(written).toEqual([
    { verb: "create", note: "no Secret" },
    { verb: "patch", count: 2 },
    { verb: "patch", count: 4 },
    { verb: "patch", count: 8 },
    { verb: "create", note: "another" },
  ]);
  // The log tells of each once.
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", message: "no Secret", event: "SecretMissing", kind: "Tunnel", namespace: "demo", name: "db" },
    { level: "warn", message: "another" },
  ]);
});

test("what comes back after a while is a new Event", () => {
  const { recorder, written, clock } = rig();
  recorder.record(owner, note("no Secret"));
  clock.now += 11 * 60_000;
  recorder.record(owner, note("no Secret"));
  expect(written.map(({ verb }) => verb)).toEqual(["create", "create"]);
});

test("an API server that hangs or refuses costs Events, never more than a few requests", async () => {
  const hanging = rig({ hangs: true });
  for (let i = 0; i < 100; i += 1) {
    hanging.recorder.record(owner, note(`message ${i}`));
  }
  expect([hanging.written.length, await hanging.dropped()]).toEqual([8, 92]);
  const failing = rig({ fails: true });
  failing.recorder.record(owner, note("no Secret"));
  await Bun.sleep(0);
  expect(await failing.dropped()).toBe(1);
});
