import { parseHostPort } from "../../src/endpoint.ts";
import type { TcpSocket } from "./tcp.ts";
import { connectTcp, listenTcp } from "./tcp-ends.ts";

/** A small HTTP proxy that knows CONNECT. */
export interface HttpProxy extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Heads of the requests that came. */
  readonly requests: readonly string[];
}

export interface HttpProxyOptions {
  /** Names that only this proxy knows. */
  names?: Record<string, string>;
  /** What it demands to hear in Proxy-Authorization. */
  authorization?: string;
  /** The only port that it connects to. */
  onlyPort?: number;
}

const headEnd = "\r\n\r\n";

/** A client, its request so far, and the other side once there is one. */
interface Passage {
  head: string;
  onward: TcpSocket | undefined;
  isAsked: boolean;
}

/** Milliseconds for which a 200 waits for the first bytes of the other side: both then come to the client in one read, as they may on a network. */
const patience = 20;

/** Connects where it is asked to, and passes bytes, FINs and resets on. */
export async function startHttpProxy({
  names = {},
  authorization,
  onlyPort,
}: HttpProxyOptions = {}): Promise<HttpProxy> {
  const requests: string[] = [];
  const passages = new WeakMap<TcpSocket, Passage>();

  const answer = async (client: TcpSocket, passage: Passage): Promise<void> => {
    const { head } = passage;
    requests.push(head);
    const to = parseHostPort(/^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? "");
    const isKnown = authorization === undefined || head.includes(`\r\nProxy-Authorization: ${authorization}\r\n`);
    if (to === undefined || !isKnown) {
      const status = to === undefined ? "400 Bad Request" : "407 Proxy Authentication Required";
      await client.send(`HTTP/1.1 ${status}${headEnd}`).catch(() => {});
      client.finish();
      return;
    }
    if (onlyPort !== undefined && to.port !== onlyPort) {
      await client.send(`HTTP/1.1 403 Forbidden${headEnd}`).catch(() => {});
      client.finish();
      return;
    }
    let early: Buffer | undefined = Buffer.alloc(0);
    const host = names[to.host] ?? to.host;
    const onward = await connectTcp(to.port, {
      host,
      onData: (chunk) => {
        if (early === undefined) void client.send(chunk).catch(() => {});
        else early = Buffer.concat([early, chunk]);
      },
      onFin: () => client.finish(),
      onClose: ({ reset }) => reset !== undefined && client.abort(),
    }).catch(() => undefined);
    if (onward === undefined) {
      await client.send(`HTTP/1.1 502 Bad Gateway${headEnd}`).catch(() => {});
      client.finish();
      return;
    }
    passage.onward = onward;
    await onward.until((one) => one.received > 0 || one.closed, "first bytes", patience).catch(() => {});
    const first = Buffer.concat([Buffer.from(`HTTP/1.1 200 Connection established${headEnd}`), early]);
    early = undefined;
    await client.send(first).catch(() => {});
  };

  const server = await listenTcp({
    keep: false,
    onOpen: (client) => passages.set(client, { head: "", onward: undefined, isAsked: false }),
    onData: (chunk, client) => {
      const passage = passages.get(client);
      if (passage === undefined) return;
      if (passage.isAsked) {
        void passage.onward?.send(chunk).catch(() => {});
        return;
      }
      passage.head += Buffer.from(chunk).toString("latin1");
      if (!passage.head.endsWith(headEnd)) return;
      passage.isAsked = true;
      void answer(client, passage);
    },
    onFin: (client) => passages.get(client)?.onward?.finish(),
    onClose: (client) => client.reset !== undefined && passages.get(client)?.onward?.abort(),
  });
  return {
    host: server.host,
    port: server.port,
    requests,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
