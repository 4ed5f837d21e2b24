import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import type { Secrets } from "../../secret.ts";
import { connectFirst } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { requiresEncryption } from "../protocol/challenge.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { bound, type Key, keyOf, matches, serveProof, servingProof, sessionKey, toHex } from "../protocol/proofs.ts";
import { type Stream, StreamError } from "../stream.ts";
import { encrypt, type Greeting, greet, instanceOf, RefusedByProxy } from "../target/attach.ts";
import { beginFramed, noSession } from "./framed-consumer.ts";

/** Milliseconds for connecting to a proxy of the same cluster. */
const connectTimeout = 2000;

/**
 * Brings a consumer to the proxy to which its target has moved. Consumers go on arriving here for some seconds after that, until every node knows
 * which pod is ready now, and this proxy gets no new data connections: the rendezvous leads to the other one.
 */
export async function handOver(
  stream: Stream,
  successor: HostPort,
  secrets: Secrets,
  isEncrypted: boolean,
): Promise<void> {
  stream.left.pause();
  try {
    const { wire, rest, key } = await introduceWithAny(stream, successor, secrets, isEncrypted);
    wire.keepAlive(tunnelKeepAlive);
    if (stream.isOver) wire.reset();
    else if (wire.isSecure) beginFramed(wire, key, stream);
    else stream.join(wire, rest);
  } catch (cause) {
    const reason = `${formatHostPort(successor)} does not take the consumer over: ${errorText(cause)}`;
    stream.fail(new StreamError("lost", reason, { cause }));
  }
}

/** While the secret is being changed the other proxy may not have read the new value yet: as a target does, the one before is tried too. */
async function introduceWithAny(
  stream: Stream,
  successor: HostPort,
  secrets: Secrets,
  isEncrypted: boolean,
): ReturnType<typeof introduce> {
  let refusal: RefusedByProxy | undefined;
  for (const secret of secrets.current) {
    const plain = await greet(await connectFirst([successor.host], successor.port, connectTimeout));
    const greeting = isEncrypted || requiresEncryption(plain.challenge) ? await encrypt(plain) : plain;
    try {
      return await introduce(greeting, stream, secret);
    } catch (cause) {
      if (!(cause instanceof RefusedByProxy)) throw cause;
      refusal ??= cause;
    }
  }
  throw refusal ?? new RefusedByProxy("no secret is known");
}

/** Says who the consumer is. Rejects when the other side is no proxy with the same secret. */
async function introduce(
  greeting: Greeting,
  { from = "", to = "" }: Stream,
  secret: string,
): Promise<{ wire: Wire; rest: Uint8Array; key: Key }> {
  const { wire, steps, challenge } = greeting;
  try {
    instanceOf(greeting);
    const key = bound(keyOf(secret), wire.binding);
    const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
    const proof = toHex(serveProof(key, challenge, nonce, from, to));
    steps.connection.send("Serve", { from, to, nonce, proof });
    const message = await steps.next();
    if (message.name === "Error") throw new RefusedByProxy(`the proxy says: ${message.value}`);
    if (message.name !== "Serving" || !matches(servingProof(key, challenge, nonce), message.value.proof)) {
      throw new ProtocolError("the proxy does not know the secret");
    }
    return { ...steps.connection.release(), key: sessionKey(key, challenge, nonce, noSession) };
  } catch (cause) {
    wire.reset();
    throw cause;
  }
}
