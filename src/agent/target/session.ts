import { parseHostPort } from "../../endpoint.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Channel } from "../protocol/channel.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import { type Message, ProtocolError } from "../protocol/messages.ts";
import type { Key } from "../protocol/proofs.ts";
import { Pulse } from "../protocol/pulse.ts";
import { Stream, type StreamHolder } from "../stream.ts";
import { TargetPool } from "./pool.ts";
import { serve } from "./serve.ts";
import type { SessionEvents, TargetCore, TargetSession } from "./target-core.ts";

/** Milliseconds that a proxy has for closing the idle connections of a session that was drained. */
const drainTimeout = 2000;
/** Milliseconds between looks at whether the pool is larger than needed. */
const settleInterval = 10_000;

export interface NetaminityIdentity {
  address: string;
  port: number;
  instance: number;
  /** Of the extension, that both know. */
  revision: 1 | 2;
  proxyAddress: string | undefined;
  session: string;
  key: Key;
  secret: string;
  encrypted: boolean;
}

/** A session with a netaminity proxy: a control connection, and a pool of data connections that wait for consumers. */
export class NetaminityTargetSession implements TargetSession, StreamHolder {
  readonly protocol = "netaminity";
  readonly address: string;
  readonly instance: number;
  readonly proxyAddress: string | undefined;
  readonly boundPort = undefined;
  readonly secret: string;
  readonly encrypted: boolean;
  streams = 0;
  #revision: 1 | 2;
  #core: TargetCore;
  #control: MessageConnection;
  #events: SessionEvents;
  #pulse: Pulse;
  #pool: TargetPool;
  #settling: Timer;
  #over = false;

  constructor(core: TargetCore, control: MessageConnection, identity: NetaminityIdentity, events: SessionEvents) {
    this.#core = core;
    this.#control = control;
    this.#events = events;
    this.address = identity.address;
    this.instance = identity.instance;
    this.secret = identity.secret;
    this.#revision = identity.revision;
    this.encrypted = identity.encrypted;
    this.proxyAddress = identity.proxyAddress;
    const { way, deadline, poolMin, poolMax } = core;
    const { address, port, proxyAddress } = identity;
    const itself = proxyAddress === undefined ? undefined : parseHostPort(proxyAddress);
    this.#pool = new TargetPool({
      ...identity,
      // The address of the session may lead to another proxy later, which does not know it.
      places: [{ host: address, port }, ...(itself === undefined ? [] : [itself])],
      way,
      deadline,
      min: poolMin,
      max: poolMax,
      start: (channel, consumer) => this.#start(channel, consumer),
      strayed: () => events.strayed(),
    });
    this.#pulse = new Pulse(control, deadline, {
      beat: () => this.#pool.check(),
      doubt: () => events.doubted(),
      dead: () => control.fail(new ProtocolError("the proxy is silent")),
    });
    this.#settling = setInterval(() => this.#settle(), settleInterval);
    control.wire.keepAlive(tunnelKeepAlive);
  }

  begin(): void {
    this.#control.handOver({ message: (message) => this.#message(message), over: (cause) => this.#end(cause) });
    this.#pool.fill();
  }

  get pool(): TargetSession["pool"] {
    return { idle: this.#pool.idle, opening: this.#pool.opening, wanted: this.#pool.size.size };
  }

  get isDoubted(): boolean {
    return this.#pulse.isDoubted;
  }

  get roundTrip(): number | undefined {
    return this.#pulse.roundTrip;
  }

  strayed(): void {
    this.#pool.avoid();
  }

  moved(to: string): void {
    if (!this.#over) this.#control.send("Moved", to);
  }

  async drain(): Promise<void> {
    if (this.#over) return;
    this.#pool.close();
    this.#control.send("Drain", null);
    // Starts may be on their way until the proxy has closed the connections they would come on.
    const until = performance.now() + drainTimeout;
    while (!this.#over && this.#pool.idle + this.#pool.opening > 0 && performance.now() < until) await Bun.sleep(10);
  }

  end(): void {
    this.#control.reset();
    this.#end(undefined);
  }

  #message(message: Message): void {
    if (this.#pulse.received(message)) return;
    switch (message.name) {
      case "Open":
        this.#pool.want(message.value);
        return;
      case "Drain":
        this.#events.draining();
        return;
      default:
        throw new ProtocolError(`unexpected ${message.name} in a session`);
    }
  }

  #start(channel: Channel, consumer: { from: string; to: string }): void {
    this.streams += 1;
    const stream = new Stream(this.#core.streams, channel, consumer);
    stream.holder = this;
    void serve(stream, this.#core.backend, {
      connected: () => channel.confirm(),
      failed: ({ result, message }) => channel.refuse({ result, reason: message }),
    });
  }

  ended(): void {
    this.streams -= 1;
    if (this.streams === 0) this.#events.unused();
  }

  /** Only the proxy can close an idle connection: it knows whether a consumer is on its way to it. */
  #settle(): void {
    const excess = this.#pool.size.settle(this.#pool.idle);
    if (excess > 0 && this.#revision === 2) this.#control.send("Shed", excess);
  }

  #end(cause: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#pulse.stop();
    clearInterval(this.#settling);
    this.#pool.end();
    if (cause !== undefined) this.#events.over(cause);
  }
}
