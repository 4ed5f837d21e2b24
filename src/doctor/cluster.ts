import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ownResources } from "../api/own-kinds.ts";
import { version } from "../config/version.ts";
import { ExitError, errorText } from "../errors.ts";
import { programCredentials } from "../kube/credential-program.ts";
import { type Credentials, inClusterCredentials } from "../kube/credentials.ts";
import {
  ApiError,
  CredentialsError,
  isDenied,
  NotFoundError,
  TimedOutError,
  UnreachableError,
} from "../kube/errors.ts";
import { createKube, type Kube } from "../kube/kube.ts";
import { kubeconfigCredentials, kubeconfigPaths } from "../kube/kubeconfig.ts";
import { askPod, PodSilentError } from "../kube/pod-proxy.ts";
import { builtIn, type Resource } from "../kube/resources.ts";
import { fieldManager } from "../names.ts";
import type { Found } from "./facts.ts";

const resources = { ...ownResources, ...builtIn };

/** An answer of a pod, or how it failed to give one. */
export type PodReply =
  | { status: number; body: string }
  /** The connection to the pod was cut or refused, or what came back is not HTTP: in the API server's words. */
  | { cut: string }
  /** Nothing came within the time of the request. */
  | { silent: string }
  /** Nobody could ask. */
  | { unknown: string };

/** All that the tools ask an API server. Nothing is ever written. */
export interface Cluster {
  /** Namespace of the context. */
  readonly namespace: string;
  /** URL of the API server. */
  readonly server: string;
  get<T>(resource: keyof typeof resources, namespace: string, name: string): Promise<Found<T>>;
  /** Without a namespace: of all. Items have their kind and apiVersion. */
  list<T>(resource: keyof typeof resources, namespace: string | undefined, labelSelector?: string): Promise<Found<T[]>>;
  /** The last lines of a container's log. */
  log(namespace: string, pod: string, container: string, lines: number): Promise<Found<readonly string[]>>;
  /** GET from a port of a pod, through the API server. `timeout` in milliseconds. */
  ask(namespace: string, pod: string, port: number, path: string, timeout: number): Promise<PodReply>;
}

export const kindsAreUnknown =
  "this cluster does not know the kinds of netaminity: install the chart, or choose another --context";

/** There is no way to an API server, so nothing can be told. */
export class CannotAskError extends ExitError {
  override readonly name = "CannotAskError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, 3, options);
  }
}

/** Milliseconds that the API server has for one answer; people wait for it. */
const timeout = 10_000;
/** For a log the API server asks a kubelet, which it may not reach. */
const logTimeout = 5000;

interface Choice {
  kubeconfig: string | undefined;
  context: string | undefined;
}

/** Throws CannotAskError when there are no credentials to use. */
export function openCluster(options: Choice): Cluster {
  return openWritableCluster(options).cluster;
}

/** The same with the client, for a tool that also writes. */
export function openWritableCluster(options: Choice): { cluster: Cluster; kube: Kube } {
  const credentials = credentialsFor(options);
  const kube = createKube({ credentials, userAgent: `netaminity/${version}`, fieldManager });
  return { cluster: clusterOf(kube, credentials), kube };
}

function clusterOf(kube: Kube, credentials: Credentials): Cluster {
  return {
    namespace: credentials.namespace ?? "default",
    server: credentials.server,
    get: (key, namespace, name) =>
      look(() => kube.request({ verb: "get", resource: resources[key], namespace, name, timeout })),
    list: (key, namespace, labelSelector) =>
      look(async () => {
        const resource = resources[key];
        const query = labelSelector === undefined ? {} : { query: { labelSelector } };
        const place = namespace === undefined ? {} : { namespace };
        const { items } = await kube.request<{ items: object[] }>({
          verb: "list",
          resource,
          ...place,
          ...query,
          timeout,
        });
        return items.map((item) => typed(item, resource));
      }),
    log: (namespace, name, container, lines) =>
      look(async () => {
        const query = { container, tailLines: `${lines}` };
        const place = { resource: resources.pod, namespace, name, subresource: "log" };
        const body = await kube.open({ verb: "get", ...place, query, timeout: logTimeout });
        const text = await new Response(body).text();
        return text.split("\n").filter((line) => line !== "");
      }),
    ask: (namespace, pod, port, path, limit) => ask(kube, { namespace, pod, port, path, timeout: limit }),
  };
}

function typed<T>(item: object, { apiVersion, kind }: Resource): T {
  return { ...item, apiVersion, kind } as T;
}

async function look<T>(read: () => Promise<T>): Promise<Found<T>> {
  try {
    return { found: await read() };
  } catch (error) {
    if (error instanceof NotFoundError) return { absent: error.reason === "" ? "kind" : "object" };
    return { unknown: explain(error) };
  }
}

async function ask(kube: Kube, request: Parameters<typeof askPod>[1]): Promise<PodReply> {
  try {
    return await askPod(kube, request);
  } catch (error) {
    if (error instanceof PodSilentError) return { cut: error.message };
    if (error instanceof TimedOutError) return { silent: error.message };
    return { unknown: explain(error) };
  }
}

/** Why nothing is known. Rethrows what is a fault of this program. */
function explain(error: unknown): string {
  if (isDenied(error)) return `not allowed: ${error.body.message ?? errorText(error)}`;
  if (error instanceof ApiError || error instanceof UnreachableError || error instanceof CredentialsError)
    return errorText(error);
  throw error;
}

/** As kubectl looks for them; inside a pod without a kubeconfig those of its service account. */
function credentialsFor({
  kubeconfig,
  context,
}: {
  kubeconfig: string | undefined;
  context: string | undefined;
}): Credentials {
  try {
    const paths = kubeconfig === undefined ? defaultPaths() : kubeconfigPaths(kubeconfig);
    if (paths.length > 0) return kubeconfigCredentials(paths, { context, runProgram: programCredentials });
    return inClusterCredentials();
  } catch (error) {
    if (error instanceof CredentialsError) throw new CannotAskError(errorText(error), { cause: error });
    throw error;
  }
}

function defaultPaths(): string[] {
  const named = process.env.KUBECONFIG || join(homedir(), ".kube", "config");
  return kubeconfigPaths(named).filter((path) => existsSync(path));
}
