import { afterAll, expect, test } from "bun:test";
import { type DashboardServer, startDashboard } from "../../src/dashboard/server.ts";
import { waitFor } from "../support/cluster/wait.ts";

const files = { html: "<p>page</p>", script: "script", style: "style" };
const server: DashboardServer = startDashboard({
  port: 0,
  files,
  greet: (tell) => tell("history", { context: "here", points: {} }),
  diagnose: async (kind, namespace, name) =>
    kind === "tunnel" ? { verdict: "healthy", of: `${namespace}/${name}` } : undefined,
});
afterAll(() => server.stop());

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { headers, method, redirect: "manual" });

/** Opens the page as a browser does and gives the cookie that it got. */
async function enter(): Promise<string> {
  const link = new URL(server.makeLink());
  const response = await get(link.pathname + link.search);
  expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toEndWith("; HttpOnly; SameSite=Strict; Path=/");
  return cookie.split(";")[0] ?? "";
}

test("an address opens the page once", async () => {
  const link = new URL(server.makeLink());
  expect(link.hostname).toBe("127.0.0.1");
  expect((await get(link.pathname + link.search)).status).toBe(303);
  const again = await get(link.pathname + link.search);
  expect([again.status, await again.text()]).toEqual([403, expect.stringContaining("Press Enter")]);
});

test("without the cookie nothing is answered, with it the page and its parts are", async () => {
  const cookie = await enter();
  const answers: Record<string, string> = {
    "/": "<p>page</p>",
    "/page.js": "script",
    "/page.css": "style",
    "/doctor?of=tunnel/demo/api": '{"verdict":"healthy","of":"demo/api"}',
  };
  for (const [path, body] of Object.entries(answers)) {
    expect((await get(path)).status).toBe(403);
    expect((await get(path, { cookie: "netaminity-1=x" })).status).toBe(403);
    const response = await get(path, { cookie });
    expect([response.status, await response.text()]).toEqual([200, body]);
  }
  expect((await get("/doctor?of=pod/demo/api", { cookie })).status).toBe(400);
  expect((await get("/elsewhere", { cookie })).status).toBe(404);
});

test("nothing may be loaded from elsewhere, framed, or kept", async () => {
  const { headers } = await get("/", { cookie: await enter() });
  expect(headers.get("content-security-policy")).toStartWith("default-src 'none'; script-src 'self'");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("content-security-policy")).not.toContain("unsafe");
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
});

test("who comes under another name, or wants to change something, is refused with the cookie too", async () => {
  const cookie = await enter();
  expect((await get("/", { cookie, host: "attacker.example" })).status).toBe(421);
  expect((await get("/", { cookie, host: `localhost:${server.port}` })).status).toBe(200);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    expect((await get("/", { cookie }, method)).status).toBe(405);
  }
});

/** Messages of an event stream. */
async function* messages(response: Response): AsyncGenerator<string> {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk);
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 2);
    }
  }
}

test("a page that connects is told the past first and then what comes; one more than there is room for is refused", async () => {
  const cookie = await enter();
  const response = await get("/live", { cookie });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const told = messages(response);
  expect((await told.next()).value).toBe('event: history\ndata: {"context":"here","points":{}}');
  server.tell("picture", { at: "now", lines: [] });
  expect((await told.next()).value).toBe('event: picture\ndata: {"at":"now","lines":[]}');
  const others = await Promise.all(Array.from({ length: 15 }, () => get("/live", { cookie })));
  expect(others.map(({ status }) => status)).toEqual(Array.from({ length: 15 }, () => 200));
  expect((await get("/live", { cookie })).status).toBe(503);
  await Promise.all([told.return(undefined), ...others.map(({ body }) => body?.cancel())]);
  await waitFor("room again", { deadline: 10_000 }, async () => (await get("/live", { cookie })).status === 200);
});
