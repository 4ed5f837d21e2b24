import type { HostPort } from "../../endpoint.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import type { Key } from "../protocol/proofs.ts";
import type { Stream } from "../stream.ts";
import type { Streams } from "../streams.ts";

export interface SessionIdentity {
  /** 16 bytes, hexadecimal. */
  session: string;
  /** Names the target's process; a newer session of the same process replaces the older one. */
  target: string;
  key: Key;
  /** The one that the target has shown to know. */
  secret: string;
  /** Under TLS, as all of its data connections are. */
  encrypted: boolean;
}

/** A target that is attached to the proxy. */
export interface ProxySession {
  /** The target's address, `host:port`. */
  readonly peer: string;
  /** Under TLS, with all of its streams on the way to the target. */
  readonly encrypted: boolean;
  /** Consumers that were given to this session and are not over yet. */
  readonly streams: number;
  /** Those of them that have no connection to the target yet. */
  readonly waiting: number;
  /** Takes new streams: not drained, and heard of lately. */
  readonly available: boolean;
  /** Its target has moved to another proxy, which is ready by now: new consumers should go there. */
  readonly left: boolean;
  /** Hears the target from now on: the proxy knows the session. */
  begin(): void;
  /** Brings the consumer to the backend. `available` was true. */
  take(stream: Stream): void;
  /** A newer session has come in its place: it takes no new streams. */
  supersede(): void;
  /** Tells the target that no new consumers will come. */
  drain(): void;
  /** Ends the session; running streams go on. */
  end(): void;
}

/** What the parts of a proxy share. */
export interface ProxyCore {
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly streams: Streams;
  /** Milliseconds of silence after which a peer is dead. */
  readonly deadline: number;
  /** Gives the stream to the best session, or resets it when there is none. */
  place(stream: Stream): void;
  /** Brings the consumer to another proxy, which serves it in our place; inside TLS if it is to be encrypted. */
  handOver(stream: Stream, successor: HostPort, isEncrypted: boolean): void;
  /** The session takes no streams any more. Its cause is absent when it had been drained. */
  closed(session: ProxySession, cause: Error | undefined): void;
}
