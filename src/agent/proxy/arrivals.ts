import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import type { Secrets } from "../../secret.ts";
import type { Duplex } from "../net/duplex.ts";
import type { Wire } from "../net/wire.ts";
import type { ProxyEncryption } from "../protocol/challenge.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import type { Messages } from "../protocol/messages.ts";
import type { SessionIdentity } from "./proxy-core.ts";

/** What a peer turned out to be. */
export interface Arrivals {
  /** `secret` is the one that it has shown to know. */
  boreSession(control: MessageConnection, secret: string): void;
  session(control: MessageConnection, identity: SessionIdentity): void;
  /** A data connection for a bore client's consumer; false when nobody waits under this id. */
  accept(id: string, wire: Wire, firstBytes: Uint8Array): boolean;
  /** A data connection of a session; false when the session is unknown or its proof wrong. */
  join(wire: Wire, join: Messages["Join"]): boolean;
  /** A consumer that another proxy hands over; `early` are bytes that came already. */
  consumer(end: Duplex, addresses: { from: string; to: string }, early: Uint8Array): void;
}

export interface HandshakeOptions {
  /** 28 bits that name this process. */
  instance: number;
  /** Port that bore clients are told. */
  consumerPort: () => number;
  /** Whether new sessions are welcome. */
  admitsSessions: () => boolean;
  encryption: ProxyEncryption;
  secrets: Secrets;
  log: Log;
  metrics: AgentMetrics;
}
