import { describe, expect, test } from "bun:test";
import { withHash } from "../../../src/desired/applied.ts";
import { targetDeployment } from "../../../src/desired/target-deployment.ts";
import type { TargetInput } from "../../../src/plan/observed.ts";
import { planTarget } from "../../../src/plan/target.ts";
import { makeDeployment, makeNode, makePod, makeTarget, now, settings } from "../../support/objects.ts";
import { deploymentOf, first, makeTargetInput, pod, second, target } from "../../support/target-input.ts";

const expired = {
  conditions: [
    { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "has timed out progressing" },
  ],
};

function verdict(input: TargetInput, type: string) {
  const found = planTarget(input).status.conditions.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

test("a Target at rest has one Deployment and a session", () => {
  const plan = planTarget(makeTargetInput());
  expect(plan).toEqual({
    create: [],
    apply: [targetDeployment(target, settings.agent)],
    hold: [],
    remove: [],
    status: {
      observedGeneration: 3,
      conditions: [
        {
          ...{ type: "Ready", status: "True", reason: "SessionUp" },
          message: "the session with proxy.example.net:7835 is up",
          lastTransitionTime: now,
          observedGeneration: 3,
        },
        {
          ...{ type: "Updated", status: "True", reason: "UpToDate", message: "1 of 1 pods are up to date" },
          lastTransitionTime: now,
          observedGeneration: 3,
        },
      ],
      replicas: 1,
      readyReplicas: 1,
      updatedReplicas: 1,
      selector: "app.kubernetes.io/component=target,netaminity.exeteres.net/target=inner",
    },
    events: [{ type: "Normal", reason: "SessionUp", message: "the session with proxy.example.net:7835 is up" }],
  });
});

describe("a Target is not Ready", () => {
  const cases: Record<string, [change: Partial<TargetInput>, reason: string, message: string]> = {
    "without its Secret": [
      { secret: undefined },
      "SecretMissing",
      "Secret shared does not exist; create it with the key secret",
    ],
    "while its pod is only starting": [
      { pods: [pod({ state: { waiting: {} }, phase: "Pending" })] },
      "PodsStarting",
      "the target pod does not run yet",
    ],
    "before anything exists": [
      { deployments: [], replicaSets: [], pods: [] },
      "PodsStarting",
      "the target pod does not run yet",
    ],
    "while its pod dials": [
      { pods: [pod()] },
      "Connecting",
      "the target pod runs but has no session with proxy.example.net:7835; its log names the cause",
    ],
    "when its pod has dialled in vain for long": [
      { pods: [pod()], deployments: [deploymentOf(expired)] },
      "Connecting",
      "the target pod runs but has no session with proxy.example.net:7835; its log names the cause",
    ],
    "when its only pod is on a node that is not heard of": [
      { pods: [pod()], nodes: [makeNode("n1", "Unknown")] },
      "NodeNotReady",
      "target pod inner-a is on node n1, which is not ready, and no other pod runs",
    ],
    "when such a pod still counts as ready": [
      { pods: [pod({ ready: true })], nodes: [makeNode("n1", "Unknown")] },
      "NodeNotReady",
      "target pod inner-a is on node n1, which is not ready, and no other pod runs",
    ],
    "while another pod than that on the lost node dials": [
      { pods: [pod(), makePod("inner-b", { node: "n2" }, first)], nodes: [makeNode("n1", "Unknown"), makeNode("n2")] },
      "Connecting",
      "the target pod runs but has no session with proxy.example.net:7835; its log names the cause",
    ],
    "with no replicas": [{ target: makeTarget({ replicas: 0 }), pods: [] }, "ScaledToZero", "spec.replicas is 0"],
    "when its pod crashes": [
      { pods: [pod({ state: { terminated: { exitCode: 2, message: "bad setting" } } })] },
      "PodsFailing",
      "pod inner-a: the agent ended with exit code 2: bad setting",
    ],
    "when the Deployment gives up without a word from a pod": [
      { pods: [pod({ state: { waiting: {} }, phase: "Pending" })], deployments: [deploymentOf(expired)] },
      "ProgressDeadline",
      "has timed out progressing",
    ],
    "when the API server refuses its Deployment": [
      {
        failures: [
          {
            kind: "invalid",
            object: { apiVersion: "apps/v1", kind: "Deployment", name: "inner-target" },
            message: "spec.template.spec.tolerations[0].operator: Invalid value",
          },
        ],
      },
      "InvalidSpec",
      "Deployment inner-target: spec.template.spec.tolerations[0].operator: Invalid value",
    ],
  };
  for (const [title, [change, reason, message]] of Object.entries(cases)) {
    test(title, () => {
      expect(verdict(makeTargetInput(change), "Ready")).toEqual(["False", reason, message]);
    });
  }
});

test("a Target of two pods is Ready with one session, and up to date with both", () => {
  const two = makeTarget({ replicas: 2 });
  const wanted = withHash(targetDeployment(two, settings.agent));
  expect(targetDeployment(two, settings.agent).spec?.replicas).toBe(2);
  const deployments = [makeDeployment("inner-target", { owner: two, annotations: wanted.metadata.annotations ?? {} })];
  const pods = [pod({ ready: true }), makePod("inner-b", {}, first)];
  const input = makeTargetInput({ target: two, deployments, pods });
  expect(verdict(input, "Ready")[1]).toBe("SessionUp");
  expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "1 of 2 pods are up to date, 2 exist"]);
  const both = makeTargetInput({
    target: two,
    deployments,
    pods: [pod({ ready: true }), makePod("inner-b", { ready: true }, first)],
  });
  expect(verdict(both, "Updated")[1]).toBe("UpToDate");
});

test("a Target stays Ready on its old pod while the new one fails, and Updated says how", () => {
  const broken = makePod("inner-b", { state: { waiting: { reason: "InvalidImageName", message: "bad" } } }, second);
  const input = makeTargetInput({ pods: [pod({ ready: true }), broken], replicaSets: [first, second] });
  expect(verdict(input, "Ready")[0]).toBe("True");
  expect(verdict(input, "Updated")).toEqual(["False", "PodsFailing", "pod inner-b: InvalidImageName: bad"]);
});

test("of two pods the one on a lost node has no session any more, whatever it said last", () => {
  const pods = [pod({ ready: true }), makePod("inner-b", { ready: true, node: "n2" }, first)];
  const two = makeTarget({ replicas: 2 });
  const annotations = withHash(targetDeployment(two, settings.agent)).metadata.annotations ?? {};
  const deployments = [makeDeployment("inner-target", { owner: two, annotations })];
  const input = makeTargetInput({ target: two, deployments, pods, nodes: [makeNode("n1"), makeNode("n2", "Unknown")] });
  expect(verdict(input, "Ready")).toEqual([
    ...["True", "SessionUp", "1 of 2 sessions with proxy.example.net:7835 are up"],
  ]);
  expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "1 of 2 pods are up to date, 2 exist"]);
  expect(planTarget(input).status).toMatchObject({ replicas: 2, readyReplicas: 1, updatedReplicas: 2 });
});

test("a pod that is being deleted counts for nothing", () => {
  const plan = planTarget(makeTargetInput({ pods: [pod({ ready: true, deleting: true })] }));
  expect(plan.status).toMatchObject({ replicas: 0, readyReplicas: 0, updatedReplicas: 0 });
  expect(plan.status.conditions[0]).toMatchObject({ status: "False", reason: "PodsStarting" });
});

test("the status names the fingerprint of the secret; while a new one is worked out, the former, and it is asked for again", () => {
  const told = (before: string | undefined, found: string | undefined) => {
    const status = {
      ...planTarget(makeTargetInput()).status,
      ...(before !== undefined && { secretFingerprint: before }),
    };
    const change = found === undefined ? {} : { secretFingerprint: found };
    const plan = planTarget(makeTargetInput({ target: { ...target, status }, ...change }));
    return [plan.status.secretFingerprint, plan.requeueAfter];
  };
  expect(told(undefined, "0a1b")).toEqual(["0a1b", undefined]);
  expect(told("0a1b", "later")).toEqual(["0a1b", 10_000]);
  expect(told("0a1b", "ffff")).toEqual(["ffff", undefined]);
  // No secret, no fingerprint.
  expect(told("0a1b", undefined)).toEqual([undefined, undefined]);
});
