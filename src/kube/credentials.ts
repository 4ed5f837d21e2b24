import { readFileSync, statSync } from "node:fs";
import { CredentialsError } from "./errors.ts";

/** Folder in which the kubelet mounts a pod's token, CA and namespace. */
const serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A bound token is renewed by the kubelet at 80 % of its life (an hour or more), so a minute of delay is harmless. */
const rereadAfter = 60_000;
/** Nothing that is read here is larger; a mistaken path to something huge must not fill the memory. */
const maxFileBytes = 1024 * 1024;

export interface Tls {
  ca?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  /** Always said, because Bun would otherwise follow the variable NODE_TLS_REJECT_UNAUTHORIZED. */
  rejectUnauthorized: boolean;
}

/** Where the API server is and how to prove who we are. Read before each request, so that rotated files take effect. */
export interface Credentials {
  /** Base URL without a trailing slash. */
  readonly server: string;
  /** Namespace of the pod or of the kubeconfig's context, when it names one. */
  readonly namespace: string | undefined;
  /** URL of an HTTP proxy that leads to the server. Undefined: as the environment says. */
  readonly proxy?: string | undefined;
  /** More headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  tls(): Tls;
  /** The `Authorization` header, when one is needed. */
  authorization(): string | undefined;
  /** Read the files again at the next use: the API server did not accept what we sent. */
  expire(): void;
}

export interface RereadFile {
  /** The trimmed content. Throws CredentialsError when it could never be read. */
  read(): string;
  expire(): void;
}

/** A text file that is read again once a minute; a failed re-read keeps the last good content. */
export function rereadFile(path: string): RereadFile {
  let content: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  return {
    read(): string {
      if (content === undefined || performance.now() - readAt > rereadAfter) {
        readAt = performance.now();
        try {
          if (statSync(path).size > maxFileBytes) {
            throw new Error(`larger than ${maxFileBytes} bytes`);
          }
          content = readFileSync(path, "utf8").trim();
        } catch (cause) {
          if (content === undefined) {
            throw new CredentialsError(`cannot read ${path}`, { cause });
          }
        }
      }
      return content;
    },
    expire() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Credentials of a pod. Throws CredentialsError outside of one. */
export function inClusterCredentials(folder = serviceAccountPath, environment = process.env): Credentials {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT ?? "443";
  if (host === undefined || host === "") {
    throw new CredentialsError(
      "not inside a pod (KUBERNETES_SERVICE_HOST is not set): give the path of a kubeconfig with --kubeconfig",
    );
  }
  const token = rereadFile(`${folder}/token`);
  const ca = rereadFile(`${folder}/ca.crt`);
  let namespace: string | undefined;
  try {
    namespace = readFileSync(`${folder}/namespace`, "utf8").trim();
  } catch {
    // The file is optional: an automounted token without it is still good.
  }
  token.read();
  ca.read();
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace,
    tls: () => ({ ca: ca.read(), rejectUnauthorized: true }),
    authorization: () => `Bearer ${token.read()}`,
    expire() {
      token.expire();
      ca.expire();
    },
  };
}
