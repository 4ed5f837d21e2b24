/** A newer revision gets the rendezvous for a time, and gives it back when no target comes. */
import { describe, expect, test } from "bun:test";
import { attemptTime, parseAttempt } from "../../../src/plan/attempt.ts";
import { makeNode, makePod, type PodFacts } from "../../support/objects.ts";
import { newer, newest, newPod, older, oldPod, Rendezvous } from "../../support/rendezvous.ts";

describe("a newer revision", () => {
  test("that gets a session keeps the rendezvous, and nothing is remembered", () => {
    const rendezvous = new Rendezvous();
    expect(rendezvous.after(0)).toBe("new-a");
    expect(rendezvous.last?.requeueAfter).toBe(attemptTime + 1000);
    rendezvous.replace("new-a", newPod("new-a", { ready: true }));
    expect(rendezvous.after(3000)).toBe("new-a");
    rendezvous.pods = rendezvous.pods.filter(({ metadata }) => metadata.name !== "old");
    expect(rendezvous.watch(600_000)).toEqual([]);
    expect(rendezvous.last?.requeueAfter).toBeUndefined();
    expect(rendezvous.events.map(({ reason }) => reason)).toEqual(["ActivePodChanged", "Available", "SessionUp"]);
  });

  test("that gets none gives it back, and tries again after pauses that grow to five minutes, with another pod each time", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    const moves = rendezvous.watch(1200_000);
    // Each look comes a second late at most, since times are written in whole seconds.
    expect(moves.slice(0, 8)).toEqual([
      [11, "old"],
      [42, "new-b"],
      [53, "old"],
      [114, "new-a"],
      [125, "old"],
      [246, "new-b"],
      [257, "old"],
      [498, "new-a"],
    ]);
    const pauses = moves.flatMap(([at, active], index) =>
      active === "old" ? [] : [at - (moves[index - 1]?.[0] ?? 0)],
    );
    expect(pauses).toEqual([31, 61, 121, 241, 301, 301]);
  });

  test("is tried at once, and again after half a minute, when its Secret has changed", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    const moves = rendezvous.watch(600_000);
    expect(moves.at(-1)).toEqual([509, "old"]);
    rendezvous.secretVersion = "2";
    expect(rendezvous.after(1000)).toBe("new-a");
    expect(rendezvous.watch(60_000)).toEqual([
      [612, "old"],
      [643, "new-b"],
      [654, "old"],
    ]);
  });

  test("that does not answer the operator while the older one does is not tried, which Updated says", () => {
    const rendezvous = new Rendezvous();
    rendezvous.probes = [
      { podUid: "uid-of-old", healthy: true, failures: 0 },
      { podUid: "uid-of-new-a", healthy: false, failures: 3 },
    ];
    rendezvous.pods = rendezvous.pods.slice(0, 2);
    expect(rendezvous.after(0)).toBe("old");
    expect(rendezvous.updated).toMatchObject({
      status: "False",
      reason: "PodsFailing",
      message: "pod new-a runs but does not answer at its health port, so it is not tried",
    });
  });

  test("says meanwhile what is wrong, and that consumers are served", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    expect(rendezvous.updated).toMatchObject({ status: "False", reason: "RollingOut" });
    rendezvous.watch(12_000);
    expect(rendezvous.updated).toMatchObject({
      status: "False",
      reason: "NoSessionAfterChange",
      message:
        "the newest pods got no session with a target (tried 1 times), so a pod of an older revision goes on serving; tried again at 2026-01-01T00:00:41Z",
    });
    expect(rendezvous.connected).toMatchObject({
      status: "True",
      message: "pod old carries a session and serves consumers",
    });
    expect(rendezvous.events).toContainEqual({
      type: "Warning",
      reason: "ActivePodReturned",
      message: "the rendezvous leads back to pod old: new-a got no session within 10 s",
    });
  });

  test("of another template is tried at once", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    rendezvous.watch(300_000);
    rendezvous.pods = [oldPod("old", { ready: true }), makePod("right", {}, newest)];
    rendezvous.replicaSets = [older, newer, newest];
    expect(rendezvous.after(1000)).toBe("right");
    rendezvous.replace("right", makePod("right", { ready: true }, newest));
    expect(rendezvous.after(2000)).toBe("right");
    expect(rendezvous.updated?.reason).not.toBe("NoSessionAfterChange");
  });

  test("that is taken back leaves the older one where it is", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    rendezvous.watch(12_000);
    rendezvous.pods = [oldPod("old", { ready: true }), oldPod("old-too")];
    rendezvous.replicaSets = [older];
    expect(rendezvous.watch(600_000)).toEqual([]);
    expect(rendezvous.updated?.reason).not.toBe("NoSessionAfterChange");
    expect(rendezvous.last?.requeueAfter).toBeUndefined();
  });

  test("whose pod crashes again and again gives it back too, and does not get it for each restart", () => {
    const rendezvous = new Rendezvous();
    rendezvous.pods = [oldPod("old", { ready: true }), newPod("new-a")];
    rendezvous.after(0);
    rendezvous.replace("new-a", newPod("new-a", { state: { waiting: { reason: "CrashLoopBackOff" } } }));
    expect(rendezvous.after(3000)).toBe("old");
    rendezvous.replace("new-a", newPod("new-a", { containerId: "again" }));
    expect(rendezvous.after(3000)).toBe("old");
  });

  test("that has failed takes turns with the older one when that has lost its session too, until either has one", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    rendezvous.watch(12_000);
    rendezvous.replace("old", oldPod("old"));
    const moves = rendezvous.watch(120_000);
    expect(moves.map(([, active]) => active)).toContain("old");
    expect(moves.map(([, active]) => active)).toContain("new-a");
    const waits = moves.slice(1).map(([at], index) => at - (moves[index]?.[0] ?? 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(61);
    // The target comes back while the older pod has its turn, or to the newest one.
    for (let turn = 0; turn < 200 && rendezvous.last?.status.activePod !== "old"; turn += 1) rendezvous.after(1000);
    rendezvous.replace("old", oldPod("old", { ready: true }));
    rendezvous.after(1000);
    expect(rendezvous.last?.status.activePod).toBe("old");
    expect(rendezvous.connected?.status).toBe("True");
  });

  test("keeps it when it gets the session in such a turn", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    rendezvous.watch(12_000);
    rendezvous.replace("old", oldPod("old"));
    for (let turn = 0; turn < 200 && rendezvous.last?.status.activePod === "old"; turn += 1) rendezvous.after(1000);
    const active = rendezvous.last?.status.activePod ?? "";
    rendezvous.replace(active, newPod(active, { ready: true }));
    expect(rendezvous.watch(600_000)).toEqual([]);
    expect(rendezvous.last?.status.activePod).toBe(active);
  });

  test("that has not failed yet gets it for good when nobody is served by the older one", () => {
    const rendezvous = new Rendezvous();
    rendezvous.replace("old", oldPod("old"));
    expect(rendezvous.after(0)).toBe("new-a");
    expect(rendezvous.watch(600_000)).toEqual([]);
  });

  test("gives it back also where the operator reaches no pod", () => {
    const rendezvous = new Rendezvous();
    rendezvous.probes = rendezvous.pods.map(({ metadata }) => ({ podUid: metadata.uid, healthy: false, failures: 5 }));
    rendezvous.after(0);
    expect(rendezvous.watch(20_000)).toEqual([[11, "old"]]);
  });

  test("is not tried again while the older one serves only by marks on a lost pod", () => {
    const rendezvous = new Rendezvous();
    rendezvous.after(0);
    const [old, a] = rendezvous.pods;
    rendezvous.probes = [
      { podUid: old?.metadata.uid ?? "", healthy: false, failures: 5 },
      { podUid: a?.metadata.uid ?? "", healthy: true, failures: 0 },
    ];
    // Nobody would be served there.
    expect(rendezvous.watch(60_000)).toEqual([]);
  });
});

describe("a standby on a better node", () => {
  const elsewhere = (facts: PodFacts = {}) => oldPod("new-a", { node: "n2", ...facts });
  const crowded = () => {
    const rendezvous = new Rendezvous();
    rendezvous.replicaSets = [older];
    rendezvous.nodes = [makeNode("n1"), makeNode("n2")];
    rendezvous.takenNodes = ["n1"];
    rendezvous.pods = [oldPod("old", { ready: true }), elsewhere()];
    return rendezvous;
  };

  test("gets the rendezvous, and keeps it once it has a session", () => {
    const rendezvous = crowded();
    expect(rendezvous.after(0)).toBe("new-a");
    rendezvous.replace("new-a", elsewhere({ ready: true }));
    rendezvous.after(3000);
    rendezvous.replace("old", oldPod("old"));
    expect(rendezvous.watch(600_000)).toEqual([]);
    expect(rendezvous.last?.requeueAfter).toBeUndefined();
  });

  test("gives it back without one, and Updated has nothing to do with it", () => {
    const rendezvous = crowded();
    rendezvous.after(0);
    expect(rendezvous.watch(60_000)).toEqual([
      [11, "old"],
      [42, "new-a"],
      [53, "old"],
    ]);
    expect(rendezvous.updated?.reason).not.toBe("NoSessionAfterChange");
    rendezvous.takenNodes = [];
    expect(rendezvous.watch(600_000)).toEqual([]);
    expect(rendezvous.last?.requeueAfter).toBeUndefined();
  });
});

test("what else stands in the annotation is no attempt", () => {
  for (const text of [
    undefined,
    "",
    "null",
    "1",
    "x",
    "[]",
    '{"revision":"a"}',
    '{"revision":"a","secret":"7","pod":"b","since":"x","failures":0}',
    '{"revision":"a","pod":"b","since":"2026-01-01T00:00:00Z","failures":0}',
  ]) {
    expect(parseAttempt(text)).toBeUndefined();
  }
  const whole = { revision: "a", secret: "7", pod: "b", since: "2026-01-01T00:00:00Z", failures: 0 };
  expect(parseAttempt(JSON.stringify(whole))).toEqual(whole);
});
