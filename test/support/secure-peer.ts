import { connectWire } from "../../src/agent/net/connect.ts";
import type { Wire } from "../../src/agent/net/wire.ts";
import type { HostPort } from "../../src/endpoint.ts";
import { WireEnd } from "./secure-wires.ts";
import { encodeFrame, type Frame, framesOf } from "./tunnel-peer.ts";

/** A hand-made peer of a proxy, inside TLS. */
export interface SecurePeer extends AsyncDisposable {
  readonly wire: Wire;
  say(frame: Frame): void;
  /** The frame with that index among those that came inside. */
  heard(index: number): Promise<Frame>;
  /** Everything that has come inside when the proxy is done with this peer. */
  farewell(): Promise<Frame[]>;
}

/** Asks for TLS and goes on inside; or stays in the middle of that, which is what `"silent"` does. */
export async function connectSecurely(
  { host, port }: HostPort,
  behaviour: "go on" | "silent" = "go on",
): Promise<SecurePeer> {
  const wire = await connectWire(host, port).wire;
  const outside = new WireEnd(wire);
  wire.write(encodeFrame("StartTls"));
  await outside.until(() => outside.text.endsWith('"StartTls"\0'), "the proxy answers the word");
  const inside = new WireEnd(wire);
  if (behaviour === "go on") await wire.secure("client");
  const frames = () => framesOf(Buffer.from(inside.text));
  return {
    wire,
    say: (frame) => void wire.write(encodeFrame(frame)),
    heard: async (index) => {
      await inside.until(() => frames().length > index, `frame ${index} arrives`);
      const frame = frames()[index];
      if (frame === undefined) throw new Error("unreachable: the condition above holds");
      return frame;
    },
    farewell: async () => {
      await inside.until(() => inside.events.some((event) => event !== "bytes"), "the proxy is done with this peer");
      return frames();
    },
    [Symbol.asyncDispose]: async () => wire.reset(),
  };
}
