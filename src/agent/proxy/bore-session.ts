import { formatHostPort } from "../../endpoint.ts";
import { Deadlines } from "../deadlines.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { StreamError } from "../streams.ts";
import type { Consumer } from "./consumer.ts";
import type { ProxyCore, ProxySession } from "./proxy-core.ts";

/** Milliseconds between heartbeats, as bore's server sends them. */
const heartbeatInterval = 500;

/** A session with a stock bore client: it opens one connection for each consumer that it is told of. */
export class BoreSession implements ProxySession {
  readonly peer: string;
  readonly encrypted = false;
  streams = 0;
  #core: ProxyCore;
  #control: MessageConnection;
  #over = false;
  #superseded = false;
  #heartbeat: Timer;
  #waiting: Deadlines<Consumer>;
  #ids = new Map<string, Consumer>();

  constructor(core: ProxyCore, control: MessageConnection) {
    this.#core = core;
    this.#control = control;
    this.peer = formatHostPort(control.wire.remote);
    this.#waiting = new Deadlines(core.deadline, (consumer) => {
      this.#leave(consumer);
      core.refuse(consumer, new StreamError("lost", "no connection came for it in time"));
    });
    this.#heartbeat = setInterval(() => control.send("Heartbeat", null), heartbeatInterval);
    // The protocol has no answer to a heartbeat: only the kernel can notice a target that has vanished.
    control.wire.keepAlive(tunnelKeepAlive);
  }

  begin(): void {
    this.#control.handOver({
      message: ({ name }) => this.#control.fail(new ProtocolError(`unexpected ${name} in a session`)),
      over: (cause) => this.#end(cause),
    });
  }

  get available(): boolean {
    return !this.#over && !this.#superseded;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  supersede(): void {
    this.#superseded = true;
  }

  take(consumer: Consumer): void {
    const id = crypto.randomUUID();
    this.streams += 1;
    this.#ids.set(id, consumer);
    this.#waiting.add(consumer);
    consumer.wait(() => {
      this.#leave(consumer);
      this.#core.refuse(consumer, new StreamError("reset", "the consumer left before its start"));
    });
    this.#control.send("Connection", id);
  }

  /** A connection has come for the consumer `id`; false when it is none of this session's. */
  accept(id: string, wire: Wire, firstBytes: Uint8Array): boolean {
    const consumer = this.#ids.get(id);
    if (consumer === undefined) return false;
    this.#ids.delete(id);
    this.#waiting.delete(consumer);
    this.#core.metrics.startSeconds.observe(consumer.age / 1000);
    const facts = { stream: consumer.id, peer: consumer.from, since: consumer.since };
    const pipe = this.#core.streams.open(consumer.wire, wire, facts, () => {
      this.streams -= 1;
    });
    pipe.attach(pipe.back, firstBytes);
    consumer.join(pipe);
    return true;
  }

  /** bore knows no such message: its client goes on until the connection ends. */
  drain(): void {}

  end(): void {
    this.#control.reset();
    this.#end(undefined);
  }

  #leave(consumer: Consumer): void {
    this.#waiting.delete(consumer);
    for (const [id, other] of this.#ids) if (other === consumer) this.#ids.delete(id);
    this.streams -= 1;
  }

  #end(cause: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#heartbeat);
    this.#core.closed(this, cause);
    for (const consumer of this.#waiting.items()) {
      this.#leave(consumer);
      this.#core.place(consumer);
    }
  }
}
