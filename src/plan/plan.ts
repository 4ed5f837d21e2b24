import type { DesiredObject } from "../desired/desired.ts";

export type { DesiredObject };

/** What identifies one object that exists in the cluster; the uid guards against deleting a successor of the same name. */
export interface ObjectRef {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}

/** A Kubernetes Event to record on the reconciled object. */
export interface EventNote {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/**
 * What one reconcile decided. Pure data: `operator/execute` applies, prunes, writes the status once and records the events.
 * `apply` holds every child that must exist, also unchanged ones; execute skips those whose owned fields are already as wanted.
 */
export interface Plan<Status> {
  /**
   * Objects to make when absent and never to change afterwards: a plain create (POST), where 409 AlreadyExists counts as done.
   * Only a Tunnel's Secret is here, so that a stale cache can never overwrite a secret that is in use.
   */
  create: readonly DesiredObject[];
  apply: readonly DesiredObject[];
  /** Parts of children whose other fields stay as they are for now: what is otherwise is put right by a merge patch, and nothing is made. */
  hold?: readonly DesiredObject[];
  /**
   * Children (and lost pods) to delete, guarded by their uid; the planner has checked that they are ours. After a pass with failures
   * the second plan's list counts: it spares what the refused objects were to replace.
   */
  remove: readonly ObjectRef[];
  status: Status;
  events: readonly EventNote[];
  /** Milliseconds until the object should be looked at again without a change; absent: only on changes. */
  requeueAfter?: number;
}
