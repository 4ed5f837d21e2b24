import type { Greeting } from "./attach.ts";
import { answer, keyOf, toHex } from "./auth.ts";
import { encode, ProtocolError } from "./protocol.ts";

/**
 * Finds out whether the proxy accepts a secret, without opening a session: a session would be given consumers. The secret is proved as bore
 * does it, and then a consumer is asked for that nobody waits for; a proxy that accepts the proof closes the connection without a word.
 * Gives the proxy's objection, or undefined when it has none. Rejects with ProtocolError when the proxy answers something else or nothing.
 */
export async function objectionToSecret(
  { wire, steps, challenge }: Greeting,
  secret: string,
): Promise<string | undefined> {
  steps.connection.sendFrames(
    encode("Authenticate", toHex(answer(keyOf(secret), challenge))),
    encode("Accept", crypto.randomUUID()),
  );
  try {
    const message = await steps.next();
    if (message.name !== "Error") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
    return message.value;
  } catch (cause) {
    if (cause instanceof ProtocolError) throw cause;
    return undefined;
  } finally {
    wire.reset();
  }
}
