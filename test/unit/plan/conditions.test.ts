import { describe, expect, test } from "bun:test";
import type { Condition } from "../../../src/api/conditions.ts";
import { bad, firstObjection, good, nextConditions, transitionEvents } from "../../../src/plan/conditions.ts";
import { earlier, now } from "../../support/objects.ts";

const at = { now, generation: 4 };
const ready: Condition = {
  type: "Ready",
  status: "True",
  reason: "Available",
  message: "targets can connect",
  lastTransitionTime: earlier,
  observedGeneration: 3,
};
const notReady: Condition = { ...ready, status: "False", reason: "PodsStarting", message: "no proxy pod runs yet" };

describe("a condition", () => {
  test("that is new gets the time of the pass", () => {
    expect(nextConditions(undefined, [["Ready", good("Available", "yes")]], at)).toEqual([
      { ...ready, message: "yes", lastTransitionTime: now, observedGeneration: 4 },
    ]);
  });

  test("that keeps its status keeps its time, whatever else changes", () => {
    expect(nextConditions([notReady], [["Ready", bad("EndpointPending", "no address")]], at)).toEqual([
      { ...notReady, reason: "EndpointPending", message: "no address", observedGeneration: 4 },
    ]);
  });

  test("that turns gets the time of the pass", () => {
    expect(nextConditions([ready], [["Ready", bad("PodsStarting", "no")]], at)).toEqual([
      { ...notReady, message: "no", lastTransitionTime: now, observedGeneration: 4 },
    ]);
  });

  test("has a message of bounded length", () => {
    const [condition] = nextConditions([], [["Ready", bad("InvalidSpec", "x".repeat(5000))]], at);
    expect(condition?.message).toBe(`${"x".repeat(1021)}...`);
  });
});

test("the first objection counts, and without one all is well", () => {
  const [secret, endpoint] = [bad("SecretMissing", "a"), bad("EndpointPending", "b")];
  const well = good("Available", "c");
  expect(firstObjection([undefined, secret, endpoint], well)).toBe(secret);
  expect(firstObjection([undefined, undefined], well)).toBe(well);
});

describe("events", () => {
  const cases: Record<
    string,
    [previous: Condition[] | undefined, next: Condition[], events: ReturnType<typeof transitionEvents>]
  > = {
    "none while nothing changes": [[ready], [ready], []],
    "none for an object that is only starting": [undefined, [notReady], []],
    "a normal one when it becomes ready": [
      [notReady],
      [ready],
      [{ type: "Normal", reason: "Available", message: "targets can connect" }],
    ],
    "a warning when it stops being ready": [
      [ready],
      [notReady],
      [{ type: "Warning", reason: "PodsStarting", message: "no proxy pod runs yet" }],
    ],
    "a normal one when it was scaled to zero on purpose": [
      [ready],
      [{ ...notReady, reason: "ScaledToZero", message: "spec.replicas is 0" }],
      [{ type: "Normal", reason: "ScaledToZero", message: "spec.replicas is 0" }],
    ],
    "a warning for a problem of a new object": [
      undefined,
      [{ ...notReady, reason: "SecretMissing", message: "create it" }],
      [{ type: "Warning", reason: "SecretMissing", message: "create it" }],
    ],
    "a warning when another problem takes the place of the first": [
      [{ ...notReady, reason: "SecretMissing" }],
      [{ ...notReady, reason: "PortConflict", message: "taken" }],
      [{ type: "Warning", reason: "PortConflict", message: "taken" }],
    ],
    "none when only the message of a problem changes": [
      [{ ...notReady, reason: "PodsFailing", message: "a" }],
      [{ ...notReady, reason: "PodsFailing", message: "b" }],
      [],
    ],
    "one for a session that was lost": [
      [{ ...ready, type: "Connected", reason: "SessionUp" }],
      [{ ...notReady, type: "Connected", reason: "WaitingForTarget", message: "no target" }],
      [{ type: "Warning", reason: "WaitingForTarget", message: "no target" }],
    ],
    "none for rollouts, which Kubernetes reports itself": [
      [{ ...ready, type: "Updated", reason: "UpToDate" }],
      [{ ...notReady, type: "Updated", reason: "RollingOut" }],
      [],
    ],
  };
  for (const [title, [previous, next, events]] of Object.entries(cases)) {
    test(title, () => {
      expect(transitionEvents(previous, next)).toEqual(events);
    });
  }
});
