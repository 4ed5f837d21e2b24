import type { DuplexOwner } from "../../src/agent/net/duplex.ts";
import type { Channel } from "../../src/agent/protocol/channel.ts";
import { DataConnection, type DataConnectionOwner } from "../../src/agent/protocol/data-connection.ts";
import type { Refusal } from "../../src/agent/protocol/frames.ts";
import { ProtocolError } from "../../src/agent/protocol/messages.ts";
import { startProof } from "../../src/agent/protocol/proofs.ts";
import { connectWires } from "./secure-wires.ts";
import { createChanges } from "./tcp-wait.ts";

/** The key of the session that the connections belong to. */
export const sessionKey = new Uint8Array(32).fill(7);
export const proofOf = (stream: number): Uint8Array => startProof(sessionKey, 2, 1, stream);

/** One end of a stream on a data connection, and what it was told, in order. */
export class StreamEnd implements DuplexOwner {
  readonly events: string[] = [];
  bytes = 0;
  #chunks: Uint8Array[] = [];
  #changes = createChanges();

  constructor(readonly channel: Channel) {
    channel.owner = this;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  /** `open`, `complete` once both directions have ended, or `cut`. */
  get fate(): string {
    return this.events.findLast((event) => event === "complete" || event === "cut") ?? "open";
  }

  received(chunk: Uint8Array): void {
    this.bytes += chunk.byteLength;
    this.#chunks.push(chunk.slice());
    this.#changes.changed();
  }

  drained(): void {}

  ended(): void {
    this.#tell("ended");
  }

  closed(cause: Error | undefined): void {
    this.#tell(cause === undefined ? "complete" : "cut");
  }

  #tell(event: string): void {
    this.events.push(event);
    this.#changes.changed();
  }

  until(condition: (end: StreamEnd) => boolean, what: string): Promise<void> {
    return this.#changes.until(
      () => condition(this),
      () => `${what} (${JSON.stringify(this.events)}, ${this.bytes} bytes)`,
    );
  }

  untilEvent(event: string): Promise<void> {
    return this.until((end) => end.events.includes(event), event);
  }

  untilBytes(bytes: number): Promise<void> {
    return this.until((end) => end.bytes >= bytes, `${bytes} bytes`);
  }
}

/** A session's part: what a data connection told it, in order. */
export class ConnectionOwner implements DataConnectionOwner {
  readonly events: string[] = [];
  /** Streams that were started here. */
  readonly streams: StreamEnd[] = [];
  #changes = createChanges();

  heard(): void {
    this.#changes.changed();
  }

  start(_connection: DataConnection, channel: Channel): void {
    this.streams.push(new StreamEnd(channel));
    this.#tell("start");
  }

  started(): void {
    this.#tell("started");
  }

  refused(channel: Channel, { reason }: Refusal): void {
    this.#tell(`refused: ${reason}`);
    // As a session does: the stream is over here.
    channel.reset();
  }

  free(): void {
    this.#tell("free");
  }

  lost(_connection: DataConnection, cause: Error, channel: Channel | undefined): void {
    const kind = cause instanceof ProtocolError ? cause.message : "broken";
    this.#tell(channel === undefined ? `lost: ${kind}` : `lost with its start: ${kind}`);
  }

  stray(): void {
    throw new ProtocolError("a stray message");
  }

  #tell(event: string): void {
    this.events.push(event);
    this.#changes.changed();
  }

  count(event: string): number {
    return this.events.filter((one) => one === event).length;
  }

  until(condition: () => boolean, what: string, deadline?: number): Promise<void> {
    return this.#changes.until(condition, () => `${what} (${JSON.stringify(this.events)})`, deadline);
  }

  async untilTold(event: string, times = 1): Promise<void> {
    await this.until(() => this.count(event) >= times, `${event}, ${times} times`);
  }

  /** The `index`-th stream that was started here. */
  async stream(index: number): Promise<StreamEnd> {
    await this.until(() => this.streams.length > index, `stream ${index} is started`);
    const stream = this.streams[index];
    if (stream === undefined) throw new Error("unreachable: the condition above holds");
    return stream;
  }
}

/** A proxy's and a target's end of one data connection, on real sockets of this process. */
export async function openDataConnections() {
  const pair = await connectWires();
  const owners = { proxy: new ConnectionOwner(), target: new ConnectionOwner() };
  const proxy = new DataConnection(pair.server, 2, proofOf, owners.proxy);
  const target = new DataConnection(pair.client, 2, proofOf, owners.target);
  let count = 0;
  return {
    proxy,
    target,
    owners,
    /** A stream with both ends, confirmed by the target. */
    open: async () => {
      const left = new StreamEnd(proxy.begin({ from: "192.0.2.1:1", to: "192.0.2.2:2" }));
      left.channel.flush();
      const right = await owners.target.stream(count);
      count += 1;
      right.channel.confirm();
      await owners.proxy.untilTold("started", count);
      return { left, right };
    },
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}

export type DataConnections = Awaited<ReturnType<typeof openDataConnections>>;
