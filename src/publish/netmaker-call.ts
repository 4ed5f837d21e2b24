import type { z } from "zod";
import { backoffDelay, pause } from "../kube/backoff.ts";
import { StoppedError } from "../kube/errors.ts";
import { fetchThrough, proxyFor } from "../kube/http-proxy.ts";
import type { PublishMetrics } from "./metrics.ts";
import { MeshError } from "./provider.ts";

// One call of Netmaker's interface: sent, put off and sent again, and its answer read.

export interface Endpoint {
  /** Base URL without a slash at the end. */
  url: string;
  /** PEM of the only authorities that count; undefined: those of the system. */
  ca: () => string | undefined;
  userAgent: string;
  metrics: Pick<PublishMetrics, "meshRequests">;
  /** Milliseconds; shorter for tests. */
  timing?: { call?: number; firstPause?: number; maxPause?: number };
}

const defaultTiming = { call: 10_000, firstPause: 250, maxPause: 5000 };
/** Tries of a call that only reads, or that the server has put off. */
const maxTries = 5;
/** Longest Retry-After, in milliseconds, that is waited for here; longer ones are left to the back-off between passes. */
const maxRetryAfter = 10_000;
/** 20,000 hosts with all that Netmaker says about each. */
const maxAnswerBytes = 256 * 1024 * 1024;

export interface Call {
  method: "GET" | "POST" | "PUT" | "DELETE";
  resource: "authenticate" | "hosts" | "nodes" | "egress";
  path: string;
  body?: unknown;
}

export interface Answer {
  code: number;
  text: string;
  /** Milliseconds; 0 when the server does not say. */
  retryAfter: number;
}

/**
 * The answer, whatever its code is. What repeats without harm is tried again after a failure that passes; the rest only where the server says that it did
 * nothing (429): a write whose answer is lost may have been done. Throws MeshError with code 0 when no answer comes, and StoppedError.
 */
export async function exchange(
  endpoint: Endpoint,
  call: Call,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const { firstPause: first, maxPause: cap } = { ...defaultTiming, ...endpoint.timing };
  const repeats = call.method === "GET" || call.resource === "authenticate";
  for (let tries = 1; ; tries += 1) {
    let wait = 0;
    try {
      const answer = await send(endpoint, call, token, signal);
      wait = answer.retryAfter;
      const isPassing = answer.code === 429 || (answer.code >= 500 && repeats);
      if (!isPassing || tries >= maxTries || wait > maxRetryAfter) {
        return answer;
      }
    } catch (error) {
      if (!(error instanceof MeshError) || !repeats || tries >= maxTries) {
        throw error;
      }
    }
    await pause(Math.max(wait, backoffDelay(tries, { first, cap })), signal);
  }
}

/** One try. Throws MeshError with code 0 when no whole answer comes, and StoppedError when the signal fires. */
async function send(
  { url, ca, userAgent, metrics, timing }: Endpoint,
  call: Call,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  throwIfStopped(signal, call);
  const { call: timeout } = { ...defaultTiming, ...timing };
  // Outside of what follows: a file or a variable that cannot be used is no silence of the server.
  const own = ca();
  const proxy = proxyFor(new URL(url));
  const abort = new AbortController();
  const stop = () => abort.abort();
  signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(stop, timeout);
  let code = 0;
  try {
    const response = await fetchThrough(proxy, url + call.path, {
      method: call.method,
      headers: {
        accept: "application/json",
        "user-agent": userAgent,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      redirect: "manual",
      signal: abort.signal,
      tls: { rejectUnauthorized: true, ...(own === undefined ? {} : { ca: own }) },
    });
    const text = await readText(response);
    code = response.status;
    return { code, text, retryAfter: Number(response.headers.get("retry-after")) * 1000 || 0 };
  } catch (cause) {
    throwIfStopped(signal, call);
    const late = abort.signal.aborted ? ` within ${timeout} ms` : "";
    throw new MeshError(`${describe(call)}: no answer from ${url}${late}`, 0, { cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    metrics.meshRequests.inc({ method: call.method, resource: call.resource, code: String(code) });
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxAnswerBytes) {
      throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function throwIfStopped(signal: AbortSignal, call: Call): void {
  if (signal.aborted) {
    throw new StoppedError(`${describe(call)}: given up`);
  }
}

/** The body in the form that is expected. Throws MeshError. */
export function read<T>(schema: z.ZodType<T>, { text, code }: Answer, call: Call): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    const hint = /^\s*</.test(text) ? ": a page for people; netmaker-api-url must lead to the API (https://api.…)" : "";
    throw new MeshError(`${describe(call)} was answered with something that is not JSON${hint}`, code, { cause });
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
    throw new MeshError(`${describe(call)} was answered in an unknown form${where}: ${issue?.message}`, code);
  }
  return parsed.data;
}

/** What the server says about a failure. */
export function messageOf({ text }: Answer): string {
  try {
    const body: unknown = JSON.parse(text);
    const message = typeof body === "object" && body !== null && "Message" in body ? body.Message : undefined;
    return typeof message === "string" ? message.slice(0, 300) : "";
  } catch {
    return text.slice(0, 300).trim();
  }
}

export const describe = ({ method, path }: Call) => `${method} ${path}`;
