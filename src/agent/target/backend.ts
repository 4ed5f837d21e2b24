import type { HostPort } from "../../endpoint.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import { dials } from "../net/connect.ts";
import { connectFirst } from "../net/dial.ts";
import { DialError } from "../net/dial-error.ts";
import { DialRoom } from "../net/dial-room.ts";
import { socketShortage } from "../net/listen.ts";
import { resolve } from "../net/names.ts";
import { type Wire, wires } from "../net/wire.ts";
import { makeProxyHeader, type ProxyProtocol } from "../protocol/proxy-header.ts";
import { Quota } from "../quota.ts";
import { StreamError } from "../stream.ts";

/** Milliseconds for which the addresses of a name serve further consumers; a failed connection asks anew. */
const addressLifetime = 1000;

/** Control connection, data connection and backend. */
const socketsForOne = 3;

export interface BackendOptions {
  endpoint: HostPort;
  /** Milliseconds for name and connection. */
  dialTimeout: number;
  sendProxyProtocol: "off" | ProxyProtocol;
  log: Log;
  metrics: AgentMetrics;
}

/** What consumers are brought to. */
export class Backend {
  #options: BackendOptions;
  #exhaustion = new Quota(1, 1 / 60);
  #room = new DialRoom();
  /** The latest connection did not come about. */
  isFailing = false;
  #addresses: { found: Promise<string[]>; until: number } | undefined;

  constructor(options: BackendOptions) {
    this.#options = options;
    // Asked for before the first consumer comes: with a silent name server that takes longer than a consumer may wait.
    this.#resolve().catch(() => {});
  }

  /** A new connection for the consumer at `from`, who connected to `to` (both absent when unknown). Rejects with StreamError. */
  async connect(from: string | undefined, to: string | undefined): Promise<Wire> {
    const { metrics, sendProxyProtocol } = this.#options;
    const since = performance.now();
    try {
      const wire = await this.#dial(since);
      this.isFailing = false;
      metrics.backendDials.inc({ result: "connected" });
      metrics.startSeconds.observe((performance.now() - since) / 1000);
      if (sendProxyProtocol !== "off") wire.write(makeProxyHeader(sendProxyProtocol, from, to));
      return wire;
    } catch (cause) {
      if (!(cause instanceof DialError)) throw cause;
      this.#addresses = undefined;
      this.isFailing = true;
      metrics.backendDials.inc({ result: cause.result });
      if (cause.result === "overload") this.#exhausted();
      throw new StreamError(cause.result, `backend: ${cause.message}`, { cause });
    }
  }

  /** Why not even one consumer could be brought to the backend; undefined when one could. */
  shortage(): string | undefined {
    return socketShortage(socketsForOne);
  }

  #exhausted(): void {
    this.#exhaustion.spend((suppressed) =>
      this.#options.log.error("too many open files or dials: new consumers are reset", {
        wires: wires.open,
        dials: dials.inProgress,
        suppressed,
      }),
    );
  }

  async #dial(since: number): Promise<Wire> {
    const { endpoint, dialTimeout } = this.#options;
    const addresses = await this.#resolve();
    return connectFirst(addresses, endpoint.port, Math.max(1, dialTimeout - (performance.now() - since)), {
      connect: (address, port) => this.#room.connect(address, port),
    });
  }

  /** Consumers that come together share one look-up. */
  #resolve(): Promise<string[]> {
    const now = performance.now();
    if (this.#addresses === undefined || now > this.#addresses.until) {
      const found = resolve(this.#options.endpoint.host, this.#options.dialTimeout);
      this.#addresses = { found, until: now + addressLifetime };
    }
    return this.#addresses.found;
  }
}
