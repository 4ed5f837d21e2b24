import { formatHostPort } from "../../endpoint.ts";
import { Deadlines } from "../deadlines.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { type Stream, StreamError, type StreamHolder } from "../stream.ts";
import type { ProxyCore, ProxySession } from "./proxy-core.ts";

/** Milliseconds between heartbeats, as bore's server sends them. */
const heartbeatInterval = 500;

/** A session with a stock bore client: it opens one connection for each consumer that it is told of. */
export class BoreSession implements ProxySession, StreamHolder {
  readonly peer: string;
  readonly encrypted = false;
  readonly left = false;
  streams = 0;
  #core: ProxyCore;
  #control: MessageConnection;
  #over = false;
  #superseded = false;
  #heartbeat: Timer;
  #waiting: Deadlines<Stream>;
  #ids = new Map<string, Stream>();

  constructor(
    core: ProxyCore,
    control: MessageConnection,
    readonly secret: string,
  ) {
    this.#core = core;
    this.#control = control;
    this.peer = formatHostPort(control.wire.remote);
    this.#waiting = new Deadlines(core.deadline, (stream) =>
      stream.fail(new StreamError("lost", "no connection came for it in time")),
    );
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

  take(stream: Stream): void {
    const id = crypto.randomUUID();
    this.streams += 1;
    this.#ids.set(id, stream);
    this.#waiting.add(stream);
    stream.wait(this);
    this.#control.send("Connection", id);
  }

  /** A connection has come for the consumer `id`; false when it is none of this session's. */
  accept(id: string, wire: Wire, firstBytes: Uint8Array): boolean {
    const stream = this.#ids.get(id);
    if (stream === undefined) return false;
    this.#ids.delete(id);
    this.#waiting.delete(stream);
    this.#core.metrics.startSeconds.observe(stream.age / 1000);
    stream.join(wire, firstBytes);
    return true;
  }

  ended(stream: Stream): void {
    if (this.#waiting.delete(stream)) this.#forget(stream);
    this.streams -= 1;
  }

  /** bore knows no such message: its client goes on until the connection ends. */
  drain(): void {}

  end(): void {
    this.#control.reset();
    this.#end(undefined);
  }

  #forget(stream: Stream): void {
    for (const [id, other] of this.#ids) if (other === stream) this.#ids.delete(id);
  }

  #end(cause: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#heartbeat);
    this.#core.closed(this, cause);
    this.#ids.clear();
    for (const stream of this.#waiting.items()) {
      this.#waiting.delete(stream);
      this.streams -= 1;
      this.#core.place(stream);
    }
  }
}
