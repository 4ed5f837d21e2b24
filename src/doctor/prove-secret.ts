import { offersCheck, offersEncryption } from "../agent/protocol/challenge.ts";
import { ProtocolError } from "../agent/protocol/messages.ts";
import { bound, checkedProof, checkProof, keyOf, matches, toHex } from "../agent/protocol/proofs.ts";
import { encrypt, type Greeting, instanceOf } from "../agent/target/attach.ts";

/**
 * Finds out whether the proxy accepts a secret, without opening a session: a session would be given consumers. The proof has a label of
 * its own, so that a stranger who carries it to the real proxy opens nothing with it; anything but a netaminity proxy gets no proof at all.
 * Gives the proxy's objection, undefined when it has none, or "not offered" by a proxy older than this message. Rejects with ForeignServer,
 * ProtocolError when the proxy answers something else, or the reason why the connection ended.
 */
export async function objectionToSecret(
  greeting: Greeting,
  secret: string,
): Promise<{ objection: string | undefined } | "not offered"> {
  const { wire } = greeting;
  try {
    instanceOf(greeting);
    if (!offersCheck(greeting.challenge)) return "not offered";
    const { steps, challenge } = offersEncryption(greeting.challenge) ? await encrypt(greeting) : greeting;
    const key = bound(keyOf(secret), wire.binding);
    const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
    steps.connection.send("Check", { nonce, proof: toHex(checkProof(key, challenge, nonce)) });
    const message = await steps.next();
    if (message.name === "Error") return { objection: message.value };
    if (message.name !== "Checked") throw new ProtocolError(`unexpected ${message.name} in a handshake`);
    if (!matches(checkedProof(key, challenge, nonce), message.value.proof)) {
      return { objection: "its own proof of the secret is wrong" };
    }
    return { objection: undefined };
  } finally {
    wire.reset();
  }
}
