import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText, listenFailure } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import type { Secrets } from "../../secret.ts";
import { type Listener, type ListenOptions, listenWires, socketShortage } from "../net/listen.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import { afterNextPoll } from "../net/turn.ts";
import { type Wire, wires } from "../net/wire.ts";
import type { ProxyEncryption } from "../protocol/challenge.ts";
import { Quota } from "../quota.ts";
import { measureSecrets } from "../secret-gauges.ts";
import { Stream, StreamError } from "../stream.ts";
import { Streams } from "../streams.ts";
import { BoreSession } from "./bore-session.ts";
import { measureProxy } from "./gauges.ts";
import { handOver } from "./hand-over.ts";
import { Handshakes } from "./handshake.ts";
import type { ProxyCore, ProxySession } from "./proxy-core.ts";
import { readProxyHeader } from "./proxy-header-reader.ts";
import { NetaminitySession } from "./session.ts";

export interface ProxyOptions {
  /** Where targets arrive. */
  listen: HostPort;
  /** Where consumers arrive. */
  consumerListen: HostPort;
  secrets: Secrets;
  /** Whether targets decide, which is the default, or nothing plain is accepted. */
  encryption: ProxyEncryption;
  /** Milliseconds of silence after which a target is dead. */
  deadline: number;
  /** Consumers come through a load balancer that sends the PROXY protocol's header. */
  acceptProxyProtocol: boolean;
  log: Log;
  metrics: AgentMetrics;
}

export interface ProxyRole {
  rendezvousPort: number;
  consumerPort: number;
  /** Why no consumer could be served now; undefined when one could. */
  notReady(): string | undefined;
  /** Takes nothing new, lets streams run for `timeout` milliseconds at most, then resets the rest. */
  drain(timeout: number): Promise<void>;
  stop(): void;
}

/** Descriptors kept free by the consumer port, so that targets can still come: those of a pool, about. */
const spareForTargets = 16;

/** Listens for targets and consumers and joins them. Throws ListenError when a port cannot be had. */
export async function startProxy(options: ProxyOptions): Promise<ProxyRole> {
  return new TunnelProxy(options);
}

/** Milliseconds between looks, during a drain, at whether a consumer still waits for a data connection. */
const placedInterval = 10;
/** Consumers that are read before they are placed, at most. */
const maxReadAhead = 64;

/** 28 random bits. */
const randomInstance = (): number => new DataView(crypto.getRandomValues(new Uint8Array(4)).buffer).getUint32(0) >>> 4;

function listenOn(setting: string, at: HostPort, options: ListenOptions): Listener {
  try {
    return listenWires(at, options);
  } catch (cause) {
    throw listenFailure(`${formatHostPort(at)} (${setting})`, cause);
  }
}

class TunnelProxy implements ProxyCore, ProxyRole {
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly streams: Streams;
  readonly deadline: number;
  readonly encryption: ProxyEncryption;
  #options: ProxyOptions;
  #sessions: ProxySession[] = [];
  #draining = false;
  #arrived: Stream[] = [];
  #handshakes: Handshakes;
  #rendezvous: Listener;
  #consumers: Listener;
  #exhaustion = new Quota(1, 1 / 60);

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.log = options.log;
    this.metrics = options.metrics;
    this.deadline = options.deadline;
    this.encryption = options.encryption;
    this.streams = new Streams(options.log, options.metrics);
    this.#handshakes = new Handshakes(
      {
        instance: randomInstance(),
        consumerPort: () => this.consumerPort,
        admitsSessions: () => !this.#draining,
        encryption: this.encryption,
        secrets: options.secrets,
        log: options.log,
        metrics: options.metrics,
      },
      {
        boreSession: (control, secret) => this.#openBore(new BoreSession(this, control, secret)),
        session: (control, identity) => this.#openNetaminity(new NetaminitySession(this, control, identity)),
        accept: (id, wire, first) => this.#bore().some((session) => session.accept(id, wire, first)),
        consumer: (end, addresses, early) =>
          this.place(new Stream(this.streams, end, { ...addresses, early, isHandedOver: true })),
        join: (wire, join) =>
          this.#netaminity()
            .find((one) => one.identity.session === join.session)
            ?.join(wire, join) ?? false,
      },
    );
    const exhausted = () => this.#exhausted();
    this.#rendezvous = listenOn("listen", options.listen, {
      spareDescriptors: () => 0,
      keepAlive: tunnelKeepAlive,
      accept: (wire) => this.#handshakes.meet(wire),
      exhausted,
    });
    try {
      this.#consumers = listenOn("consumer-listen", options.consumerListen, {
        spareDescriptors: () => this.#spare(),
        accept: (wire) => this.#arrive(wire),
        exhausted,
      });
    } catch (cause) {
      this.#rendezvous.stop();
      throw cause;
    }
    measureProxy(options.metrics, {
      sessions: () => this.#sessions,
      netaminity: () => this.#netaminity(),
      isDraining: () => this.#draining,
    });
    const serving = () => [...this.#netaminity(), ...this.#bore()].filter(({ available }) => available);
    measureSecrets(options.metrics, {
      secrets: options.secrets,
      sessions: () => serving().map((one) => (one instanceof BoreSession ? one.secret : one.identity.secret)),
    });
  }

  get rendezvousPort(): number {
    return this.#rendezvous.port;
  }

  get consumerPort(): number {
    return this.#consumers.port;
  }

  notReady(): string | undefined {
    if (this.#draining) return "draining";
    const shortage = socketShortage(this.#socketsForOne());
    if (shortage !== undefined) return shortage;
    const available = this.#sessions.filter((session) => session.available);
    if (available.length === 0) return "no target is attached";
    return available.every(({ left }) => left) ? "the target has moved to another proxy" : undefined;
  }

  async drain(timeout: number): Promise<void> {
    this.#draining = true;
    const until = performance.now() + timeout;
    this.#consumers.stop();
    for (const session of this.#sessions) session.drain();
    // Those that came before the drain still need data connections; each gets one, or is refused, within the deadline.
    while (this.#waiting > 0 && performance.now() < until) await Bun.sleep(placedInterval);
    this.#rendezvous.stop();
    await this.streams.drain(Math.max(0, until - performance.now()));
    this.stop();
  }

  stop(): void {
    this.#draining = true;
    this.#consumers.stop();
    this.#rendezvous.stop();
    this.#handshakes.stop();
    for (const session of [...this.#sessions]) session.end();
    this.streams.reset(new StreamError("drained", "the proxy stops"));
  }

  place(stream: Stream): void {
    const session = this.#best();
    if (session !== undefined) session.take(stream);
    else stream.fail(new StreamError("no_session", "no target is attached"));
  }

  handOver(stream: Stream, successor: HostPort, isEncrypted: boolean): void {
    this.metrics.moved.inc();
    void handOver(stream, successor, this.#options.secrets, isEncrypted || this.encryption === "required");
  }

  opened(session: ProxySession, protocol: string): void {
    this.#sessions.push(session);
    this.metrics.sessionsOpened.inc({ protocol });
    const { peer, encrypted } = session;
    this.log.info("session up", { peer, protocol, encrypted, sessions: this.#sessions.length });
    session.begin();
  }

  closed(session: ProxySession, cause: Error | undefined): void {
    this.#sessions = this.#sessions.filter((other) => other !== session);
    const fields = { peer: session.peer, streams: session.streams, sessions: this.#sessions.length };
    if (cause === undefined || this.#draining) {
      this.log.info("session ended", fields);
      return;
    }
    this.metrics.sessionsLost.inc({ reason: cause.name });
    this.log.warn("session lost", { ...fields, reason: errorText(cause) });
  }

  /** Descriptors that a new consumer must leave free: those that wait need one more each, for a data connection. */
  #spare(): number {
    return spareForTargets + this.#waiting + 1;
  }

  /** Consumers that have no data connection yet. */
  get #waiting(): number {
    return this.#sessions.reduce((sum, session) => sum + session.waiting, this.#arrived.length);
  }

  /** Sockets that there must be room for, also without any stream, if a consumer is to be accepted. */
  #socketsForOne(): number {
    const idle = this.#netaminity().reduce((sum, session) => sum + session.idle, 0);
    return Math.max(1, this.#sessions.length) + Math.max(1, idle) + 1 + spareForTargets + 1;
  }

  #exhausted(): void {
    this.metrics.acceptsRefused.inc();
    this.#exhaustion.spend((suppressed) =>
      this.log.error("too many open files: new connections are reset", { wires: wires.open, suppressed }),
    );
  }

  #arrive(wire: Wire): void {
    const own = { from: formatHostPort(wire.remote), to: formatHostPort(wire.local), since: performance.now() };
    if (this.#options.acceptProxyProtocol) {
      readProxyHeader(wire, {
        read: (addresses, early) => this.place(new Stream(this.streams, wire, { ...own, ...addresses, early })),
        failed: (reason) => new Stream(this.streams, wire, own).fail(new StreamError("bad_header", reason)),
      });
      return;
    }
    this.#arrived.push(new Stream(this.streams, wire, own));
    if (this.#arrived.length === 1) afterNextPoll(() => this.#placeArrived());
    // Bounds what is read ahead when many come at once.
    if (this.#arrived.length > maxReadAhead) wire.pause();
  }

  /** Most consumers speak first: their bytes come with the next look at the sockets and then share one write with the start. */
  #placeArrived(): void {
    for (const stream of this.#arrived.splice(0)) if (!stream.isOver) this.place(stream);
  }

  /** The available session with the fewest streams; the newest of those. */
  #best(): ProxySession | undefined {
    let best: ProxySession | undefined;
    for (const session of this.#sessions) {
      if (session.available && (best === undefined || session.streams <= best.streams)) best = session;
    }
    return best;
  }

  /** bore clients have no identity, so a newer one counts as the older one come back: it alone gets new consumers. */
  #openBore(session: BoreSession): void {
    for (const older of this.#bore()) older.supersede();
    this.opened(session, "bore");
  }

  /** A target process has one session that takes streams: its newest. */
  #openNetaminity(session: NetaminitySession): void {
    for (const older of this.#netaminity()) {
      if (older.identity.target === session.identity.target) older.supersede();
    }
    this.opened(session, "netaminity");
  }

  #bore(): BoreSession[] {
    return this.#sessions.filter((session) => session instanceof BoreSession);
  }

  #netaminity(): NetaminitySession[] {
    return this.#sessions.filter((session) => session instanceof NetaminitySession);
  }
}
