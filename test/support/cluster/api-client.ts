/** A few lines of Kubernetes client for the harness itself: JSON over Bun's fetch with a client certificate. */
import type { Certificate } from "./certificates.ts";

const defaultTimeout = 15_000;

export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly status: number,
    message: string,
    /** The answer's body, mostly a `Status`. */
    readonly body: string,
  ) {
    super(message);
  }
}

export interface ApiRequest {
  /** Default `GET`, with a body `POST`. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** Default `application/json`; for PATCH `application/merge-patch+json`. */
  readonly contentType?: string;
}

export interface ApiClient {
  /** Throws {@link ApiError} for an answer that is not 2xx. `T` is the caller's word for what the path answers. */
  request<T = unknown>(path: string, request?: ApiRequest): Promise<T>;
}

export function createApiClient(url: string, ca: string, user: Certificate): ApiClient {
  const tls = { ca, cert: user.certificate, key: user.key };
  return {
    async request<T>(path: string, request: ApiRequest = {}): Promise<T> {
      const method = request.method ?? (request.body === undefined ? "GET" : "POST");
      const contentType =
        request.contentType ?? (method === "PATCH" ? "application/merge-patch+json" : "application/json");
      const response = await fetch(`${url}${path}`, {
        method,
        tls,
        signal: AbortSignal.timeout(defaultTimeout),
        headers: { accept: "application/json", ...(request.body !== undefined && { "content-type": contentType }) },
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new ApiError(response.status, `${method} ${path}: ${response.status} ${text}`, text);
      return (isJson(response) ? JSON.parse(text) : text) as T;
    },
  };
}

function isJson(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("application/json") ?? false;
}
