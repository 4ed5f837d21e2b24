import { parseUuid } from "../../src/agent/protocol/challenge.ts";
import { attachProof, joinProof, keyOf, sessionKey, toHex } from "../../src/agent/protocol/proofs.ts";
import { goodSecret, type RunningProxy } from "./tunnel.ts";
import { connectPeer, contentOf, type Frame, framesOf, type Peer } from "./tunnel-peer.ts";

/** A target whose every message is sent by the test. It answers no pings. */
export interface TargetByHand extends AsyncDisposable {
  readonly control: Peer;
  /** Opens the `number`-th data connection. */
  join(number: number): Promise<Peer>;
}

/** Rejects when the proxy closes instead of answering. */
export async function attachByHand(proxy: RunningProxy): Promise<TargetByHand> {
  await using stack = new AsyncDisposableStack();
  const control = stack.use(await connectPeer(proxy.rendezvous));
  const challenge = parseUuid(String(contentOf(await control.heard(0), "Challenge")));
  const key = keyOf(goodSecret);
  const [target, nonce] = ["01".repeat(16), "02".repeat(16)];
  await control.say({ Attach: { target, nonce, proof: toHex(attachProof(key, challenge, nonce, target)) } });
  const frames = () => framesOf(control.socket.bytes());
  await control.socket.until((socket) => socket.closed || frames().length > 1, "the proxy answers or closes");
  const { session } = contentOf(frames()[1] ?? "nothing", "Attached") as { session: string };
  const sessionsKey = sessionKey(key, challenge, nonce, session);
  const owned = stack.move();
  return {
    control,
    join: async (number) => {
      const peer = owned.use(await connectPeer(proxy.rendezvous));
      await peer.say({ Join: { session, number, proof: toHex(joinProof(sessionsKey, 1, number)) } });
      return peer;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const isNamed = (name: string) => (frame: Frame) => (typeof frame === "string" ? frame === name : name in frame);

/** Waits for a message of that name, among others. */
export async function untilHeard({ socket }: Peer, name: string): Promise<void> {
  await socket.until(() => framesOf(socket.bytes()).some(isNamed(name)), `${name} arrives`);
}
