import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import { type Secrets, suspicionAbout } from "../../secret.ts";
import type { Via } from "../../via.ts";
import { type Backoff, makeBackoff } from "../backoff.ts";
import { dialRepeatedly, dialTimeout } from "../net/dial.ts";
import { type Way, wayOut } from "../net/way.ts";
import { toHex } from "../protocol/proofs.ts";
import type { ProxyProtocol } from "../protocol/proxy-header.ts";
import { measureSecrets } from "../secret-gauges.ts";
import { StreamError } from "../stream.ts";
import { Streams } from "../streams.ts";
import { attach, type Greeting, greet, RefusedByProxy } from "./attach.ts";
import { Backend } from "./backend.ts";
import { failureOf } from "./failure.ts";
import { measureTarget } from "./gauges.ts";
import { Lookout } from "./lookout.ts";
import type { SessionEvents, TargetCore, TargetEncryption, TargetSession } from "./target-core.ts";
import { Waits } from "./waits.ts";

export interface TargetOptions {
  /** Rendezvous port of the proxy. */
  proxyEndpoint: HostPort;
  /** The HTTP proxy that leads there. */
  via?: Via | undefined;
  /** The backend. */
  endpoint: HostPort;
  secrets: Secrets;
  /** Whether only a proxy that proves the secret inside TLS is served; default off. */
  encryption: TargetEncryption;
  /** Milliseconds of silence after which a proxy is dead. */
  deadline: number;
  /** Consumer port to ask a bore server for, 0 = any; undefined: only a netaminity proxy that proves the secret is served. */
  borePort: number | undefined;
  /** Bounds of the number of idle data connections. */
  poolMin: number;
  poolMax: number;
  /** Tell the backend who the consumer is. */
  sendProxyProtocol: "off" | ProxyProtocol;
  log: Log;
  metrics: AgentMetrics;
}

export interface TargetRole {
  /** Port for consumers at a bore server; undefined with a netaminity proxy or without a session. */
  boundPort(): number | undefined;
  notReady(): string | undefined;
  /** Takes nothing new, lets streams run for `timeout` milliseconds at most, then resets the rest. */
  drain(timeout: number): Promise<void>;
  stop(): void;
}

/** Milliseconds after which a proxy that has not answered is dialled once more. */
const dialAgain = 1000;
/** Milliseconds between looks at whether the proxy's endpoint still leads to the proxy of the session. */
const checkInterval = 2000;
/** The same while nothing is heard of that proxy: another one may be there already. */
const doubtInterval = 200;
/**
 * Milliseconds that the session with a former proxy stays in use beside the new one: consumers are led to the old proxy until
 * the new one has been found ready and every node has heard of it.
 */
const handover = 15_000;
/** A session that held for so many milliseconds was healthy: the next failure starts from the shortest wait. */
const healthyAfter = 10_000;
/** One that was lost within so many milliseconds may be lost at once again: the next attempt has to wait. */
const briefSession = 1000;

export async function startTarget(options: TargetOptions): Promise<TargetRole> {
  return new Target(options);
}

class Target implements TargetCore, TargetRole {
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly streams: Streams;
  readonly backend: Backend;
  readonly way: Way;
  readonly name = toHex(crypto.getRandomValues(new Uint8Array(16)));
  readonly deadline: number;
  readonly poolMin: number;
  readonly poolMax: number;
  readonly borePort: number | undefined;
  readonly encryption: TargetEncryption;
  #options: TargetOptions;
  #current: TargetSession | undefined;
  /** Sessions with former proxies that still take streams, and the end of that time. */
  #former = new Map<TargetSession, Timer>();
  /** Sessions that end with their last stream: once they are drained, no further stream can come. */
  #older = new Map<TargetSession, "draining" | "drained">();
  #since = 0;
  #problem = "no attempt to reach the proxy has ended yet";
  #moving = false;
  #lookout: Lookout;
  /** Milliseconds before the next attempt. */
  #pause = 0;
  #stopped = false;
  #waits = new Waits();
  /** Another proxy takes over within two seconds: until then it is tried often. */
  #lost: Backoff = makeBackoff({ first: 300, steady: 16, cap: 30_000, random: Math.random });
  #refused: Backoff = makeBackoff({ first: 4000, cap: 30_000, random: Math.random });

  constructor(options: TargetOptions) {
    const { log, metrics, endpoint, sendProxyProtocol } = options;
    this.#options = options;
    this.log = log;
    this.metrics = metrics;
    this.deadline = options.deadline;
    this.poolMin = options.poolMin;
    this.poolMax = options.poolMax;
    this.borePort = options.borePort;
    this.encryption = options.encryption;
    this.way = wayOut(options.via);
    this.streams = new Streams(log, metrics);
    this.backend = new Backend({ endpoint, dialTimeout, sendProxyProtocol, log, metrics });
    measureTarget(metrics, {
      current: () => this.#current,
      sessions: () => [...this.#older.keys(), ...this.#serving()],
      isDraining: () => this.#stopped,
      isBackendFailing: () => this.backend.isFailing,
    });
    const serving = () => this.#serving().map(({ secret }) => secret);
    measureSecrets(metrics, { secrets: options.secrets, sessions: serving });
    this.#lookout = new Lookout(options, this.way, (...found) => this.#attach(...found));
    void this.#run();
  }

  boundPort(): number | undefined {
    return this.#current?.boundPort;
  }

  notReady(): string | undefined {
    if (this.#stopped) return "draining";
    const session = this.#current === undefined ? `no session with the proxy: ${this.#problem}` : undefined;
    return this.backend.shortage() ?? session;
  }

  async drain(timeout: number): Promise<void> {
    this.#stopped = true;
    this.#waits.hurry();
    const since = performance.now();
    await Promise.all(this.#serving().map((session) => session.drain()));
    await this.streams.drain(Math.max(0, timeout - (performance.now() - since)));
    this.stop();
  }

  stop(): void {
    this.#stopped = true;
    this.#waits.hurry();
    for (const session of [...this.#serving(), ...this.#older.keys()]) session.end();
    for (const timer of this.#former.values()) clearTimeout(timer);
    this.streams.reset(new StreamError("drained", "the target stops"));
  }

  #serving(): TargetSession[] {
    return [...(this.#current === undefined ? [] : [this.#current]), ...this.#former.keys()];
  }

  /** Keeps a session: opens one when there is none or the proxy drains, and moves when the endpoint leads elsewhere. */
  async #run(): Promise<void> {
    while (!this.#stopped) {
      const pause = this.#current?.isDoubted === true ? doubtInterval : checkInterval;
      const wait = this.#current !== undefined && !this.#moving ? pause : this.#pause;
      this.#pause = 0;
      if (wait > 0) await this.#waits.sleep(wait);
      if (this.#stopped) return;
      try {
        const current = this.#moving ? undefined : this.#current;
        if (current !== undefined) await this.#waits.unlessUrgent((cut) => this.#lookout.look(current, cut));
        else await this.#open();
      } catch (cause) {
        await this.#waits.sleep(this.#failed(cause as Error));
      }
    }
  }

  async #open(): Promise<void> {
    const { proxyEndpoint, secrets } = this.#options;
    let refusal: RefusedByProxy | undefined;
    for (const secret of secrets.current) {
      const greeting = await greet(await dialRepeatedly(proxyEndpoint, dialTimeout, dialAgain, this.way));
      try {
        await this.#attach(greeting, secret);
        return;
      } catch (cause) {
        if (!(cause instanceof RefusedByProxy)) throw cause;
        refusal ??= cause;
      }
    }
    throw refusal ?? new RefusedByProxy("no secret is known");
  }

  async #attach(greeting: Greeting, secret: string, cut?: AbortSignal): Promise<void> {
    const events: SessionEvents = {
      draining: () => this.#drainedBy(session),
      strayed: () => this.#waits.wake(),
      doubted: () => this.#doubt(session),
      over: (cause) => this.#over(session, cause),
      unused: () => this.#retire(session),
    };
    const session: TargetSession = await attach(this, greeting, secret, events);
    if (this.#stopped || cut?.aborted) {
      session.end();
      return;
    }
    this.#replace(session);
    session.begin();
  }

  #replace(session: TargetSession): void {
    const older = this.#current;
    const drains = this.#moving;
    this.#current = session;
    this.#since = performance.now();
    this.#moving = false;
    this.#refused.reset();
    const { protocol, encrypted, boundPort: consumers } = session;
    this.metrics.sessionsOpened.inc({ protocol });
    const proxy = formatHostPort({ host: session.address, port: this.#options.proxyEndpoint.port });
    const moved = older !== undefined || undefined;
    this.log.info("session up", { proxy, protocol, encrypted, consumers, moved });
    if (older === undefined) return;
    const isSameProxy = older.instance === session.instance;
    if (!isSameProxy && session.proxyAddress !== undefined) older.moved(session.proxyAddress);
    // A proxy that drains, or that has this session now instead, gives the older one nothing any more.
    const wait = drains || isSameProxy ? 0 : handover;
    this.#former.set(
      older,
      setTimeout(() => this.#leave(older), wait),
    );
  }

  /** Takes no more streams from a former proxy. */
  #leave(session: TargetSession): void {
    clearTimeout(this.#former.get(session));
    if (!this.#former.delete(session)) return;
    this.#older.set(session, "draining");
    void session.drain().then(() => {
      if (this.#older.has(session)) this.#older.set(session, "drained");
      this.#retire(session);
    });
  }

  /** Ends an older session once its last stream is over. */
  #retire(session: TargetSession): void {
    if (session.streams > 0 || this.#older.get(session) !== "drained") return;
    this.#older.delete(session);
    session.end();
  }

  #drainedBy(session: TargetSession): void {
    this.#leave(session);
    if (session !== this.#current) return;
    this.log.info("the proxy drains: looking for another one", { streams: session.streams });
    this.#moving = true;
    this.#waits.hurry();
  }

  /** A look that has begun may wait for an answer that does not come. */
  #doubt(session: TargetSession): void {
    if (session === this.#current) this.#waits.hurry();
  }

  #over(session: TargetSession, cause: Error): void {
    this.#older.delete(session);
    clearTimeout(this.#former.get(session));
    this.#former.delete(session);
    if (session !== this.#current) return;
    this.#current = undefined;
    this.#problem = errorText(cause);
    if (this.#stopped) this.log.info("session ended", { streams: session.streams });
    if (this.#stopped) return;
    const held = performance.now() - this.#since;
    if (held > healthyAfter) this.#lost.reset();
    else if (held < briefSession) this.#pause = this.#lost.next();
    this.metrics.sessionsLost.inc({ reason: cause.name });
    this.log.warn("session lost", { reason: this.#problem, streams: session.streams });
    this.#waits.hurry();
  }

  /** Milliseconds to wait after a failed attempt. */
  #failed(cause: Error): number {
    this.#problem = errorText(cause);
    const isRefusal = cause instanceof RefusedByProxy;
    const wait = isRefusal ? 1000 + this.#refused.next() : this.#lost.next();
    const { message, reason } = failureOf(cause);
    this.metrics.reconnects.inc({ reason });
    if (isRefusal) this.metrics.authFailures.inc();
    const proxy = formatHostPort(this.#options.proxyEndpoint);
    const suspicion = isRefusal ? suspicionAbout(this.#options.secrets) : undefined;
    this.log.warn(message, { proxy, reason: this.#problem, suspicion, retryInMilliseconds: wait });
    return wait;
  }
}
