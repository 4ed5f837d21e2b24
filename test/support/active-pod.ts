/** The table of cases about the active pod of a Proxy, as its tests write it. */
import { expect, test } from "bun:test";
import { type ActivePodInput, chooseActivePod, type Departure } from "../../src/plan/active-pod.ts";
import type { ObservedPod, ProbeResult } from "../../src/plan/observed.ts";
import { makeDeployment, makeNode, makePod, makeReplicaSet, now, type PodFacts } from "./objects.ts";

const deployment = makeDeployment("edge-proxy");
const [oldRevision, newRevision] = [makeReplicaSet(deployment, 1), makeReplicaSet(deployment, 2)];

export const pod = (name: string, facts: PodFacts = {}) => makePod(name, facts, oldRevision);
export const newPod = (name: string, facts: PodFacts = {}) => makePod(name, facts, newRevision);
export const stopped = { waiting: { reason: "CrashLoopBackOff" } };

export const answers = ({ metadata: { uid } }: ObservedPod): ProbeResult => ({
  podUid: uid,
  healthy: true,
  failures: 0,
});
export const isSilent = ({ metadata: { uid } }: ObservedPod, failures = 3): ProbeResult => ({
  podUid: uid,
  healthy: false,
  failures,
});

export interface Case {
  pods: ObservedPod[];
  /** Name of the pod in the slice; its container id unless `<name>-1`. */
  current?: string;
  container?: string;
  newest?: "r1" | "r2";
  /** Default: `n1`, ready. */
  nodes?: ActivePodInput["nodes"];
  probes?: ProbeResult[];
  taken?: string[];
  active: string | undefined;
  because?: Departure;
  deleted?: string[];
}

export const ready = { ready: true };

export function testCases(cases: Record<string, Case>): void {
  for (const [title, given] of Object.entries(cases)) {
    test(title, () => {
      const { pods, current, container, newest, probes = [], because, deleted = [] } = given;
      const { active, departure, silent } = chooseActivePod({
        pods,
        newestRevision: newest,
        nodes: "nodes" in given ? given.nodes : [makeNode("n1")],
        probes,
        takenNodes: given.taken ?? [],
        attempt: undefined,
        secretVersion: "",
        now,
        current:
          current === undefined
            ? undefined
            : { uid: `uid-of-${current}`, containerId: container === "" ? undefined : (container ?? `${current}-1`) },
      });
      const names = silent.map(({ metadata }) => metadata.name);
      expect({ active: active?.metadata.name, because: departure, deleted: names }).toEqual({
        active: given.active,
        because,
        deleted,
      });
    });
  }
}
