import { connectWire } from "../../src/agent/net/connect.ts";
import { listenWires } from "../../src/agent/net/listen.ts";
import type { Wire } from "../../src/agent/net/wire.ts";
import type { HostPort } from "../../src/endpoint.ts";

/** Somebody between target and proxy who ends TLS on both sides of himself and reads, and passes on, what is inside. */
export interface Interceptor extends AsyncDisposable, HostPort {
  /** Connections that came, and those that he got into. */
  readonly connections: number;
  readonly opened: number;
  /** What he has read inside of TLS, from the target (`up`) and from the proxy. */
  readonly read: { up: string; down: string };
}

const word = '"StartTls"\0';

/** Passes everything on in one direction, and shows it. */
function pass(from: Wire, to: Wire, seen: (text: string) => void): void {
  from.owner = {
    received: (chunk) => {
      seen(Buffer.from(chunk).toString());
      to.write(chunk);
    },
    drained: () => {},
    ended: () => to.finish(),
    closed: () => to.reset(),
  };
}

/** Lets the first `letPass` connections through untouched. */
export async function startInterceptor(destination: HostPort, letPass = 0): Promise<Interceptor> {
  const state = { connections: 0, opened: 0, read: { up: "", down: "" } };
  const wires: Wire[] = [];

  const meet = async (target: Wire) => {
    const isPassed = state.connections < letPass;
    state.connections += 1;
    let early = Buffer.alloc(0);
    target.owner = {
      received: (chunk) => {
        early = Buffer.concat([early, chunk]);
      },
      drained() {},
      ended() {},
      closed() {},
    };
    const proxy = await connectWire(destination.host, destination.port).wire;
    wires.push(target, proxy);
    let plain = "";
    pass(target, proxy, () => {});
    pass(proxy, target, (text) => {
      plain += text;
      if (!isPassed && plain.endsWith(word)) void open(target, proxy).catch(() => {});
    });
    if (early.byteLength > 0) proxy.write(early);
  };

  /** Both have the word and begin. */
  const open = async (target: Wire, proxy: Wire) => {
    const note = (direction: "up" | "down") => (text: string) => {
      state.read[direction] += text;
    };
    pass(target, proxy, note("up"));
    pass(proxy, target, note("down"));
    // His answer comes last: the target must not speak inside before the proxy listens there.
    await proxy.secure("client");
    await target.secure("server");
    state.opened += 1;
  };

  const listener = listenWires(
    { host: "127.0.0.1", port: 0 },
    { spareDescriptors: () => 0, exhausted: () => {}, accept: (wire) => void meet(wire).catch(() => wire.reset()) },
  );
  return {
    host: "127.0.0.1",
    port: listener.port,
    get connections() {
      return state.connections;
    },
    get opened() {
      return state.opened;
    },
    read: state.read,
    [Symbol.asyncDispose]: async () => {
      listener.stop();
      for (const wire of wires) wire.reset();
    },
  };
}
