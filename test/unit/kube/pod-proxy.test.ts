import { expect, test } from "bun:test";
import type { Credentials } from "../../../src/kube/credentials.ts";
import { NotFoundError, TimedOutError, UnreachableError } from "../../../src/kube/errors.ts";
import { createKube } from "../../../src/kube/kube.ts";
import { askPod, PodSilentError } from "../../../src/kube/pod-proxy.ts";

const request = { namespace: "demo", pod: "a", port: 8080, path: "/readyz?x=1", timeout: 5000 };

/** An API server that answers as told: behind a real one a pod would have to fail on command. */
function rig(answer: (request: Request) => Response | Promise<Response>) {
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(asked) {
      const { pathname, search } = new URL(asked.url);
      requests.push(`${asked.method} ${pathname}${search} ${asked.headers.get("authorization")}`);
      return answer(asked);
    },
  });
  let token = "old";
  const credentials: Credentials = {
    server: `http://127.0.0.1:${server.port}`,
    namespace: undefined,
    tls: () => ({ rejectUnauthorized: true }),
    authorization: () => `Bearer ${token}`,
    expire: () => {
      token = "new";
    },
  };
  const kube = createKube({ credentials, userAgent: "netaminity-test", fieldManager: "netaminity" });
  return { kube, requests, [Symbol.asyncDispose]: () => server.stop(true) };
}

const status = (code: number, message: string) =>
  Response.json({ kind: "Status", apiVersion: "v1", code, message }, { status: code });

test("whatever the pod answers is an answer: refusals, redirects, and what looks like the API server's own error codes", async () => {
  const answers: [Response, number, string][] = [
    [new Response("fine"), 200, "fine"],
    [new Response("no session", { status: 503, headers: { "retry-after": "1" } }), 503, "no session"],
    [new Response(null, { status: 204 }), 204, ""],
    [new Response("log in", { status: 401 }), 401, "log in"],
    [new Response("", { status: 302, headers: { location: "http://127.0.0.1:1/" } }), 302, ""],
    [Response.json({ kind: "Status" }, { status: 500 }), 500, '{"kind":"Status"}'],
  ];
  for (const [answer, code, body] of answers) {
    await using server = rig(() => answer);
    expect(await askPod(server.kube, request)).toEqual({ status: code, body });
    // Once: what a pod answers is what was asked for, nothing to be tried again.
    expect(server.requests).toEqual(["GET /api/v1/namespaces/demo/pods/a%3A8080/proxy/readyz?x=1 Bearer old"]);
  }
});

test("an answer without end is cut at 1 MiB", async () => {
  const chunk = new Uint8Array(300_000).fill(0x61);
  await using server = rig(() => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })));
  const { body } = await askPod(server.kube, request);
  expect(body.length).toBe(1024 * 1024);
});

test("what the API server itself says is told apart from the pod's words", async () => {
  await using unreached = rig(() => status(503, "error trying to reach service: dial tcp 10.0.0.1:8080: i/o timeout"));
  const silent = await askPod(unreached.kube, request).catch((error: unknown) => error);
  expect(silent).toBeInstanceOf(PodSilentError);
  expect((silent as Error).message).toBe("dial tcp 10.0.0.1:8080: i/o timeout");

  await using absent = rig(() => status(404, 'pods "a" not found'));
  const missing = await askPod(absent.kube, request).catch((error: unknown) => error);
  expect(missing).toBeInstanceOf(NotFoundError);
  expect((missing as Error).message).toBe('get pods/proxy demo/a:8080/readyz?x=1: 404 pods "a" not found');
});

test("silence ends after the time of the request, and is told apart from a server that is not there", async () => {
  const never = () => new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("a")) });
  for (const answer of [() => new Promise<Response>(() => {}), () => new Response(never())]) {
    await using server = rig(answer);
    const late = await askPod(server.kube, { ...request, timeout: 50 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(TimedOutError);
    expect((late as Error).message).toBe("get pods/proxy demo/a:8080/readyz?x=1: no answer within 50 ms");
  }
  const gone = rig(() => new Response());
  await gone[Symbol.asyncDispose]();
  const nobody = await askPod(gone.kube, request).catch((error: unknown) => error);
  expect(nobody).toBeInstanceOf(UnreachableError);
  expect(nobody).not.toBeInstanceOf(TimedOutError);
});
