import { answer, attachedProof, attachProof, keyOf, matches, sessionKey, toHex } from "./auth.ts";
import { challengeInstance, parseUuid } from "./challenge.ts";
import { MessageConnection } from "./message-connection.ts";
import { encode, type Message, ProtocolError } from "./protocol.ts";
import { BoreTargetSession } from "./target-bore.ts";
import type { SessionEvents, TargetCore, TargetSession } from "./target-core.ts";
import { NetaminityTargetSession } from "./target-session.ts";
import type { Wire } from "./wire.ts";

/** Milliseconds that each message of a handshake may take. */
const stepTimeout = 3000;

/** The proxy answered that it does not want us: another attempt soon would end the same way. */
export class RefusedByProxy extends Error {
  override readonly name = "RefusedByProxy";
}

/** A new connection to the rendezvous port, and what the proxy said on it first. */
export interface Greeting {
  wire: Wire;
  steps: Steps;
  challenge: Uint8Array;
  /** The proxy's process; undefined for a bore server. */
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
      const cause = new ProtocolError("the proxy did not answer in time");
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

/** Reads the challenge. Rejects with ProtocolError, or the reason why the connection ended. */
export async function greet(wire: Wire): Promise<Greeting> {
  const steps = new Steps(wire);
  const message = await steps.next();
  if (message.name !== "Challenge") {
    wire.reset();
    throw new ProtocolError("the proxy asks for no secret");
  }
  const challenge = parseUuid(message.value);
  return { wire, steps, challenge, instance: challengeInstance(challenge) };
}

/** Opens a session on a greeted connection. Rejects with RefusedByProxy, ProtocolError, or the reason why the connection ended. */
export async function attach(
  core: TargetCore,
  greeting: Greeting,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const { wire, instance } = greeting;
  try {
    return instance === undefined
      ? await attachToBore(core, greeting, secret, events)
      : await attachToNetaminity(core, greeting, instance, secret, events);
  } catch (cause) {
    wire.reset();
    throw cause;
  }
}

async function attachToNetaminity(
  core: TargetCore,
  { wire, steps, challenge }: Greeting,
  instance: number,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
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
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const tag = toHex(answer(keyOf(secret), challenge));
  steps.connection.sendFrames(encode("Authenticate", tag), encode("Hello", core.borePort));
  const message = await steps.next();
  if (message.name === "Error") throw new RefusedByProxy(`the server says: ${message.value}`);
  if (message.name !== "Hello") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
  const { host: address, port } = wire.remote;
  return new BoreTargetSession(core, steps.connection, { address, port, boundPort: message.value, secret }, events);
}
