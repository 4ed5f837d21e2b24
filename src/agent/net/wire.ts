import { isIP } from "node:net";
import type { Socket } from "bun";
import type { HostPort } from "../../endpoint.ts";
import { type Duplex, type DuplexOwner, nobody } from "./duplex.ts";
import { setResetOnClose } from "./socket-options.ts";

/** The peer's reset met one of our writes before anything else. */
class ConnectionReset extends Error {
  override readonly name = "ConnectionReset";

  constructor() {
    super("connection reset by peer, write");
  }
}

/** Totals over all wires of the process. */
export const wires = {
  /** Open sockets. */
  open: 0,
  /** Bytes that wait in this process because a kernel did not take them yet. */
  buffered: 0,
};

/** Bun's sockets have their descriptor, its types do not say so yet. */
type BunSocket = Socket<Wire> & { readonly fd: number };

/**
 * One TCP connection. Adds to a Bun socket what TCP users expect: `write` keeps what the kernel did not take, `finish` sends FIN
 * after that, `reset` sends RST, and the owner can change (handshake, pool, pipe).
 *
 * Facts about Bun 1.4 behind it: `write()` takes what fits and the rest must wait for `drain`; `end()` closes the descriptor and
 * can lose bytes (oven-sh/bun#35947), `shutdown()` sends FIN; a socket closes by itself when both directions have ended, and a
 * FIN that comes after our own is reported by that close alone, without `end`;
 * a reset is reported as a close with an error, also while the socket is paused; but a write that meets the reset first takes -1, uses
 * up the system's error, and what Bun reports then looks like a FIN: `end`, and a close without an error.
 */
export class Wire implements Duplex {
  owner: DuplexOwner = nobody;
  open = true;
  #socket: BunSocket;
  #remote: HostPort | undefined;
  #tail: Uint8Array | undefined;
  #finishing = false;
  /** A write has failed: whatever ends the connection now is no FIN. */
  #broken = false;
  #paused = false;
  /** A close without FIN is a reset. */
  #resets: boolean;
  /** The peer's FIN has been reported. */
  #ended = false;

  /** `onClose` is what the kernel sends on a close without shutdown as things are; an accepted socket has that from its listener. */
  constructor(socket: Socket<Wire>, onClose: "reset" | "fin" = "fin") {
    this.#socket = socket as BunSocket;
    this.#resets = onClose === "reset";
    wires.open += 1;
  }

  /** Bytes written but not yet taken by the kernel. */
  get backlog(): number {
    return this.#tail?.byteLength ?? 0;
  }

  get descriptor(): number {
    return this.#socket.fd;
  }

  /** Encrypted: its bytes are not those that the kernel has. */
  get isSecure(): boolean {
    return false;
  }

  get rawSource(): Wire | undefined {
    return this.isSecure ? undefined : this;
  }

  get rawSink(): Wire | undefined {
    return this.isSecure ? undefined : this;
  }

  /** It is, unless it is encrypted. */
  turnRaw(): void {}

  /** FIN has been sent, or waits behind what has to be written. */
  get isFinishing(): boolean {
    return this.#finishing;
  }

  /** The kernel takes bytes: nothing waits, and no FIN has been sent. */
  get isClear(): boolean {
    return this.open && this.#tail === undefined && !this.#broken && !this.#finishing;
  }

  /** The peer's address; after `reset` too. A connection that the peer has closed has none any more. */
  get remote(): HostPort {
    return this.#remote ?? { host: plainAddress(this.#socket.remoteAddress), port: this.#socket.remotePort ?? 0 };
  }

  get local(): HostPort {
    return { host: plainAddress(this.#socket.localAddress), port: this.#socket.localPort };
  }

  /** Another machine passes everything on: from now on the peer is the one behind it. */
  leadsTo(remote: HostPort): void {
    this.#remote = remote;
  }

  write(chunk: Uint8Array): boolean {
    return this.#write(chunk, rest);
  }

  /** As `write`, but the bytes are the caller's again afterwards. */
  writeShared(bytes: Uint8Array): boolean {
    return this.#write(bytes, (chunk, taken) => chunk.slice(taken));
  }

  #write(chunk: Uint8Array, restOf: (chunk: Uint8Array, taken: number) => Uint8Array): boolean {
    if (!this.open) return true;
    if (this.#tail !== undefined) {
      this.#keep(Buffer.concat([this.#tail, chunk]));
      return false;
    }
    const taken = this.#send(chunk);
    if (taken === chunk.byteLength) return true;
    this.#keep(restOf(chunk, taken));
    return false;
  }

  /** How much the kernel took. */
  #send(bytes: Uint8Array): number {
    const taken = this.#socket.write(bytes);
    if (taken >= 0) return taken;
    if (!this.#broken) {
      this.#broken = true;
      // Bun reports the close of a paused socket only sometimes. Not within this call: whoever writes does not expect `closed` in it.
      queueMicrotask(() => {
        if (this.open) this.#socket.terminate();
        this.onClose(undefined);
      });
    }
    return 0;
  }

  pause(): void {
    if (this.#paused || !this.open) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused || !this.open) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** From now on the death of this process resets the connection, until `finish` has sent its FIN. */
  carryStream(): void {
    if (!this.#resets) setResetOnClose(this.#socket.fd, "reset");
    this.#resets = true;
  }

  /** Sends FIN once everything written is out. Reading goes on. */
  finish(): void {
    if (this.#finishing || !this.open) return;
    this.#finishing = true;
    if (this.#tail === undefined) this.#shutdown();
  }

  #shutdown(): void {
    if (this.#resets) setResetOnClose(this.#socket.fd, "fin");
    this.#socket.shutdown();
  }

  /** Sends RST; the owner hears nothing more. */
  reset(): void {
    this.owner = nobody;
    if (!this.open) return;
    // Bun forgets it with the socket, and whoever logs the reset comes later.
    this.#remote = this.remote;
    this.#socket.terminate();
  }

  /** Detects a peer that has vanished: idle for `seconds`, then ten probes one second apart (Bun's fixed values, those of libuv). */
  keepAlive(seconds: number): void {
    this.#socket.setKeepAlive(true, seconds * 1000);
  }

  #keep(tail: Uint8Array | undefined): void {
    wires.buffered += (tail?.byteLength ?? 0) - this.backlog;
    this.#tail = tail;
  }

  onDrain(): void {
    if (this.#tail === undefined) return;
    const taken = this.#send(this.#tail);
    if (taken < this.#tail.byteLength) {
      this.#keep(rest(this.#tail, taken));
      return;
    }
    this.#keep(undefined);
    if (this.#finishing) this.#shutdown();
    this.owner.drained();
  }

  onEnd(): void {
    if (this.#broken) return;
    this.#ended = true;
    this.owner.ended();
  }

  onClose(cause: Error | undefined): void {
    if (!this.open) return;
    this.open = false;
    wires.open -= 1;
    const sentFin = this.#finishing && this.#tail === undefined;
    this.#keep(undefined);
    // Bun reports a FIN that comes after our own as the close alone.
    if (cause === undefined && sentFin && !this.#ended) this.onEnd();
    const owner = this.owner;
    this.owner = nobody;
    owner.closed(this.#broken ? (cause ?? new ConnectionReset()) : cause);
  }
}

/** What is left of `chunk`: copied when it is the smaller part, so that it does not keep the whole read in memory. */
function rest(chunk: Uint8Array, taken: number): Uint8Array {
  const left = chunk.subarray(taken);
  return left.byteLength * 2 < left.buffer.byteLength ? left.slice() : left;
}

/** Stands for the address of a peer that had gone before anybody asked for it. */
export const unknownHost = "unknown";

/** An IPv4 peer of a listener on `::` appears as `::ffff:a.b.c.d`. */
function plainAddress(address: string | undefined): string {
  if (address === undefined) return unknownHost;
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
