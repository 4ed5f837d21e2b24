import type { Wire } from "../net/wire.ts";
import { challengeInstance, isBoreChallenge, offersFrames, parseUuid } from "../protocol/challenge.ts";
import { MessageConnection } from "../protocol/message-connection.ts";
import { encode, type Message, ProtocolError } from "../protocol/messages.ts";
import { answer, attachedProof, attachProof, keyOf, matches, sessionKey, toHex } from "../protocol/proofs.ts";
import { BoreTargetSession } from "./bore-session.ts";
import { NetaminityTargetSession } from "./session.ts";
import type { SessionEvents, TargetCore, TargetSession } from "./target-core.ts";

/** Milliseconds that each message of a handshake may take. */
const stepTimeout = 3000;

/** The proxy answered that it does not want us: another attempt soon would end the same way. */
export class RefusedByProxy extends Error {
  override readonly name = "RefusedByProxy";
}

/** Whoever answers at the rendezvous is no netaminity proxy: it is shown nothing that is made from the secret. */
export class ForeignServer extends Error {
  override readonly name = "ForeignServer";

  constructor(reason: string, options?: ErrorOptions) {
    super(`what answers is no netaminity proxy: ${reason}`, options);
  }
}

class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  constructor() {
    super("the proxy did not answer in time");
  }
}

/** A new connection to the rendezvous port, and what the proxy said on it first. */
export interface Greeting {
  wire: Wire;
  steps: Steps;
  challenge: Uint8Array;
  /** The proxy's process; undefined for anything but a netaminity proxy. */
  instance: number | undefined;
}

/** The messages of a handshake, one after the other. */
class Steps {
  readonly connection: MessageConnection;
  #step = Promise.withResolvers<Message>();

  constructor(wire: Wire) {
    this.connection = new MessageConnection(wire, {
      message: (message) => {
        // What follows is for the next step, or for the session that comes out of this handshake.
        this.connection.hold();
        this.#step.resolve(message);
      },
      over: (cause) => this.#step.reject(cause),
    });
    this.#step.promise.catch(() => {});
  }

  /** The next message. Rejects when the connection ends or nothing comes in time; then the wire is reset. */
  async next(): Promise<Message> {
    const { connection } = this;
    const limit = setTimeout(() => {
      const cause = new NoAnswer();
      connection.fail(cause);
      // A connection that ended between two steps tells nobody any more.
      this.#step.reject(cause);
    }, stepTimeout);
    try {
      connection.proceed();
      const message = await this.#step.promise;
      this.#step = Promise.withResolvers();
      this.#step.promise.catch(() => {});
      return message;
    } finally {
      clearTimeout(limit);
    }
  }
}

/** Reads the challenge. Rejects with ForeignServer when something else comes, or the reason why the connection ended. */
export async function greet(wire: Wire): Promise<Greeting> {
  const steps = new Steps(wire);
  let message: Message;
  try {
    message = await steps.next();
  } catch (cause) {
    throw cause instanceof ProtocolError ? new ForeignServer(cause.message, { cause }) : cause;
  }
  if (message.name !== "Challenge") {
    wire.reset();
    throw new ForeignServer("it asks for no secret");
  }
  const challenge = parseUuid(message.value);
  return { wire, steps, challenge, instance: challengeInstance(challenge) };
}

/** The process of the netaminity proxy that was greeted. Throws ForeignServer when another program was. */
export function instanceOf({ challenge, instance }: Greeting): number {
  if (instance !== undefined) return instance;
  throw new ForeignServer(
    isBoreChallenge(challenge)
      ? "it sends a bore server's challenge; a target speaks with a bore server only when --bore-port is given"
      : "it sends a challenge that this version does not know",
  );
}

/** Opens a session on a greeted connection. Rejects with RefusedByProxy, ForeignServer, ProtocolError, or the reason why the connection ended. */
export async function attach(
  core: TargetCore,
  greeting: Greeting,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const { wire, instance, challenge } = greeting;
  const { borePort } = core;
  try {
    return borePort !== undefined && instance === undefined && isBoreChallenge(challenge)
      ? await attachToBore(core, greeting, borePort, secret, events)
      : await attachToNetaminity(core, greeting, secret, events);
  } catch (cause) {
    wire.reset();
    throw cause;
  }
}

async function attachToNetaminity(
  core: TargetCore,
  greeting: Greeting,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const { wire, steps, challenge } = greeting;
  const instance = instanceOf(greeting);
  const key = keyOf(secret);
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
  steps.connection.send("Attach", {
    target: core.name,
    nonce,
    proof: toHex(attachProof(key, challenge, nonce, core.name)),
  });
  const message = await steps.next();
  if (message.name === "Error") throw new RefusedByProxy(`the proxy says: ${message.value}`);
  if (message.name !== "Attached") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
  const { session, proof, address: proxyAddress } = message.value;
  if (!matches(attachedProof(key, challenge, nonce, session), proof)) {
    throw new RefusedByProxy("the proxy does not know the secret");
  }
  const { host: address, port } = wire.remote;
  const identity = {
    address,
    port,
    instance,
    revision: offersFrames(challenge) ? (2 as const) : (1 as const),
    proxyAddress,
    session,
    key: sessionKey(key, challenge, nonce, session),
    secret,
  };
  return new NetaminityTargetSession(core, steps.connection, identity, events);
}

async function attachToBore(
  core: TargetCore,
  { wire, steps, challenge }: Greeting,
  borePort: number,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const tag = toHex(answer(keyOf(secret), challenge));
  steps.connection.sendFrames(encode("Authenticate", tag), encode("Hello", borePort));
  const message = await steps.next();
  if (message.name === "Error") throw new RefusedByProxy(`the server says: ${message.value}`);
  if (message.name !== "Hello") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
  const { host: address, port } = wire.remote;
  return new BoreTargetSession(core, steps.connection, { address, port, boundPort: message.value, secret }, events);
}
