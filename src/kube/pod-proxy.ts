import type { Credentials } from "./credentials.ts";
import { ApiError, apiError, type StatusBody, UnreachableError } from "./errors.ts";
import { resourcePath, resources } from "./resources.ts";

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

/** No answer within the time of the request: of the API server, or of the pod behind it. */
export class PodTimeoutError extends Error {
  override readonly name = "PodTimeoutError";
}

const maxBody = 1024 * 1024;
/** How the API server begins the message of its own failure to reach the pod (apimachinery, `proxy` subresources). */
const ownFailure = "error trying to reach service: ";

/** Throws PodSilentError, PodTimeoutError, ApiError (no such pod, not allowed) or UnreachableError (no API server). */
export async function askPod(credentials: Credentials, request: PodRequest): Promise<PodAnswer> {
  const { namespace, pod, port, path, timeout } = request;
  const place = { namespace, name: `${pod}:${port}`, subresource: `proxy${path}` };
  const call = `get pods/proxy ${namespace}/${pod}:${port}${path}`;
  const signal = AbortSignal.timeout(timeout);
  const authorization = credentials.authorization();
  let response: Response;
  let body: string;
  try {
    response = await fetch(credentials.server + resourcePath(resources.pod, place), {
      headers: authorization === undefined ? {} : { authorization },
      tls: credentials.tls(),
      redirect: "manual",
      signal,
    });
    body = await readBounded(response);
  } catch (cause) {
    if (signal.aborted) throw new PodTimeoutError(`${call}: no answer within ${timeout} ms`, { cause });
    throw new UnreachableError(`${call}: no answer from the API server`, { cause });
  }
  const status = statusOf(body);
  if (status === undefined) return { status: response.status, body };
  const { message = "" } = status;
  if (message.startsWith(ownFailure)) throw new PodSilentError(message.slice(ownFailure.length));
  throw apiError(response.status, status, call);
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= maxBody) break;
  }
  return text;
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

/** Whether the failure says that the caller may not do this, or is nobody. */
export function isDenied(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 401 || error.code === 403);
}
