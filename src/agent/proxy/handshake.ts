import { formatHostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import { suspicionAbout } from "../../secret.ts";
import { Deadlines } from "../deadlines.ts";
import { afterNextPoll } from "../net/turn.ts";
import type { Wire } from "../net/wire.ts";
import { formatUuid, makeChallenge } from "../protocol/challenge.ts";
import { MessageConnection } from "../protocol/message-connection.ts";
import { type Message, type Messages, ProtocolError } from "../protocol/messages.ts";
import {
  answer,
  attachedProof,
  attachProof,
  bound,
  checkedProof,
  checkProof,
  type Key,
  keyOf,
  matches,
  serveProof,
  servingProof,
  sessionKey,
  toHex,
} from "../protocol/proofs.ts";
import { Quota } from "../quota.ts";
import type { Arrivals, HandshakeOptions } from "./arrivals.ts";
import { awaitFramed, noSession } from "./framed-consumer.ts";

/** Milliseconds until a peer must have said what it is; bore's limit too. */
const handshakeTimeout = 3000;
/** Peers that may be in a handshake at once. Real ones are done within a round trip, so above this the oldest has to go. */
const maxHandshakes = 1024;

class AuthError extends Error {
  override readonly name = "AuthError";

  /** `suspicion`: what is odd about the secrets of this end, for its own log alone. */
  constructor(
    message: string,
    readonly suspicion?: string,
  ) {
    super(message);
  }
}

/** One peer before it has proved anything. */
interface Peer {
  connection: MessageConnection;
  /** Absent until it is sent. */
  challenge: Uint8Array | undefined;
  /** The secret that it has shown to know in bore's first step. */
  authenticated: string | undefined;
  /** It has asked for TLS, which is not there yet. */
  securing: boolean;
}

function challengeOf({ challenge }: Peer): Uint8Array {
  if (challenge === undefined) throw new ProtocolError("a proof before its challenge");
  return challenge;
}

/** Meets everybody who connects to the rendezvous port, and keeps strangers from costing more than a descriptor for three seconds. */
export class Handshakes {
  #pending: Deadlines<Peer>;
  /** Peers that were refused and have not closed their side yet. */
  #leaving = new Deadlines<Peer>(handshakeTimeout, ({ connection }) => connection.reset());
  #unchallenged: Peer[] = [];
  #lines = new Quota(10, 1);

  constructor(
    readonly options: HandshakeOptions,
    readonly arrivals: Arrivals,
  ) {
    this.#pending = new Deadlines(handshakeTimeout, (peer) => this.#drop(peer, "timeout"));
    options.metrics.gauge(
      "handshakes_pending",
      "Proxy: peers that have not said yet what they are.",
      () => this.#pending.size,
    );
  }

  meet(wire: Wire): void {
    const peer: Peer = {
      challenge: undefined,
      authenticated: undefined,
      securing: false,
      connection: new MessageConnection(wire, {
        message: (message) => this.#message(peer, message),
        over: (cause) => this.#over(peer, cause),
      }),
    };
    const { oldest } = this.#pending;
    if (this.#pending.size >= maxHandshakes && oldest !== undefined) this.#drop(oldest, "overload");
    this.#pending.add(peer);
    this.#challengeSoon(peer);
  }

  #challengeSoon(peer: Peer): void {
    this.#unchallenged.push(peer);
    if (this.#unchallenged.length === 1) afterNextPoll(() => this.#challenge());
  }

  /** A data connection of our own targets speaks first, and is in the pool by now: it needs no challenge. */
  #challenge(): void {
    for (const peer of this.#unchallenged.splice(0)) {
      if (peer.securing || peer.challenge !== undefined || !this.#pending.has(peer)) continue;
      const { instance, encryption } = this.options;
      peer.challenge = makeChallenge(instance, crypto.getRandomValues(new Uint8Array(8)), encryption);
      peer.connection.send("Challenge", formatUuid(peer.challenge));
    }
  }

  stop(): void {
    for (const peers of [this.#pending, this.#leaving]) {
      for (const { connection } of peers.items()) connection.reset();
      peers.clear();
    }
  }

  #message(peer: Peer, message: Message): void {
    try {
      this.#step(peer, message);
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      this.options.metrics.authFailures.inc();
      this.#complain("authentication failed", peer, error.message, error.suspicion);
      this.#refuse(peer, error.message);
    }
  }

  #step(peer: Peer, message: Message): void {
    const { isSecure } = peer.connection.wire;
    if (message.name === "StartTls" && !isSecure && !peer.securing && peer.authenticated === undefined) {
      void this.#secure(peer);
      return;
    }
    if (this.options.encryption === "required" && !isSecure) {
      this.#refuseUnencrypted(peer);
      return;
    }
    switch (message.name) {
      case "Authenticate": {
        const challenge = challengeOf(peer);
        peer.authenticated = this.#proven(peer, (key) => matches(answer(key, challenge), message.value)).secret;
        return;
      }
      case "Hello": {
        const secret = this.#authenticated(peer);
        this.#pending.delete(peer);
        if (this.#turnsAway(peer)) return;
        peer.connection.send("Hello", this.options.consumerPort());
        this.arrivals.boreSession(peer.connection, secret);
        return;
      }
      case "Accept": {
        this.#authenticated(peer);
        this.#pending.delete(peer);
        const { wire, rest } = peer.connection.release();
        if (!this.arrivals.accept(message.value, wire, rest)) wire.reset();
        return;
      }
      case "Attach":
        this.#attach(peer, message.value);
        return;
      case "Check":
        this.#check(peer, message.value);
        return;
      case "Serve":
        this.#serve(peer, message.value);
        return;
      case "Join": {
        // From here on the wire may have another owner, who may have used it already.
        const { wire } = peer.connection.release();
        this.#pending.delete(peer);
        if (!this.arrivals.join(wire, message.value)) this.#refuse(peer, "unknown session");
        return;
      }
      default:
        throw new ProtocolError(`unexpected ${message.name} in a handshake`);
    }
  }

  /** Goes on inside TLS, where nothing counts that was said before. All of it takes no longer than any other handshake may. */
  async #secure(peer: Peer): Promise<void> {
    const { connection } = peer;
    peer.securing = true;
    connection.send("StartTls", null);
    try {
      await connection.secure("server");
    } catch (cause) {
      if (!this.#pending.delete(peer)) return;
      this.options.metrics.handshakesDropped.inc({ reason: "malformed" });
      this.#complain("handshake failed", peer, `TLS: ${errorText(cause)}`);
      return;
    }
    peer.securing = false;
    peer.challenge = undefined;
    if (this.#pending.has(peer)) this.#challengeSoon(peer);
  }

  #refuseUnencrypted(peer: Peer): void {
    this.options.metrics.handshakesDropped.inc({ reason: "unencrypted" });
    this.#complain("handshake failed", peer, "it does not encrypt, which this proxy requires");
    this.#refuse(peer, "encryption is required: this proxy accepts nothing plain");
  }

  #attach(peer: Peer, { target, nonce, proof }: Messages["Attach"]): void {
    const { connection } = peer;
    const challenge = challengeOf(peer);
    const { key, secret } = this.#proven(peer, (each) => matches(attachProof(each, challenge, nonce, target), proof));
    if (this.#turnsAway(peer)) return;
    const session = toHex(crypto.getRandomValues(new Uint8Array(16)));
    this.#pending.delete(peer);
    connection.send("Attached", {
      session,
      proof: toHex(attachedProof(key, challenge, nonce, session)),
      address: formatHostPort(connection.wire.local),
    });
    const encrypted = connection.wire.isSecure;
    const ofSession = sessionKey(key, challenge, nonce, session);
    this.arrivals.session(connection, { session, target, key: ofSession, secret, encrypted });
  }

  /** A proxy that drains is as good as gone for a new session: its target looks elsewhere at once, and does not take it for a refusal. */
  #turnsAway(peer: Peer): boolean {
    if (this.options.admitsSessions()) return false;
    this.#pending.delete(peer);
    peer.connection.reset();
    return true;
  }

  #check(peer: Peer, { nonce, proof }: Messages["Check"]): void {
    const challenge = challengeOf(peer);
    const { key } = this.#proven(peer, (candidate) => matches(checkProof(candidate, challenge, nonce), proof));
    this.#part(peer, "Checked", { proof: toHex(checkedProof(key, challenge, nonce)) });
  }

  #serve(peer: Peer, { from, to, nonce, proof }: Messages["Serve"]): void {
    const challenge = challengeOf(peer);
    const { key } = this.#proven(peer, (each) => matches(serveProof(each, challenge, nonce, from, to), proof));
    this.#pending.delete(peer);
    peer.connection.send("Serving", { proof: toHex(servingProof(key, challenge, nonce)) });
    const { wire, rest } = peer.connection.release();
    if (!wire.isSecure) this.arrivals.consumer(wire, { from, to }, rest);
    else {
      awaitFramed(wire, sessionKey(key, challenge, nonce, noSession), (_connection, channel) =>
        this.arrivals.consumer(channel, { from, to }, rest),
      );
    }
  }

  /** The valid secret whose key `fits`, with that key for proofs on this connection. Tries all of them, so that time does not tell which. */
  #proven({ connection: { wire } }: Peer, fits: (key: Key) => boolean): { secret: string; key: Key } {
    const all = this.options.secrets.current.map((secret) => ({ secret, key: bound(keyOf(secret), wire.binding) }));
    const found = all.filter(({ key }) => fits(key))[0];
    if (found === undefined) throw new AuthError("invalid secret", suspicionAbout(this.options.secrets));
    return found;
  }

  #authenticated({ authenticated }: Peer): string {
    if (authenticated === undefined) throw new AuthError("server requires secret, but no secret was provided");
    return authenticated;
  }

  #refuse(peer: Peer, reason: string): void {
    this.#part(peer, "Error", reason);
  }

  /** Says a last word and closes; a peer that does not close its side is dropped with the others. */
  #part<Name extends "Error" | "Checked">(peer: Peer, name: Name, word: Messages[Name]): void {
    this.#pending.delete(peer);
    this.#leaving.add(peer);
    peer.connection.handOver({ message() {}, over: () => this.#leaving.delete(peer) });
    peer.connection.send(name, word);
    peer.connection.wire.finish();
  }

  #over(peer: Peer, cause: Error): void {
    this.#pending.delete(peer);
    if (cause instanceof ProtocolError) {
      this.options.metrics.handshakesDropped.inc({ reason: "malformed" });
      this.#complain("handshake failed", peer, errorText(cause));
    } else {
      // Port scans and health checks of load balancers connect and leave: not worth a line.
      this.options.metrics.handshakesDropped.inc({ reason: "left" });
    }
  }

  #drop(peer: Peer, reason: "timeout" | "overload"): void {
    this.#pending.delete(peer);
    peer.connection.reset();
    this.options.metrics.handshakesDropped.inc({ reason });
    this.#complain("handshake dropped", peer, reason === "timeout" ? "silent for too long" : "too many at once");
  }

  #complain(message: string, { connection }: Peer, reason: string, suspicion?: string): void {
    const peer = formatHostPort(connection.wire.remote);
    this.#lines.spend((suppressed) => this.options.log.warn(message, { peer, reason, suspicion, suppressed }));
  }
}
