/** Input of `planTarget` for a Target at rest. */
import { withHash } from "../../src/desired/applied.ts";
import { targetDeployment } from "../../src/desired/target-deployment.ts";
import type { ObservedDeployment, TargetInput } from "../../src/plan/observed.ts";
import {
  makeDeployment,
  makeNode,
  makePod,
  makeReplicaSet,
  makeSecret,
  makeTarget,
  now,
  type PodFacts,
  settings,
} from "./objects.ts";

export const target = makeTarget();
export const deploymentOf = (status?: ObservedDeployment["status"]) =>
  makeDeployment("inner-target", {
    owner: target,
    annotations: withHash(targetDeployment(target, settings.agent)).metadata.annotations ?? {},
    ...(status && { status }),
  });
export const deployment = deploymentOf();
export const [first, second] = [makeReplicaSet(deployment, 1), makeReplicaSet(deployment, 2)];
export const pod = (facts: PodFacts = {}) => makePod("inner-a", facts, first);
/** At rest: one pod whose session is up. */
export const makeTargetInput = (change: Partial<TargetInput> = {}): TargetInput => ({
  target,
  settings,
  now,
  failures: [],
  secret: makeSecret(),
  deployments: [deployment],
  replicaSets: [first],
  pods: [pod({ ready: true })],
  nodes: [makeNode("n1")],
  ...change,
});
