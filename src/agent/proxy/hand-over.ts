import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import type { Secrets } from "../../secret.ts";
import { connectFirst } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { type ProxyEncryption, requiresEncryption } from "../protocol/challenge.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { bound, keyOf, matches, serveProof, servingProof, toHex } from "../protocol/proofs.ts";
import { type Stream, StreamError } from "../stream.ts";
import { encrypt, type Greeting, greet, instanceOf } from "../target/attach.ts";

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
  encryption: ProxyEncryption,
): Promise<void> {
  stream.left.pause();
  try {
    const greeting = await greet(await connectFirst([successor.host], successor.port, connectTimeout));
    const isEncrypted = encryption === "required" || requiresEncryption(greeting.challenge);
    const served = await introduce(isEncrypted ? await encrypt(greeting) : greeting, stream, secrets);
    if (stream.isOver) served.wire.reset();
    else {
      served.wire.keepAlive(tunnelKeepAlive);
      stream.join(served.wire, served.rest);
    }
  } catch (cause) {
    const reason = `${formatHostPort(successor)} does not take the consumer over: ${errorText(cause)}`;
    stream.fail(new StreamError("lost", reason, { cause }));
  }
}

/** Says who the consumer is. Rejects when the other side is no proxy with the same secret. */
async function introduce(
  greeting: Greeting,
  { from = "", to = "" }: Stream,
  secrets: Secrets,
): Promise<{ wire: Wire; rest: Uint8Array }> {
  const { wire, steps, challenge } = greeting;
  try {
    instanceOf(greeting);
    const key = bound(keyOf(secrets.current[0] ?? ""), wire.binding);
    const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
    const proof = toHex(serveProof(key, challenge, nonce, from, to));
    steps.connection.send("Serve", { from, to, nonce, proof });
    const message = await steps.next();
    if (message.name === "Error") throw new ProtocolError(`the proxy says: ${message.value}`);
    if (message.name !== "Serving" || !matches(servingProof(key, challenge, nonce), message.value.proof)) {
      throw new ProtocolError("the proxy does not know the secret");
    }
    return steps.connection.release();
  } catch (cause) {
    wire.reset();
    throw cause;
  }
}
