/** A program of the node that failed, died or took too long. */
export class NodeProgramError extends Error {
  override readonly name = "NodeProgramError";
}
