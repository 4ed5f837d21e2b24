import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import type { Way } from "../net/way.ts";
import type { Streams } from "../streams.ts";
import type { Backend } from "./backend.ts";

/** Whether a target speaks in plain text, or with nobody but a proxy that proves the secret inside TLS. */
export type TargetEncryption = "off" | "required";

/** What the parts of a target share. */
export interface TargetCore {
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly streams: Streams;
  readonly backend: Backend;
  readonly way: Way;
  /** 16 bytes, hexadecimal: names this process. */
  readonly name: string;
  /** Milliseconds of silence after which a proxy is dead. */
  readonly deadline: number;
  readonly encryption: TargetEncryption;
  readonly poolMin: number;
  readonly poolMax: number;
  /** Consumer port to ask a bore server for; undefined: a bore server gets nothing. */
  readonly borePort: number | undefined;
}

/** What a session tells the target that holds it. */
export interface SessionEvents {
  /** The proxy gives no new streams to this session. */
  draining(): void;
  /** The proxy's address leads to another proxy now, it seems. */
  strayed(): void;
  /** The session is doubted from now on. Said once: the next look may be about to attach. */
  doubted(): void;
  /** The session takes no streams any more. */
  over(cause: Error): void;
  /** The last stream of the session has ended. */
  unused(): void;
}

/** A target's session with one proxy. */
export interface TargetSession {
  readonly protocol: "netaminity" | "bore";
  /** Numeric address of the proxy; its name where an HTTP proxy leads to it. */
  readonly address: string;
  /** The proxy's process; undefined when it is a bore server. */
  readonly instance: number | undefined;
  /** Port for consumers that a bore server gave us. */
  readonly boundPort: number | undefined;
  /** The secret it was opened with. */
  readonly secret: string;
  /** Under TLS, with all of its streams on the way to the proxy. */
  readonly encrypted: boolean;
  readonly streams: number;
  readonly pool: { idle: number; opening: number; wanted: number };
  readonly roundTrip: number | undefined;
  /** Nothing is heard of the proxy: it may be gone, and another one have taken its place. */
  readonly isDoubted: boolean;
  /** Hears the proxy from now on: the target knows the session. */
  begin(): void;
  /** Where the proxy itself was reached, as it says: other proxies of its cluster can reach it there. */
  readonly proxyAddress: string | undefined;
  /** Tells the proxy that this target has another session, with the proxy at that address. */
  moved(to: string): void;
  /** The address at which the session was opened leads to another proxy now, or to none. */
  strayed(): void;
  /** Asks the proxy for no new streams; resolves when none can come any more. */
  drain(): Promise<void>;
  /** Ends the session; running streams go on. */
  end(): void;
}
