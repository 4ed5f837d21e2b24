import { connectWire } from "../../src/agent/net/connect.ts";
import type { DuplexOwner } from "../../src/agent/net/duplex.ts";
import { listenWires } from "../../src/agent/net/listen.ts";
import { TlsFailed } from "../../src/agent/net/tls.ts";
import type { Wire } from "../../src/agent/net/wire.ts";
import { type Relay, startRelay } from "./relay.ts";
import { createChanges } from "./tcp-wait.ts";

/** One end of a wire: what it was told of, in order, as a test sees it. */
export class WireEnd implements DuplexOwner {
  readonly events: string[] = [];
  bytes = 0;
  #chunks: Uint8Array[] = [];
  #changes = createChanges();
  /** Called with each chunk. */
  onChunk: ((chunk: Uint8Array) => void) | undefined;
  onDrained: (() => void) | undefined;

  constructor(
    readonly wire: Wire,
    /** Absent: bytes are only counted. */
    readonly keep = true,
  ) {
    wire.owner = this;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  received(chunk: Uint8Array): void {
    this.bytes += chunk.byteLength;
    if (this.keep) this.#chunks.push(chunk);
    if (this.events.at(-1) !== "bytes") this.events.push("bytes");
    this.onChunk?.(chunk);
    this.#changes.changed();
  }

  drained(): void {
    this.onDrained?.();
    this.#changes.changed();
  }

  ended(): void {
    this.events.push("ended");
    this.#changes.changed();
  }

  closed(cause: Error | undefined): void {
    const code = cause !== undefined && "code" in cause ? String(cause.code) : cause?.name;
    this.events.push(cause === undefined ? "closed" : `closed: ${code}`);
    this.#changes.changed();
  }

  until(condition: () => boolean, what: string, deadline?: number): Promise<void> {
    return this.#changes.until(
      condition,
      () => `${what} (${JSON.stringify(this.events)}, ${this.bytes} bytes)`,
      deadline,
    );
  }

  async untilText(text: string): Promise<void> {
    await this.until(() => this.text.length >= text.length, `"${text}" arrives`);
  }

  untilEvent(event: string, deadline?: number): Promise<void> {
    return this.until(() => this.events.some((one) => one.startsWith(event)), `${event} is reported`, deadline);
  }
}

export interface WirePair extends AsyncDisposable {
  client: Wire;
  server: Wire;
  relay: Relay | undefined;
}

/** Two connected wires of this process, both plain yet; over a relay if asked for. */
export async function connectWires(over: "directly" | "relay" = "directly"): Promise<WirePair> {
  await using stack = new AsyncDisposableStack();
  const accepted = Promise.withResolvers<Wire>();
  const listener = listenWires(
    { host: "127.0.0.1", port: 0 },
    {
      spareDescriptors: () => 0,
      accept: (wire) => accepted.resolve(wire),
      exhausted: () => accepted.reject(new Error("exhausted")),
    },
  );
  stack.defer(() => listener.stop());
  const relay = over === "relay" ? stack.use(await startRelay({ host: "127.0.0.1", port: listener.port })) : undefined;
  const client = await connectWire("127.0.0.1", relay?.port ?? listener.port).wire;
  stack.defer(() => client.reset());
  const server = await accepted.promise;
  stack.defer(() => server.reset());
  const owned = stack.move();
  return { client, server, relay, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Lets both ends go on under TLS, and owns them then. */
export async function secureWires(over: "directly" | "relay" = "directly", keep: "keep" | "count" = "keep") {
  const pair = await connectWires(over);
  const ends = { client: new WireEnd(pair.client, keep === "keep"), server: new WireEnd(pair.server, keep === "keep") };
  await Promise.all([pair.client.secure("client"), pair.server.secure("server")]);
  return { ...ends, relay: pair.relay, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

/** `secure`, or why not. */
export const outcomeOf = (attempt: Promise<void>): Promise<string> =>
  attempt.then(
    () => "secure",
    (cause) => (cause instanceof TlsFailed ? cause.message : `unexpected ${cause}`),
  );
