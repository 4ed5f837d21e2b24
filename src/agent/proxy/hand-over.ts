import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorText } from "../../errors.ts";
import type { Secrets } from "../../secret.ts";
import { connectFirst } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { requiresEncryption } from "../protocol/challenge.ts";
import { ProtocolError } from "../protocol/messages.ts";
import { bound, keyOf, matches, serveProof, servingProof, toHex } from "../protocol/proofs.ts";
import { StreamError } from "../streams.ts";
import { encrypt, type Greeting, greet, instanceOf } from "../target/attach.ts";
import { type Consumer, factsOf } from "./consumer.ts";
import type { ProxyCore } from "./proxy-core.ts";

/** Milliseconds for connecting to a proxy of the same cluster. */
const connectTimeout = 2000;

/**
 * Brings a consumer to the proxy to which its target has moved. Consumers go on arriving here for some seconds after that, until every node knows
 * which pod is ready now, and this proxy gets no new data connections: the rendezvous leads to the other one.
 */
export async function handOver(
  consumer: Consumer,
  successor: HostPort,
  secrets: Secrets,
  core: ProxyCore,
): Promise<void> {
  let gone = false;
  consumer.wait(() => {
    gone = true;
    core.refuse(consumer, new StreamError("reset", "the consumer left before its start"));
  });
  let served: { wire: Wire; rest: Uint8Array };
  try {
    const greeting = await greet(await connectFirst([successor.host], successor.port, connectTimeout));
    const isEncrypted = core.encryption === "required" || requiresEncryption(greeting.challenge);
    served = await introduce(isEncrypted ? await encrypt(greeting) : greeting, consumer, secrets);
  } catch (cause) {
    const reason = `${formatHostPort(successor)} does not take the consumer over: ${errorText(cause)}`;
    if (!gone) core.refuse(consumer, new StreamError("lost", reason, { cause }));
    return;
  }
  const { wire, rest } = served;
  if (gone) {
    wire.reset();
    return;
  }
  wire.keepAlive(tunnelKeepAlive);
  const pipe = core.streams.open(consumer.wire, wire, factsOf(consumer), () => {});
  pipe.attach(pipe.back, rest);
  consumer.join(pipe);
}

/** Says who the consumer is. Rejects when the other side is no proxy with the same secret. */
async function introduce(
  greeting: Greeting,
  { from, to }: Consumer,
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
