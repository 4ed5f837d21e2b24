import { describe, expect, test } from "bun:test";
import { createLog } from "../../../src/log.ts";
import { createPublishMetrics } from "../../../src/publish/metrics.ts";
import { InvalidError, LoginError, MeshError, type Picture } from "../../../src/publish/provider.ts";
import { createTelling } from "../../../src/publish/telling.ts";
import { createWaker } from "../../../src/publish/waker.ts";
import { makeNode } from "../../support/mesh.ts";

function rig() {
  const events: string[] = [];
  const metrics = createPublishMetrics();
  const telling = createTelling({
    recorder: {
      record: ({ kind, metadata }, { type, reason, message }) =>
        events.push(`${type} ${reason} of ${kind} ${metadata.namespace}/${metadata.name}: ${message}`),
    },
    regarded: () => ({ apiVersion: "v1", kind: "Secret", metadata: { namespace: "mesh", name: "out", uid: "u" } }),
    metrics,
    log: createLog({ level: "error", format: "json", write: () => {} }),
  });
  return { events, metrics, telling };
}

const picture = (given: Partial<Picture> = {}): Picture => ({
  changes: [],
  pending: [],
  notes: [],
  states: { current: 0, held: 0, refused: 0, foreign: 0 },
  leaked: 0,
  apply: () => Promise.reject(new Error("not here")),
  ...given,
});

const pending = [{ node: makeNode("a"), reason: "NoMeshHost" as const, message: "no host" }];

describe("what a pass has found", () => {
  test("becomes an Event once while it lasts, and again when it comes back", () => {
    const { telling, events } = rig();
    const found = picture({ pending, notes: [{ reason: "DeletionsRefused", message: "too many" }] });
    telling.picture(found);
    telling.picture(found);
    const once = [
      "Warning NoMeshHost of Node default/a: no host",
      "Warning DeletionsRefused of Secret mesh/out: too many",
    ];
    expect(events).toEqual(once);
    telling.picture(picture());
    telling.picture(found);
    expect(events).toEqual([...once, ...once]);
  });

  test("is in the metrics until another replica publishes", async () => {
    const { telling, metrics } = rig();
    telling.picture(picture({ pending, leaked: 2, states: { current: 5, held: 1, refused: 7, foreign: 3 } }));
    const lines = async () => (await metrics.expose()).body.split("\n");
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'netaminity_publish_rules{state="current"} 5',
        'netaminity_publish_rules{state="foreign"} 3',
        'netaminity_publish_pending_nodes{reason="NoMeshHost"} 1',
        'netaminity_publish_pending_nodes{reason="NoPodCidr"} 0',
        "netaminity_publish_refused_deletions 7",
        "netaminity_publish_leaked_endpoints 2",
      ]),
    );
    telling.reset();
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'netaminity_publish_rules{state="current"} 0',
        'netaminity_publish_pending_nodes{reason="NoMeshHost"} 0',
        "netaminity_publish_refused_deletions 0",
      ]),
    );
  });
});

describe("a pass that failed", () => {
  test("is an Event at once when a person has to do something, else when it lasts", () => {
    const { telling, events } = rig();
    telling.result(new LoginError("wrong password", 400), 1);
    telling.result(new LoginError("wrong password", 400), 2);
    telling.result(undefined, 0);
    telling.result(new InvalidError("bad base", 0), 1);
    telling.result(undefined, 0);
    for (const failures of [1, 2, 3, 4]) telling.result(new MeshError("502", 502), failures);
    expect(events).toEqual([
      "Warning PublishFailed of Secret mesh/out: wrong password",
      "Warning NetworkInvalid of Secret mesh/out: bad base",
      "Warning PublishFailed of Secret mesh/out: 502",
    ]);
  });
});

test("a change that comes while nobody waits is not lost", async () => {
  const waker = createWaker();
  const { signal } = new AbortController();
  waker.wake();
  await waker.wait(60_000, signal);
  waker.take();
  const waiting = waker.wait(60_000, signal);
  waker.wake();
  await waiting;
  waker.take();
  await waker.wait(1, signal);
});
