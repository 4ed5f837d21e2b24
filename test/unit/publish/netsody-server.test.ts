import { describe, expect, test } from "bun:test";
import { createPublishMetrics } from "../../../src/publish/metrics.ts";
import { serveNetsody } from "../../../src/publish/netsody-server.ts";

function serve(text: () => string | undefined, password = () => "secret") {
  const metrics = createPublishMetrics();
  const server = serveNetsody({
    listen: { host: "127.0.0.1", port: 0 },
    network: "mesh",
    text,
    login: () => ({ username: "agent", password: password() }),
    metrics,
  });
  const get = (headers: Record<string, string> = {}, path = "/netsody/mesh.toml", method = "GET") =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers, method });
  return { get, metrics, [Symbol.dispose]: () => server.stop() };
}

const basic = (user: string, password: string) => ({ authorization: `Basic ${btoa(`${user}:${password}`)}` });
const known = basic("agent", "secret");

describe("an agent", () => {
  test("gets the file, and 304 until it changes", async () => {
    let text = "network = 1\n";
    using server = serve(() => text);
    const first = await server.get(known);
    expect([first.status, first.headers.get("content-type"), await first.text()]).toEqual([
      200,
      "application/toml; charset=utf-8",
      text,
    ]);
    const etag = first.headers.get("etag") ?? "";
    for (const match of [etag, `"x", W/${etag}`, "*"]) {
      const same = await server.get({ ...known, "if-none-match": match });
      expect([same.status, await same.text()]).toEqual([304, ""]);
    }
    text = "network = 2\n";
    const changed = await server.get({ ...known, "if-none-match": etag });
    expect([changed.status, await changed.text()]).toEqual([200, text]);
    expect((await server.metrics.served.get()).values.map(({ labels, value }) => [labels.code, value])).toEqual([
      ["200", 2],
      ["304", 3],
    ]);
  });

  test.each<[string, Record<string, string>]>([
    ["without a password", {}],
    ["with a wrong one", basic("agent", "secre")],
    ["with a wrong user", basic("agenT", "secret")],
    ["with another scheme", { authorization: "Bearer secret" }],
  ])("%s gets nothing", async (_what, headers) => {
    using server = serve(() => "network = 1\n");
    const response = await server.get(headers);
    expect([response.status, response.headers.get("www-authenticate"), await response.text()]).toEqual([
      401,
      'Basic realm="netsody"',
      "user and password are needed\n",
    ]);
  });

  test("gets 503 while nothing is published, so that it keeps what it has", async () => {
    using server = serve(() => undefined);
    expect((await server.get(known)).status).toBe(503);
  });

  test("gets nothing while the password cannot be read", async () => {
    using server = serve(
      () => "network = 1\n",
      () => {
        throw new Error("no such file");
      },
    );
    expect((await server.get(known)).status).toBe(500);
  });

  test("gets nothing else, and changes nothing", async () => {
    using server = serve(() => "network = 1\n");
    expect((await server.get(known, "/netsody/other.toml")).status).toBe(404);
    expect((await server.get(known, "/netsody/mesh.toml", "POST")).status).toBe(405);
  });
});
