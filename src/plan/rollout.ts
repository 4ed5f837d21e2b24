import { bad, good, type Verdict } from "./conditions.ts";
import type { ObservedDeployment } from "./observed.ts";

/** Pods of one Deployment, counted. */
export interface PodCounts {
  wanted: number;
  /** Pods of the newest revision that do what they should. */
  newest: number;
  /** Pods of any revision that are not being deleted. */
  all: number;
}

/** Whether Kubernetes has looked at its present spec: before that its newest pods may be those of an earlier one. */
export function isObserved(deployment: ObservedDeployment | undefined): deployment is ObservedDeployment {
  return (
    deployment !== undefined && (deployment.status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/**
 * Whether the pods are what the spec asks for. This stands in for `kubectl rollout status`, which never ends for standbys that
 * are unready by design. `deployment` is undefined unless it was made from exactly the present wish; `trouble` is what keeps its
 * newest pods from running, if anything.
 */
export function rolledOut(
  deployment: ObservedDeployment | undefined,
  { wanted, newest, all }: PodCounts,
  trouble: Verdict | undefined,
): Verdict {
  if (!isObserved(deployment)) return bad("RollingOut", "the change is being made");
  if (newest === wanted && all === wanted) return good("UpToDate", `${wanted} of ${wanted} pods are up to date`);
  return trouble ?? bad("RollingOut", `${newest} of ${wanted} pods are up to date, ${all} exist`);
}
