import { expect, test } from "bun:test";
import { connectWire } from "../../../src/agent/net/connect.ts";

/** A server of its own process: says something and resets the connection, whether or not its client looks. */
const server = `
  import { createServer } from "node:net";
  const server = createServer((socket) => socket.write("bye", () => socket.resetAndDestroy()));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

test("a connection that says something and is reset before it is looked at is a failed one, and no defect", async () => {
  await using child = Bun.spawn([process.execPath, "-e", server], { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const attempt = connectWire("127.0.0.1", Number(new TextDecoder().decode(value)));
  // The event loop stands still until all of it has happened.
  Bun.sleepSync(300);
  expect(
    await attempt.wire.then(
      () => "connected",
      ({ code }) => code,
    ),
  ).toBe("ECONNRESET");
});
