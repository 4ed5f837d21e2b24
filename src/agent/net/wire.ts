import type { Socket } from "bun";
import type { HostPort } from "../../endpoint.ts";
import { type Duplex, type DuplexOwner, nobody } from "./duplex.ts";
import { HeldBack } from "./held-back.ts";
import { ipv4End, plainAddress } from "./socket-address.ts";
import { setResetOnClose } from "./socket-options.ts";
import { type HandshakeReport, type Side, TlsFailed, TlsHandshake, upgrade } from "./tls.ts";
import { deaf, type SocketEvents, tlsHandlers } from "./wire-handlers.ts";

/** The peer's reset met one of our writes before anything else. */
class ConnectionReset extends Error {
  override readonly name = "ConnectionReset";

  constructor() {
    super("connection reset by peer, write");
  }
}

const unbound = new Uint8Array(0);

/** Totals over all wires of the process. */
export const wires = {
  /** Open sockets. */
  open: 0,
  /** Bytes that wait in this process because a kernel did not take them yet. */
  buffered: 0,
};

/** Bun's sockets have their descriptor, its types do not say so yet. */
type BunSocket = Socket<SocketEvents> & { readonly fd: number };

/**
 * One TCP connection. Adds to a Bun socket what TCP users expect: `write` keeps what the kernel did not take, `finish` sends FIN
 * after that, `reset` sends RST, and the owner can change (handshake, pool, pipe).
 *
 * Facts about Bun 1.4 behind it: `write()` takes what fits and the rest must wait for `drain`; `end()` closes the descriptor and
 * can lose bytes (oven-sh/bun#35947), `shutdown()` sends FIN; a socket closes by itself when both directions have ended, and a
 * FIN that comes after our own is reported by that close alone, without `end`;
 * a reset is reported as a close with an error, also while the socket is paused; but a write that meets the reset first takes -1, uses
 * up the system's error, and what Bun reports then looks like a FIN: `end`, and a close without an error.
 *
 * With `secure` it becomes one under TLS, for which all of this holds as well. Two things are different there. Who stands between the two
 * ends can send a FIN at any point, and `ended` looks the same with and without the peer's close_notify: whether that was the end is for
 * messages inside to say. And a paused TLS socket may still report what it has decrypted, or the end: that waits here for `resume`.
 */
export class Wire implements Duplex, SocketEvents {
  owner: DuplexOwner = nobody;
  open = true;
  /** Of a wire under TLS, 32 bytes that only its two ends know (RFC 9266); empty otherwise. */
  binding: Uint8Array = unbound;
  #socket: BunSocket;
  #remote: HostPort | undefined;
  #tail: Uint8Array | undefined;
  #finishing = false;
  /** A write has failed, or TLS has: whatever ends the connection now is no FIN. */
  #broken: Error | undefined;
  #paused = false;
  /** A close without FIN is a reset. */
  #resets: boolean;
  /** The peer's FIN has been reported. */
  #ended = false;
  #handshake: TlsHandshake | undefined;
  /** What was reported during a pause; only under TLS. */
  #heldBack: HeldBack | undefined;

  /** `onClose` is what the kernel sends on a close without shutdown as things are; an accepted socket has that from its listener. */
  constructor(socket: Socket<SocketEvents>, onClose: "reset" | "fin" = "fin") {
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
    return this.open && this.#tail === undefined && this.#broken === undefined && !this.#finishing;
  }

  get isSecure(): boolean {
    return this.binding.byteLength > 0;
  }

  /** The peer's address; after `reset` too. A connection that the peer has closed has none any more. */
  get remote(): HostPort {
    const known = this.#remote ?? (this.open ? ipv4End(this.descriptor, "peer") : undefined);
    return known ?? { host: plainAddress(this.#socket.remoteAddress), port: this.#socket.remotePort ?? 0 };
  }

  get local(): HostPort {
    const known = this.open ? ipv4End(this.descriptor, "own") : undefined;
    return known ?? { host: plainAddress(this.#socket.localAddress), port: this.#socket.localPort };
  }

  /** Another machine passes everything on: from now on the peer is the one behind it. */
  leadsTo(remote: HostPort): void {
    this.#remote = remote;
  }

  /** `isShared`: the bytes are the caller's again afterwards. */
  write(chunk: Uint8Array, isShared = false): boolean {
    if (!this.open) return true;
    if (this.#tail !== undefined) {
      this.#keep(Buffer.concat([this.#tail, chunk]));
      return false;
    }
    const taken = this.#send(chunk);
    if (taken === chunk.byteLength) return true;
    this.#keep(isShared ? chunk.slice(taken) : rest(chunk, taken));
    return false;
  }

  /** How much the kernel took. */
  #send(bytes: Uint8Array): number {
    const taken = this.#socket.write(bytes);
    if (taken >= 0) return taken;
    this.onBroken(new ConnectionReset());
    return 0;
  }

  onBroken(cause: Error): void {
    if (this.#broken !== undefined) return;
    this.#broken = cause;
    // Bun reports the close of a paused socket only sometimes. Not within this call: whoever writes does not expect `closed` in it.
    queueMicrotask(() => {
      if (this.open) this.#socket.terminate();
      this.onClose(undefined);
    });
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
    // Before Bun reports anything new, and not within this call.
    const heldBack = this.#heldBack;
    if (heldBack !== undefined && !heldBack.isEmpty) queueMicrotask(() => heldBack.release(() => !this.#paused));
  }

  /**
   * Goes on under TLS 1.3, as one side of it; the peer has to be the other one. Nothing that belongs to TLS may have been read before: Bun cannot
   * take it back. So the client sends nothing between its word that asks for TLS and the answer, and whoever reads either makes sure that nothing
   * came behind it. Resolves once there is a `binding`, before the owner gets a byte from inside. No certificate is judged: a proof over the
   * binding tells who the peer is. Rejects with TlsFailed, within 3 s, when it fails or the wire is closed; the wire is reset then, as by `reset`.
   */
  secure(side: Side): Promise<void> {
    const handshake = new TlsHandshake(side, (cause) => {
      this.#handshake = undefined;
      if (cause === undefined) this.binding = handshake.binding;
      else this.reset();
    });
    this.#handshake = handshake;
    this.resume();
    try {
      if (!this.isClear || this.isSecure) throw new TlsFailed("the connection is in use");
      const { raw, tls } = upgrade<SocketEvents>(this.#socket, side, this, tlsHandlers);
      raw.data = deaf;
      this.#socket = tls as BunSocket;
      this.#heldBack = new HeldBack(wires);
    } catch (cause) {
      handshake.fail(cause);
    }
    return handshake.result;
  }

  onHandshake(report: HandshakeReport): void {
    this.#handshake?.over(this.#socket, report);
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
    if (this.#handshake !== undefined) {
      this.#handshake.fail(new TlsFailed("given up"));
      return;
    }
    // Bun forgets it with the socket, and whoever logs the reset comes later.
    this.#remote = this.remote;
    this.#socket.terminate();
    // It may be gone already, which was held back.
    if (this.#heldBack?.forget()) this.onClose(undefined);
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

  onData(chunk: Uint8Array): void {
    const heldBack = this.#holdsBack;
    if (heldBack === undefined) this.owner.received(chunk);
    else heldBack.add(() => this.owner.received(chunk), chunk.byteLength);
  }

  onEnd(): void {
    if (this.#broken !== undefined) return;
    const heldBack = this.#holdsBack;
    if (this.#handshake !== undefined) this.#handshake.fail(new TlsFailed("closed by the peer"));
    else if (heldBack === undefined) this.#onEnd();
    else heldBack.add(() => this.#onEnd());
  }

  get #holdsBack(): HeldBack | undefined {
    return this.#paused || this.#heldBack?.isEmpty === false ? this.#heldBack : undefined;
  }

  #onEnd(): void {
    this.#ended = true;
    this.owner.ended();
  }

  onClose(cause: Error | undefined): void {
    if (!this.open) return;
    // An orderly end comes after everything else.
    if (cause === undefined && this.#broken === undefined && this.#heldBack?.close(() => this.onClose(undefined)))
      return;
    this.#heldBack?.forget();
    this.open = false;
    wires.open -= 1;
    const sentFin = this.#finishing && this.#tail === undefined;
    this.#keep(undefined);
    // Bun reports a FIN that comes after our own as the close alone.
    if (cause === undefined && sentFin && !this.#ended) this.#onEnd();
    this.#handshake?.fail(new TlsFailed(cause?.message ?? "closed by the peer", { cause }));
    const owner = this.owner;
    this.owner = nobody;
    owner.closed(cause ?? this.#broken);
  }
}

/** What is left of `chunk`: copied when it is the smaller part, so that it does not keep the whole read in memory. */
function rest(chunk: Uint8Array, taken: number): Uint8Array {
  const left = chunk.subarray(taken);
  return left.byteLength * 2 < left.buffer.byteLength ? left.slice() : left;
}
