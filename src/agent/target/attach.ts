import type { Wire } from "../net/wire.ts";
import {
  challengeInstance,
  isBoreChallenge,
  offersEncryption,
  offersFrames,
  parseUuid,
  requiresEncryption,
} from "../protocol/challenge.ts";
import { encode, type Message, ProtocolError } from "../protocol/messages.ts";
import { answer, attachedProof, attachProof, bound, keyOf, matches, sessionKey, toHex } from "../protocol/proofs.ts";
import { BoreTargetSession } from "./bore-session.ts";
import { NetaminityTargetSession } from "./session.ts";
import { EncryptionFailed, Steps } from "./steps.ts";
import type { SessionEvents, TargetCore, TargetSession } from "./target-core.ts";

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

/** A new connection to the rendezvous port, and what the proxy said on it first. */
export interface Greeting {
  wire: Wire;
  steps: Steps;
  challenge: Uint8Array;
  /** The proxy's process; undefined for anything but a netaminity proxy. */
  instance: number | undefined;
}

/** Reads the challenge. Rejects with ForeignServer when something else comes, or the reason why the connection ended. */
export function greet(wire: Wire): Promise<Greeting> {
  return readGreeting(wire, new Steps(wire));
}

/**
 * The same connection, greeted anew inside TLS: what was said in plain text counts for nothing any more. Rejects with EncryptionFailed, ForeignServer,
 * ProtocolError, or the reason why the connection ended; the wire is reset then.
 */
export async function encrypt(greeting: Greeting): Promise<Greeting> {
  const { wire, steps, challenge, instance } = greeting;
  try {
    if (instance === undefined && isBoreChallenge(challenge))
      throw new EncryptionFailed("a bore server cannot encrypt");
    instanceOf(greeting);
    if (!offersEncryption(challenge)) throw new EncryptionFailed("the proxy does not offer encryption");
    await steps.encrypt();
  } catch (cause) {
    wire.reset();
    throw cause;
  }
  return readGreeting(wire, steps);
}

async function readGreeting(wire: Wire, steps: Steps): Promise<Greeting> {
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

/**
 * Opens a session on a greeted connection, inside TLS if the target wants that. Rejects with RefusedByProxy, EncryptionFailed, ForeignServer, ProtocolError,
 * or the reason why the connection ended.
 */
export async function attach(
  core: TargetCore,
  greeting: Greeting,
  secret: string,
  events: SessionEvents,
): Promise<TargetSession> {
  const { wire, instance, challenge } = greeting;
  const { borePort, encryption } = core;
  try {
    if (encryption === "required") return await attachToNetaminity(core, await encrypt(greeting), secret, events);
    if (instance !== undefined && requiresEncryption(challenge)) {
      throw new EncryptionFailed("the proxy requires encryption, which is off here");
    }
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
  const key = bound(keyOf(secret), wire.binding);
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
  steps.connection.send("Attach", {
    target: core.name,
    nonce,
    proof: toHex(attachProof(key, challenge, nonce, core.name)),
  });
  const message = await steps.next();
  // Both proofs are bound to this very connection.
  const doubt = wire.isSecure
    ? ", or the connection is intercepted: a wrong secret looks the same as somebody in between who decrypts"
    : "";
  if (message.name === "Error") throw new RefusedByProxy(`the proxy says: ${message.value}${doubt}`);
  if (message.name !== "Attached") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
  const { session, proof, address: proxyAddress } = message.value;
  if (!matches(attachedProof(key, challenge, nonce, session), proof)) {
    throw new RefusedByProxy(`the proxy does not know the secret${doubt}`);
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
    encrypted: wire.isSecure,
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
