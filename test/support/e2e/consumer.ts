/** The consumer program in its pod, told over HTTP what to do: needs no API server once the pod runs. */
import { waitFor } from "../cluster/index.ts";
import { type Connection, type Impact, impactOf, isCalm, type LoadState } from "./impact.ts";

export interface LoadOptions {
  /** `host:port` to connect to. */
  readonly address: string;
  /** Milliseconds from one new connection to the next. Default 50. */
  readonly interval?: number;
  /** Connections that stay and exchange all the time. Default 4. */
  readonly streams?: number;
  /** Milliseconds that each of them stays before it ends in an orderly way and is replaced; 0, the default, is for ever. */
  readonly life?: number;
}

export interface Load extends AsyncDisposable {
  /** Waits until new connections have worked without a failure for three seconds from now on; the deadline is in milliseconds. */
  calm(deadline?: number): Promise<void>;
  /** Ends the load, waits for its connections, and tells what happened since that time. */
  stop(since: number): Promise<Impact>;
}

export interface HttpAnswer {
  readonly status?: number;
  readonly body?: string;
  readonly error?: string;
}

export interface Consumer {
  readonly node: string;
  /** One connection: dial, exchange, orderly end. */
  connect(address: string, options?: { bytes?: number; timeout?: number }): Promise<Connection>;
  /**
   * Waits until this node knows a pod behind the Service. A condition of ours says that a pod is ready; the Service's
   * EndpointSlice and each node's kube-proxy follow it (up to 75 ms on an idle machine, measured), and refuse until then.
   */
  untilServed(address: string): Promise<void>;
  request(request: { method?: string; url: string; body?: string; timeout?: number }): Promise<HttpAnswer>;
  /** Starts a load and waits until it runs well. */
  startLoad(options: LoadOptions): Promise<Load>;
}

const controlPort = 8090;
/** Milliseconds of an established connection without an answer after which it counts as broken. */
const stall = 8000;
const quiet = 3000;
const defaults = { interval: 50, streams: 4, life: 0, attempt: 5000, stall };

export function consumerAt(node: string, podAddress: string): Consumer {
  const url = `http://${podAddress}:${controlPort}`;
  const call = async (method: string, path: string, body?: object, timeout = 30_000): Promise<string> => {
    const response = await fetch(url + path, {
      method,
      signal: AbortSignal.timeout(timeout),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} of the consumer on ${node}: ${response.status} ${text}`);
    return text;
  };
  const connect: Consumer["connect"] = async (address, options = {}) =>
    JSON.parse(await call("POST", "/connections", { address, ...options }, (options.timeout ?? 5000) + 5000));
  return {
    node,
    connect,
    async untilServed(address) {
      await waitFor(`${node} leads ${address} to a pod`, { deadline: 10_000 }, async () => {
        return (await connect(address)).result !== "refused";
      });
    },
    request: async (request) => JSON.parse(await call("POST", "/requests", request)),
    async startLoad(options) {
      const order = { ...defaults, ...options };
      const { id } = JSON.parse(await call("POST", "/loads", order)) as { id: string };
      const load = loadOf((method, from) => call(method, `/loads/${id}?from=${from}`));
      try {
        await load.running(order.streams);
        return load;
      } catch (error) {
        await load[Symbol.asyncDispose]();
        throw error;
      }
    },
  };
}

interface StartedLoad extends Load {
  running(streams: number): Promise<void>;
}

function loadOf(call: (method: "GET" | "DELETE", from: number) => Promise<string>): StartedLoad {
  const connections: Connection[] = [];
  let stopped = false;
  const read = async (method: "GET" | "DELETE"): Promise<LoadState> => {
    const lines = (await call(method, connections.length)).trimEnd().split("\n");
    const state = lines.pop() ?? "";
    connections.push(...lines.map((line) => JSON.parse(line) as Connection));
    return JSON.parse(state) as LoadState;
  };
  const until = (what: string, deadline: number, probe: (state: LoadState) => boolean): Promise<boolean> => {
    const last = (): string =>
      connections
        .slice(-3)
        .map((each) => JSON.stringify(each))
        .join(" ");
    return waitFor(what, { deadline, interval: 250 }, async () => probe(await read("GET"))).catch((error) => {
      throw new Error(`${what}; the last connections: ${last()}`, { cause: error });
    });
  };
  const stop: Load["stop"] = async (since) => {
    await read("DELETE");
    stopped = true;
    return impactOf(connections, since);
  };
  return {
    async running(streams) {
      await until("consumers are served before the fault", 30_000, (state) => {
        return isCalm(connections, state, 1000) && state.streams === streams;
      });
    },
    async calm(deadline = 60_000) {
      const from = Date.now();
      await until("consumers are served again", deadline, (state) => {
        return state.at - from >= quiet && isCalm(connections, state, quiet);
      });
    },
    stop,
    async [Symbol.asyncDispose]() {
      // A consumer on a lost node takes its load along.
      if (!stopped) await stop(0).catch(() => undefined);
    },
  };
}
