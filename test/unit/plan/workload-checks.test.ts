import { describe, expect, test } from "bun:test";
import { bad, type Verdict } from "../../../src/plan/conditions.ts";
import type { ApplyFailure, ObservedCondition, ObservedSecret } from "../../../src/plan/observed.ts";
import { deploymentFailing, podsFailing, refused, secretUnusable } from "../../../src/plan/workload-checks.ts";
import { makeDeployment, makePod, makeSecret, type PodFacts } from "../../support/objects.ts";

describe("a refused write", () => {
  const failure = (kind: ApplyFailure["kind"], message: string): ApplyFailure => ({
    kind,
    object: { apiVersion: "v1", kind: "Service", name: "api" },
    message,
  });
  const cases: Record<string, [failures: ApplyFailure[], verdict: Verdict | undefined]> = {
    "none: no objection": [[], undefined],
    "a foreign object": [
      [failure("name-conflict", "it exists already")],
      bad("NameConflict", "Service api: it exists already"),
    ],
    "a taken port": [[failure("port-conflict", "allocated")], bad("PortConflict", "Service api: allocated")],
    "an invalid object": [[failure("invalid", "no such field")], bad("InvalidSpec", "Service api: no such field")],
    "a missing right": [[failure("forbidden", "quota")], bad("Forbidden", "Service api: quota")],
    "several: the gravest": [
      [failure("forbidden", "quota"), failure("name-conflict", "it exists already"), failure("invalid", "x")],
      bad("NameConflict", "Service api: it exists already"),
    ],
  };
  for (const [title, [failures, verdict]] of Object.entries(cases)) {
    test(title, () => {
      expect(refused(failures)).toEqual(verdict);
    });
  }
});

describe("the shared secret", () => {
  const empty = bad("SecretInvalid", "Secret shared, key secret: it is empty");
  const noKey = bad("SecretInvalid", "Secret shared has no key secret");
  const cases: Record<string, [secret: ObservedSecret | undefined, verdict: Verdict | undefined]> = {
    "with a value: no objection": [makeSecret(), undefined],
    absent: [undefined, bad("SecretMissing", "Secret shared does not exist; create it with the key secret")],
    "with another key only": [makeSecret({ password: "cGFzcw==" }), noKey],
    "without any data": [{ ...makeSecret(), data: {} }, noKey],
    "with an empty value": [makeSecret({ secret: "" }), empty],
    "with a line break only": [makeSecret({ secret: btoa("\n") }), empty],
    "with a line break of another system only": [makeSecret({ secret: btoa("\r\n") }), empty],
    "with bytes that are no text": [
      makeSecret({ secret: btoa("\xff\xfe") }),
      bad("SecretInvalid", "Secret shared, key secret: it is not UTF-8 text"),
    ],
    "with a value that is too long": [
      makeSecret({ secret: btoa("x".repeat(65537)) }),
      bad("SecretInvalid", "Secret shared, key secret: it is larger than 65536 bytes"),
    ],
    "with a previous value that is no text": [
      makeSecret({ secret: btoa("s3cret"), "previous-secret": btoa("\xff\xfe") }),
      bad("SecretInvalid", "Secret shared, key previous-secret: it is not UTF-8 text"),
    ],
    "with a previous value that is too long": [
      makeSecret({ secret: btoa("s3cret"), "previous-secret": btoa("x".repeat(65537)) }),
      bad("SecretInvalid", "Secret shared, key previous-secret: it is larger than 65536 bytes"),
    ],
    "with an empty previous value: none": [makeSecret({ secret: btoa("s3cret"), "previous-secret": "" }), undefined],
    "with a previous line break only: none": [
      makeSecret({ secret: btoa("s3cret"), "previous-secret": btoa("\n") }),
      undefined,
    ],
    "with a value that looks odd: the agents warn of it": [makeSecret({ secret: btoa(" blank ") }), undefined],
  };
  for (const [title, [secret, verdict]] of Object.entries(cases)) {
    test(title, () => {
      expect(secretUnusable("shared", secret)).toEqual(verdict);
    });
  }
});

describe("a Deployment", () => {
  const cases: Record<string, [conditions: ObservedCondition[], verdict: Verdict | undefined]> = {
    "that goes on: no objection": [[{ type: "Progressing", status: "True", reason: "ReplicaSetUpdated" }], undefined],
    "that cannot make pods": [
      [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: small" }],
      bad("PodsFailing", "pods cannot be made: exceeded quota: small"),
    ],
    "that took too long": [
      [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "timed out progressing" }],
      bad("ProgressDeadline", "timed out progressing"),
    ],
  };
  for (const [title, [conditions, verdict]] of Object.entries(cases)) {
    test(title, () => {
      expect(deploymentFailing(makeDeployment("edge-proxy", { status: { conditions } }))).toEqual(verdict);
    });
  }
  test("that does not exist: no objection", () => {
    expect(deploymentFailing(undefined)).toBeUndefined();
  });
});

describe("a pod", () => {
  const waiting = (reason: string, message?: string): PodFacts => ({
    state: { waiting: { reason, ...(message !== undefined && { message }) } },
    phase: "Pending",
  });
  const ended = { exitCode: 2, reason: "Error", message: "reading settings\nsetting endpoint is missing\n" };
  const pullMessage = 'failed to pull and unpack image "x:1": not found';

  const cases: Record<string, [facts: PodFacts, trouble: string | undefined]> = {
    "that runs: no objection": [{}, undefined],
    "that is being made: no objection": [waiting("ContainerCreating"), undefined],
    "that nothing is known of yet: no objection": [{ state: {}, phase: "Pending" }, undefined],
    "that is being deleted: no objection": [{ ...waiting("CreateContainerError", "x"), deleting: true }, undefined],
    "without a node": [
      {
        ...waiting("ContainerCreating"),
        scheduled: { status: "False", reason: "Unschedulable", message: "0/3 nodes are available" },
      },
      "not scheduled: 0/3 nodes are available",
    ],
    "whose image cannot be pulled": [waiting("ErrImagePull", pullMessage), `ImagePullBackOff: ${pullMessage}`],
    "whose image cannot be pulled, between two attempts": [
      waiting("ImagePullBackOff", `Back-off pulling image "x:1": ErrImagePull: ${pullMessage}`),
      `ImagePullBackOff: ${pullMessage}`,
    ],
    "with a configuration that does not fit": [
      waiting("CreateContainerConfigError", 'secret "shared" not found'),
      'CreateContainerConfigError: secret "shared" not found',
    ],
    "whose agent ended just now, with its last words": [
      { state: { terminated: ended } },
      "the agent ended with exit code 2 (Error): setting endpoint is missing",
    ],
    "whose agent keeps ending, with its last words": [
      { ...waiting("CrashLoopBackOff", "back-off 20s restarting failed container"), lastState: { terminated: ended } },
      "CrashLoopBackOff: the agent ended with exit code 2 (Error): setting endpoint is missing",
    ],
    "whose agent was killed without a word": [
      { state: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
      "the agent ended with exit code 137 (OOMKilled)",
    ],
  };
  for (const [title, [facts, trouble]] of Object.entries(cases)) {
    test(title, () => {
      expect(podsFailing([makePod("edge-1", facts)])).toEqual(
        trouble === undefined ? undefined : bad("PodsFailing", `pod edge-1: ${trouble}`),
      );
    });
  }
});
