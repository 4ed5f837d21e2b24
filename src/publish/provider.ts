import type { KubeNode, Pending } from "./kube-node.ts";

/** A mesh that can be told which pods are behind which of its members. */
export interface Provider {
  /** Reads everything and decides; writes nothing. Throws MeshError, StoppedError or the errors of `Kube`. */
  look(view: View): Promise<Picture>;
}

export interface View {
  /** All Nodes. */
  nodes: readonly KubeNode[];
  signal: AbortSignal;
}

/** Something that a person should know, as the reason and the text of an Event. */
export interface Note {
  reason: string;
  message: string;
}

/** What one look has found, and what follows from it. */
export interface Picture {
  /** What is to be written, a line for each; empty at rest. */
  changes: readonly string[];
  pending: readonly Pending[];
  notes: readonly Note[];
  /** Rules (or entries) by state, for the metric. */
  states: Readonly<Record<RuleState, number>>;
  /** Members of the mesh that are reached at an address inside a pod CIDR. */
  leaked: number;
  /** Makes the changes and goes on after one that fails. Throws StoppedError when the signal fires. */
  apply(signal: AbortSignal): Promise<Applied>;
}

export interface Applied {
  created: number;
  updated: number;
  deleted: number;
  failures: readonly Error[];
}

export const ruleStates = ["current", "held", "refused", "foreign"] as const;
export type RuleState = (typeof ruleStates)[number];

/** The mesh did not do what it was asked for; trying again may help. */
export class MeshError extends Error {
  override readonly name: string = "MeshError";

  /** `code`: of HTTP, 0 when there was no answer. */
  constructor(
    message: string,
    readonly code: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whoever we are, the mesh will not have us: only a person can mend that. */
export class LoginError extends MeshError {
  override readonly name = "LoginError";
}

/** What is to be published would be no good; what was published before stays. */
export class InvalidError extends MeshError {
  override readonly name = "InvalidError";
}
