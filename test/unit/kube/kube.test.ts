import { expect, test } from "bun:test";
import { Registry } from "prom-client";
import type { Credentials } from "../../../src/kube/credentials.ts";
import {
  ApiError,
  ConflictError,
  GoneError,
  NotFoundError,
  RefusedError,
  StoppedError,
  UnreachableError,
} from "../../../src/kube/errors.ts";
import { createKube } from "../../../src/kube/kube.ts";
import { createKubeMetrics } from "../../../src/kube/metrics.ts";
import { resources } from "../../../src/operator/resources.ts";

/** A server that answers as told, and a client for it. Real API servers do not fail on command. */
function rig(answer: (request: Request, count: number) => Response | Promise<Response>) {
  const requests: string[] = [];
  const tokens: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push(`${request.method} ${pathname}${search}`);
      tokens.push(request.headers.get("authorization"));
      return answer(request, requests.length);
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
  const registry = new Registry();
  const metrics = createKubeMetrics("test", [registry]);
  const kube = createKube({ credentials, metrics, userAgent: "netaminity-test", fieldManager: "netaminity" });
  return { kube, registry, requests, tokens, [Symbol.asyncDispose]: () => server.stop(true) };
}

const object = { metadata: { name: "a", uid: "u", resourceVersion: "1" } };
const status = (code: number, body: object, headers: Record<string, string> = {}) =>
  Response.json(body, { status: code, headers });

test("a 401 makes it read the credentials again, once", async () => {
  await using server = rig((request) =>
    request.headers.get("authorization") === "Bearer new" ? Response.json(object) : status(401, {}),
  );
  expect(await server.kube.get(resources.service, "demo", "a")).toEqual(object);
  expect(server.tokens).toEqual(["Bearer old", "Bearer new"]);
});

test("a Retry-After is waited for", async () => {
  await using server = rig((_, count) =>
    count < 3 ? status(429, {}, { "retry-after": "0.05" }) : Response.json(object),
  );
  expect(await server.kube.get(resources.service, "demo", "a")).toEqual(object);
  expect(server.requests.length).toBe(3);
});

test("tries end, and a pause that is too long is not waited for", async () => {
  await using patient = rig(() => status(503, { message: "starting" }, { "retry-after": "0.01" }));
  await expect(patient.kube.get(resources.service, "demo", "a")).rejects.toBeInstanceOf(ApiError);
  expect(patient.requests.length).toBe(4);
  await using busy = rig(() => status(429, {}, { "retry-after": "3600" }));
  await expect(busy.kube.get(resources.service, "demo", "a")).rejects.toBeInstanceOf(ApiError);
  expect(busy.requests.length).toBe(1);
});

test("each kind of failure is a class of its own", async () => {
  const typedPatch = {
    message:
      "failed to create typed patch object (demo/a; apps/v1, Kind=Deployment): .spec.x: field not declared in schema",
  };
  const answers: [number, object, typeof ApiError][] = [
    [404, {}, NotFoundError],
    [409, {}, ConflictError],
    [410, {}, GoneError],
    [400, {}, RefusedError],
    [403, {}, RefusedError],
    [422, {}, RefusedError],
    [500, typedPatch, RefusedError],
    [500, { message: 'Internal error occurred: failed calling webhook "a.example": connect: refused' }, RefusedError],
    [500, { message: "etcdserver: request timed out" }, ApiError],
  ];
  await using server = rig((_, count) => {
    const [code, body] = answers[count - 1] ?? [200, {}];
    return status(code, body);
  });
  for (const [, , kind] of answers) {
    const error = await server.kube.get(resources.service, "demo", "a").catch((thrown: unknown) => thrown);
    expect((error as Error).constructor).toBe(kind);
  }
});

test("an answer that is not JSON becomes an error with its text", async () => {
  await using server = rig(() => new Response("<html>bad gateway", { status: 502 }));
  await expect(server.kube.get(resources.service, "demo", "a")).rejects.toThrow(
    "get services demo/a: 502 <html>bad gateway",
  );
});

test("a server that does not answer, or not to the end, is given up after the deadline", async () => {
  const never = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"a":')) });
  for (const answer of [() => new Promise<Response>(() => {}), () => new Response(never)]) {
    await using server = rig(answer);
    const call = server.kube.request({
      verb: "get",
      resource: resources.service,
      namespace: "demo",
      name: "a",
      timeout: 50,
    });
    await expect(call).rejects.toBeInstanceOf(UnreachableError);
    expect(await server.registry.metrics()).toContain('api_requests_total{verb="get",resource="services",code="');
  }
});

test("a signal ends a call", async () => {
  const abort = new AbortController();
  await using server = rig(() => {
    abort.abort();
    return new Promise<Response>(() => {});
  });
  const call = server.kube.get(resources.service, "demo", "a", abort.signal);
  await expect(call).rejects.toBeInstanceOf(StoppedError);
});

test("nobody listens: the server counts as unreachable", async () => {
  const server = rig(() => Response.json({}));
  await server[Symbol.asyncDispose]();
  await expect(server.kube.get(resources.service, "demo", "a")).rejects.toBeInstanceOf(UnreachableError);
});

test("calls have the paths, methods and parameters of the Kubernetes API and are counted", async () => {
  await using server = rig(() => Response.json(object));
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a", namespace: "demo" } };
  await server.kube.apply(resources.deployment, deployment);
  await server.kube.mergePatch({
    resource: resources.tunnel,
    namespace: "demo",
    name: "a",
    subresource: "status",
    body: {},
  });
  await server.kube.create(resources.secret, { metadata: { name: "a", namespace: "demo" } });
  await server.kube.remove(resources.pod, { namespace: "demo", name: "a", uid: "u" });
  await server.kube.get(resources.node, "", "n1");
  expect(server.requests).toEqual([
    "PATCH /apis/apps/v1/namespaces/demo/deployments/a?fieldManager=netaminity&force=true",
    "PATCH /apis/netaminity.exeteres.net/v1/namespaces/demo/tunnels/a/status?fieldManager=netaminity",
    "POST /api/v1/namespaces/demo/secrets?fieldManager=netaminity",
    "DELETE /api/v1/namespaces/demo/pods/a",
    "GET /api/v1/nodes/n1",
  ]);
  const body = await server.registry.metrics();
  expect(body).toContain('test_api_requests_total{verb="patch",resource="tunnels/status",code="200"} 1');
});
