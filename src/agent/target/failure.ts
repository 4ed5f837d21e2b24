import { DialError } from "../net/dial-error.ts";
import { ForeignServer, RefusedByProxy } from "./attach.ts";
import { EncryptionFailed } from "./steps.ts";

/** An attempt to open a session that has failed: the log's message, and the word for metrics. */
export function failureOf(cause: Error): { message: string; reason: string } {
  if (cause instanceof RefusedByProxy) return { message: "the proxy refused the session", reason: "rejected" };
  if (cause instanceof ForeignServer) return { message: "no session", reason: "handshake" };
  if (cause instanceof EncryptionFailed) return { message: "no session", reason: "encryption" };
  const reason = cause instanceof DialError ? cause.result : "handshake";
  return { message: "the proxy cannot be reached", reason };
}
