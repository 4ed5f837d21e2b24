import { listenFailure } from "../errors.ts";
import type { WatchTiming } from "../kube/cache.ts";
import { rereadFile } from "../kube/credentials.ts";
import type { Regarded } from "../kube/events.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { builtIn } from "../kube/resources.ts";
import type { Log } from "../log.ts";
import type { PublishMetrics } from "./metrics.ts";
import { createNetmaker } from "./netmaker.ts";
import { createNetmakerApi } from "./netmaker-api.ts";
import { type LoginSource, readLogin } from "./netmaker-login.ts";
import { createNetsody, type NetsodySettings } from "./netsody.ts";
import { readNetwork } from "./netsody-network.ts";
import { followOutput, type OutputOptions } from "./netsody-output.ts";
import { type NetsodyServer, serveNetsody } from "./netsody-server.ts";
import type { Provider } from "./provider.ts";

/** A provider with what belongs to it. */
export interface Opened {
  provider: Provider;
  /** What Events about no Node are about. */
  regarded: () => Regarded;
  /** Resolves when it knows what there is. */
  synced(): Promise<void>;
  /** Why it cannot do its job; `failure` is that of the last pass. */
  notReady(failure: Error | undefined): string | undefined;
  servedPort: number | undefined;
  stop(): Promise<void>;
}

export interface OpenContext {
  kube: Kube;
  metrics: PublishMetrics;
  log: Log;
  signal: AbortSignal;
  /** False for a single look. */
  serves: boolean;
  /** Something has changed that a pass should see. */
  wake: () => void;
  timing: Partial<WatchTiming>;
}

/** Throws ListenError. */
export type OpenProvider = (context: OpenContext) => Opened;

export interface NetmakerOptions {
  url: string;
  login: LoginSource;
  caFile: string | undefined;
  /** Undefined: the first characters of the UID of namespace kube-system. */
  clusterName: string | undefined;
  force: boolean;
  adoptKaputNot: boolean;
  version: string;
  /** What Events about no Node are about. */
  regarded: Regarded;
}

export function openNetmaker(options: NetmakerOptions): OpenProvider {
  return ({ kube, metrics }) => {
    const ca = options.caFile === undefined ? undefined : rereadFile(options.caFile);
    const endpoint = {
      url: options.url,
      ca: () => ca?.read(),
      userAgent: `netaminity-publish/${options.version}`,
      metrics,
    };
    const api = createNetmakerApi(endpoint, () => readLogin(options.login));
    let name = options.clusterName;
    const cluster = async (signal: AbortSignal) => {
      name ??= await clusterNameOf(kube, signal);
      return name;
    };
    return {
      provider: createNetmaker(api, { ...options, cluster }),
      regarded: () => options.regarded,
      synced: async () => {},
      notReady: (failure) => failure?.message,
      servedPort: undefined,
      stop: async () => {},
    };
  };
}

/** No two clusters have the same UIDs. */
async function clusterNameOf(kube: Kube, signal: AbortSignal): Promise<string> {
  const namespace = await kube.request<KubeObject>({
    verb: "get",
    resource: builtIn.namespace,
    name: "kube-system",
    signal,
  });
  return namespace.metadata.uid.slice(0, 8);
}

export interface NetsodyOptions extends NetsodySettings {
  output: Pick<OutputOptions, "kind" | "namespace" | "objectName">;
  listen: { host: string; port: number };
  /** Name in the path that agents ask for. */
  networkName: string;
  username: string;
  password: string | undefined;
  passwordFile: string | undefined;
}

/** Milliseconds between looks at the base. */
const baseLook = 10_000;

export function openNetsody(options: NetsodyOptions): OpenProvider {
  return ({ kube, metrics, log, signal, serves, wake, timing }) => {
    const output = followOutput({ ...options.output, kube, metrics, log, signal, timing, onChange: wake });
    const file = options.passwordFile === undefined ? undefined : rereadFile(options.passwordFile);
    const login = () => ({ username: options.username, password: options.password ?? file?.read() ?? "" });
    const text = lastValid(() => output.current()?.text);
    const server = serves
      ? listen(
          () => serveNetsody({ listen: options.listen, network: options.networkName, text, login, metrics }),
          options,
        )
      : undefined;
    const looking = setInterval(wake, baseLook);
    return {
      provider: createNetsody(output, options),
      regarded: output.regarded,
      synced: output.synced,
      // What was published before is served all the same.
      notReady: output.notReady,
      servedPort: server?.port,
      async stop() {
        clearInterval(looking);
        server?.stop();
        await output.done;
      },
    };
  };
}

/** What somebody has edited in the object is not handed on when agents would refuse it. */
function lastValid(current: () => string | undefined): () => string | undefined {
  let seen: string | undefined;
  let valid: string | undefined;
  return () => {
    const now = current();
    if (now !== seen) {
      seen = now;
      valid = now !== undefined && "network" in readNetwork(now) ? now : valid;
    }
    return valid;
  };
}

function listen(start: () => NetsodyServer, { listen: { host, port } }: NetsodyOptions): NetsodyServer {
  try {
    return start();
  } catch (cause) {
    throw listenFailure(`${host.includes(":") ? `[${host}]` : host}:${port} (netsody-listen)`, cause);
  }
}
