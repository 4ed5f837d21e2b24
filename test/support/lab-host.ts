#!/usr/bin/env bun
/**
 * A machine of the lab: does what it is told, one JSON object a line on standard input, and answers each with one line. Its servers tell whoever comes the address
 * that they see, and then echo.
 */
import { createSocket } from "node:dgram";
import { connect, createServer, isIPv6, type Socket } from "node:net";
import { createInterface } from "node:readline";

/** Milliseconds after which nobody has answered. */
const patience = 1000;
const opened = new Map<string, Socket>();

type Order = { id: number; verb: string } & Record<string, string | number>;

const verbs: Record<string, (order: Order) => Promise<unknown>> = {
  async serve({ address, port }) {
    const plain = (text = "") => text.replace(/^::ffff:/, "");
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write(`${plain(socket.remoteAddress)}\n`);
      socket.pipe(socket);
    });
    await new Promise<void>((done, fail) => {
      server.on("error", fail);
      server.listen(Number(port), String(address), 512, done);
    });
    const udp = createSocket(isIPv6(String(address)) ? "udp6" : "udp4");
    udp.on("message", (_, from) => udp.send(plain(from.address), from.port, from.address));
    await new Promise<void>((done) => udp.bind(Number(port), String(address), done));
  },
  /** The address that the other side saw. */
  async tcp(order) {
    const { first, socket } = await open(order);
    socket.destroy();
    return first;
  },
  /** The same, and the connection stays under its name. */
  async open(order) {
    const { first, socket } = await open(order);
    opened.set(String(order.name), socket);
    return first;
  },
  /** What comes back over a connection that was opened before. */
  async say({ name, text }) {
    const socket = opened.get(String(name));
    if (socket === undefined) throw new Error("there is no such connection");
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.once("data", (data) => resolve(String(data)));
    socket.write(String(text));
    return await within(promise);
  },
  /** From one port of its own, so that it is one connection to the kernel however often it is asked. */
  async udp({ to, port, from = 0, tries = 10 }) {
    const socket = createSocket(isIPv6(String(to)) ? "udp6" : "udp4");
    try {
      await new Promise<void>((done) => socket.bind(Number(from), done));
      const { promise, resolve } = Promise.withResolvers<string>();
      socket.on("message", (data) => resolve(String(data)));
      socket.on("error", () => {});
      for (let sent = 0; sent < Number(tries); sent += 1) {
        socket.send("x", Number(port), String(to));
        const answer = await Promise.race([promise, Bun.sleep(patience / Number(tries))]);
        if (answer !== undefined) return answer;
      }
      throw new Error("no answer");
    } finally {
      socket.close();
    }
  },
  async ping({ to }) {
    const child = Bun.spawn(["ping", "-n", "-c", "1", "-W", "1", String(to)], { stdout: "ignore", stderr: "ignore" });
    if ((await child.exited) !== 0) throw new Error("no answer");
    return "answered";
  },
  /** Connects and says something once every few milliseconds until `stop`; how many did and did not. */
  async load({ to, port, every = 5 }) {
    const counts = { good: 0, bad: 0 };
    const order = { to, port } as unknown as Order;
    let isStopped = false;
    const running: Promise<void>[] = [];
    const loop = async () => {
      while (!isStopped) {
        running.push(
          open(order).then(
            ({ socket }) => {
              counts.good += 1;
              socket.destroy();
            },
            () => {
              counts.bad += 1;
            },
          ),
        );
        await Bun.sleep(Number(every));
      }
      await Promise.all(running);
      return counts;
    };
    const ended = loop();
    stopLoad = () => {
      isStopped = true;
      return ended;
    };
  },
  stop: async () => await stopLoad(),
};
let stopLoad = async (): Promise<unknown> => undefined;

function within<T>(promise: Promise<T>): Promise<T> {
  const late = Bun.sleep(patience).then(() => {
    throw new Error("no answer");
  });
  return Promise.race([promise, late]);
}

async function open({ to, port }: Order): Promise<{ first: string; socket: Socket }> {
  const socket = connect({ host: String(to), port: Number(port) });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  socket.once("data", (data) => resolve(String(data).trim()));
  socket.on("error", reject);
  try {
    return { first: await within(promise), socket };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  const verb = verbs[order.verb];
  void (verb === undefined ? Promise.reject(new Error("unknown verb")) : verb(order)).then(
    (result) => console.log(JSON.stringify({ id: order.id, result })),
    (error: unknown) => console.log(JSON.stringify({ id: order.id, error: String(error) })),
  );
}
process.exit(0);
