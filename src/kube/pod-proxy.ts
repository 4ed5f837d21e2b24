import { apiError, type StatusBody } from "./errors.ts";
import type { Kube } from "./kube.ts";
import { builtIn } from "./resources.ts";

/** One HTTP request to a port of a pod, sent by the API server: it reaches pods that this machine does not. Needs the right to get `pods/proxy`. */
export interface PodRequest {
  namespace: string;
  pod: string;
  port: number;
  /** Begins with a slash. */
  path: string;
  /** Milliseconds for the whole answer. */
  timeout: number;
}

/** What the pod itself answered. */
export interface PodAnswer {
  status: number;
  /** At most 1 MiB of it. */
  body: string;
}

/** The API server could not get an answer from the pod; the message is its own, and mostly that of Go's network library. */
export class PodSilentError extends Error {
  override readonly name = "PodSilentError";
}

const maxBytes = 1024 * 1024;
/** How the API server begins the message of its own failure to reach the pod (apimachinery, `proxy` subresources). */
const ownFailure = "error trying to reach service: ";

/** Throws PodSilentError, TimedOutError, ApiError (no such pod, not allowed) or UnreachableError (no API server). */
export async function askPod(kube: Kube, { namespace, pod, port, path, timeout }: PodRequest): Promise<PodAnswer> {
  const name = `${pod}:${port}`;
  const response = await kube.exchange({
    verb: "get",
    resource: builtIn.pod,
    namespace,
    name,
    subresource: "proxy",
    path,
    accept: "*/*",
    timeout,
    maxBytes,
  });
  const body = await response.text();
  const status = statusOf(body);
  if (status === undefined) return { status: response.status, body };
  const { message = "" } = status;
  if (message.startsWith(ownFailure)) throw new PodSilentError(message.slice(ownFailure.length));
  throw apiError(response.status, status, `get pods/proxy ${namespace}/${name}${path}`);
}

/** The answer as a `Status` of the API server; undefined when it is the pod's. */
function statusOf(body: string): StatusBody | undefined {
  if (!body.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(body) as { kind?: unknown; apiVersion?: unknown } & StatusBody;
    return value.kind === "Status" && value.apiVersion === "v1" ? value : undefined;
  } catch {
    return undefined;
  }
}
