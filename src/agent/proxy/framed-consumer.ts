import type { Wire } from "../net/wire.ts";
import { DataConnection, type DataConnectionOwner } from "../protocol/data-connection.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { type Key, startProof } from "../protocol/proofs.ts";
import { type Stream, StreamError } from "../stream.ts";

/**
 * A consumer between two proxies, inside TLS: there only a frame is an end that nobody in between can make. The connection is like a data connection, on which the
 * proxy that hands over begins one stream.
 */

/** Stands for the session in the key of such a connection. */
export const noSession = "";

const proofWith = (key: Key) => (stream: number) => startProof(key, 2, 0, stream);

const unexpected = (): never => {
  throw new ProtocolError("unexpected on a connection between proxies");
};

/** From the proxy that hands the consumer over. */
export function beginFramed(wire: Wire, key: Key, stream: Stream): void {
  const owner: DataConnectionOwner = {
    heard() {},
    start: unexpected,
    stray: unexpected,
    started() {},
    refused: unexpected,
    free: (connection) => connection.close(),
    lost: (_connection, cause) => stream.fail(new StreamError("lost", `the next proxy: ${cause.message}`, { cause })),
  };
  const { from = "", to = "" } = stream;
  const channel = new DataConnection(wire, 2, proofWith(key), owner).begin({ from, to });
  stream.join(channel);
  channel.flush();
}

/** At the proxy that takes it over; `take` gets its channel. */
export function awaitFramed(wire: Wire, key: Key, take: DataConnectionOwner["start"]): void {
  new DataConnection(wire, 2, proofWith(key), {
    heard() {},
    start: (connection, channel, consumer) => {
      channel.confirm();
      take(connection, channel, consumer);
    },
    stray: unexpected,
    started: unexpected,
    refused: unexpected,
    free: (connection) => connection.close(),
    lost() {},
  });
}
