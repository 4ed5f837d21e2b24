import type { KubernetesObject } from "@kubernetes/client-node";
import { errorCode } from "../errors.ts";
import type { Credentials } from "./credentials.ts";
import {
  ApiError,
  apiError,
  CredentialsError,
  certificateFault,
  type StatusBody,
  StoppedError,
  TimedOutError,
  UnreachableError,
} from "./errors.ts";
import { fetchThrough, proxyFor } from "./http-proxy.ts";
import type { KubeMetrics } from "./metrics.ts";
import { type Resource, resourcePath } from "./resources.ts";

/** An object as the API server sends it, in its JSON form (times are strings). */
export type KubeObject = KubernetesObject & { metadata: { name: string; uid: string; resourceVersion: string } };

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

export interface Call {
  verb: Verb;
  resource: Resource;
  namespace?: string;
  name?: string;
  subresource?: string;
  /** Behind the subresource `proxy`: where on the other side. What answers there is not the API server, so a redirect is an answer too. */
  path?: string;
  query?: Record<string, string>;
  body?: unknown;
  contentType?: string;
  accept?: string;
  /** Ends the call early; the promise then rejects with StoppedError. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until the call is given up; default 15 s. */
  timeout?: number;
  /** Bytes of the answer that are read; the rest is left. Default: all. */
  maxBytes?: number;
}

export interface KubeOptions {
  credentials: Credentials;
  metrics?: Pick<KubeMetrics, "apiRequests">;
  userAgent: string;
  /** Who owns the fields that are written. */
  fieldManager: string;
}

/**
 * The API server over Bun's own fetch: plain JSON in and out. The library's generated clients are not used, since they need an undici that Bun
 * replaces by a stub, turn every timestamp into a Date and cost 35 MiB; its types are.
 * All methods throw ApiError (and its subclasses), UnreachableError (TimedOutError too) or StoppedError.
 */
export interface Kube {
  request<T>(call: Call): Promise<T>;
  /** A response whose body is read as it comes; only the wait for its head has a deadline. */
  open(call: Call): Promise<ReadableStream<Uint8Array>>;
  /** One try, and the answer whatever its code is. */
  exchange(call: Call): Promise<Response>;
  get<T extends KubeObject>(resource: Resource, namespace: string, name: string, signal?: AbortSignal): Promise<T>;
  create<T extends KubeObject>(resource: Resource, object: KubernetesObject, signal?: AbortSignal): Promise<T>;
  /** Server-side apply: takes over the fields in `object` and drops those that we owned before and that are absent now. */
  apply<T extends KubeObject>(resource: Resource, object: KubernetesObject, signal?: AbortSignal): Promise<T>;
  /** JSON merge patch (RFC 7396): null removes a field, lists are replaced as a whole. */
  mergePatch<T extends KubeObject>(
    call: Pick<Call, "resource" | "namespace" | "name" | "subresource" | "body" | "signal">,
  ): Promise<T>;
  /** Deletes the object only if it is still the one with this uid. */
  remove(
    resource: Resource,
    object: { namespace: string; name: string; uid: string },
    signal?: AbortSignal,
  ): Promise<void>;
}

const defaultTimeout = 15_000;
/** Tries of one call that the server puts off with 429 or 503 and a Retry-After. */
const maxTries = 4;
/** Longest pause that a Retry-After can ask for here; a longer one is left to the queue's backoff. */
const maxRetryAfter = 10_000;

export function createKube(options: KubeOptions): Kube {
  const { fieldManager } = options;
  const request = async <T>(call: Call): Promise<T> => {
    const response = await send(options, call);
    try {
      return (await response.json()) as T;
    } catch (cause) {
      throw brokenOff(call, cause, options.credentials.server);
    }
  };
  return {
    request,
    async open(call) {
      const response = await send(options, call);
      if (response.body === null) {
        throw new UnreachableError(`${describe(call)}: empty answer`);
      }
      return response.body;
    },
    exchange: (call) => sendOnce(options, call),
    get: (resource, namespace, name, signal) => request({ verb: "get", resource, namespace, name, signal }),
    create: (resource, object, signal) => {
      const { namespace } = placeOf(object);
      return request({ verb: "create", resource, ...namespace, body: object, query: { fieldManager }, signal });
    },
    apply: (resource, object, signal) => {
      const { namespace, name } = placeOf(object);
      return request({
        verb: "patch",
        resource,
        ...namespace,
        ...name,
        query: { fieldManager, force: "true" },
        contentType: "application/apply-patch+yaml",
        body: object,
        signal,
      });
    },
    mergePatch: (call) =>
      request({ ...call, verb: "patch", query: { fieldManager }, contentType: "application/merge-patch+json" }),
    async remove(resource, { uid, namespace, name }, signal) {
      const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background", preconditions: { uid } };
      await request({ verb: "delete", resource, namespace, name, body, signal });
    },
  };
}

/** Each part absent where the object does not say it. */
function placeOf({ metadata: { namespace, name } = {} }: KubernetesObject) {
  return {
    namespace: namespace === undefined ? {} : { namespace },
    name: name === undefined ? {} : { name },
  };
}

function describe(call: Call): string {
  const place = [call.namespace, call.name].filter((part) => part !== undefined).join("/");
  return `${call.verb} ${resourceName(call)}${place === "" ? "" : ` ${place}`}${call.path ?? ""}`;
}

/** As in RBAC rules: `pods/log` for a subresource. */
function resourceName(call: Call): string {
  return call.subresource === undefined ? call.resource.plural : `${call.resource.plural}/${call.subresource}`;
}

/** One call with its retries: once more at once after a 401 with fresh credentials, and after each Retry-After that is short enough. */
async function send(options: KubeOptions, call: Call): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await sendOnce(options, call);
    if (response.ok) {
      return response;
    }
    const body = await readStatus(response);
    if (attempt >= maxTries) {
      throw apiError(response.status, body, describe(call));
    }
    if (response.status === 401 && attempt === 1) {
      options.credentials.expire();
      continue;
    }
    const pause = Number(response.headers.get("retry-after")) * 1000;
    if ((response.status !== 429 && response.status !== 503) || !(pause > 0 && pause <= maxRetryAfter)) {
      throw apiError(response.status, body, describe(call));
    }
    await abortableSleep(pause * (1 + Math.random() / 4), call);
  }
}

async function sendOnce({ credentials, metrics, userAgent }: KubeOptions, call: Call): Promise<Response> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  const timeout = call.timeout ?? defaultTimeout;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    stop();
  }, timeout);
  // Not AbortSignal.any: signals that are joined to one that lives as long as the process are not collected.
  call.signal?.addEventListener("abort", stop, { once: true });
  let streams = false;
  let code = 0;
  try {
    call.signal?.throwIfAborted();
    const proxy = credentials.proxy ?? proxyFor(new URL(credentials.server));
    const response = await fetchThrough(proxy, url(credentials.server, call), {
      method: methods[call.verb],
      headers: { ...headersOf(call, credentials.authorization(), userAgent), ...credentials.headers },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      signal: abort.signal,
      tls: credentials.tls(),
      redirect: call.path === undefined ? "error" : "manual",
      // The deadline above counts; Bun's own idle limit of five minutes would end quiet watches.
      timeout: false,
      // A watch that is to replace a silent one must not get another connection that has been dead for as long.
      ...(call.verb === "watch" ? { keepalive: false } : {}),
    });
    code = response.status;
    streams = call.verb === "watch" && response.ok;
    return streams ? response : new Response(await readBody(response, call.maxBytes), response);
  } catch (cause) {
    if (late && call.signal?.aborted !== true) {
      throw new TimedOutError(`${describe(call)}: no answer within ${timeout} ms`, { cause });
    }
    throw brokenOff(call, cause, credentials.server);
  } finally {
    clearTimeout(timer);
    if (!streams) {
      call.signal?.removeEventListener("abort", stop);
    }
    metrics?.apiRequests.inc({ verb: call.verb, resource: resourceName(call), code: String(code) });
  }
}

const methods: Record<Verb, string> = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
};

function url(server: string, call: Call): string {
  const path = resourcePath(call.resource, call) + (call.path ?? "");
  const query = call.query === undefined ? "" : `?${new URLSearchParams(call.query)}`;
  return server + path + query;
}

function headersOf(call: Call, authorization: string | undefined, userAgent: string): Record<string, string> {
  return {
    accept: call.accept ?? "application/json",
    "user-agent": userAgent,
    ...(call.body === undefined ? {} : { "content-type": call.contentType ?? "application/json" }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

async function readBody(response: Response, limit: number | undefined): Promise<ArrayBuffer | Uint8Array<ArrayBuffer>> {
  if (limit === undefined) {
    return await response.arrayBuffer();
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= limit) {
      break;
    }
  }
  return Buffer.concat(chunks).subarray(0, limit);
}

function brokenOff(call: Call, cause: unknown, server: string): Error {
  if (cause instanceof ApiError || cause instanceof CredentialsError) {
    return cause;
  }
  if (call.signal?.aborted === true) {
    return new StoppedError(`${describe(call)}: given up`, { cause });
  }
  const distrust = certificateFault(errorCode(cause));
  return distrust === undefined
    ? new UnreachableError(`${describe(call)}: no answer from the API server`, { cause })
    : new UnreachableError(`${describe(call)}: the API server at ${server} is not trusted: ${distrust}`);
}

/** The body of a failed call; a proxy in between may answer with something else than JSON. */
async function readStatus(response: Response): Promise<StatusBody> {
  const text = await response.text().catch(() => "");
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as StatusBody) : {};
  } catch {
    return { message: text.slice(0, 500) };
  }
}

async function abortableSleep(milliseconds: number, call: Call): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const stop = () => reject(new StoppedError(`${describe(call)}: given up`));
  call.signal?.addEventListener("abort", stop, { once: true });
  if (call.signal?.aborted === true) {
    stop();
  }
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener("abort", stop);
  }
}
