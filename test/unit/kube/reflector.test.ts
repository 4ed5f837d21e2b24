import { expect, test } from "bun:test";
import { Registry } from "prom-client";
import { startReflector, type WatchTiming } from "../../../src/kube/cache.ts";
import { createKube, type KubeObject } from "../../../src/kube/kube.ts";
import { createKubeMetrics } from "../../../src/kube/metrics.ts";
import { createStore } from "../../../src/kube/store.ts";
import { createLog } from "../../../src/log.ts";
import { resources } from "../../../src/operator/resources.ts";
import { waitFor } from "../../support/cluster/wait.ts";

const deadline = { deadline: 10_000, interval: 5 };
const timing: WatchTiming = { watchSeconds: 60, idle: 200, firstBackoff: 10, maxBackoff: 50 };

const pod = (name: string, version: number): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "demo", uid: name, resourceVersion: String(version) },
});
const event = (type: string, object: object) => new TextEncoder().encode(`${JSON.stringify({ type, object })}\n`);

/** What the server does for one watch: it gets the version that was asked for. */
type Script = (controller: ReadableStreamDefaultController<Uint8Array>, version: string) => void;

interface RigOptions {
  /** What it does when it is asked for all that is there at the head of a watch. Beyond these, and by default: it does not know that. */
  streams?: Script[];
  labelSelector?: string;
}

const unknownToServer = () =>
  Response.json({ code: 422, reason: "Invalid", message: "sendInitialEvents is forbidden" }, { status: 422 });

/** An API server whose watches misbehave as told. Real ones do so only after hours. */
function rig(lists: (() => object)[], watches: Script[], { streams = [], ...how }: RigOptions = {}) {
  const calls: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const query = new URL(request.url).searchParams;
      const version = query.get("resourceVersion") ?? "";
      if (query.get("watch") === null) {
        calls.push(
          ["list", query.get("limit") === null ? "whole" : "", query.get("continue")].filter(Boolean).join(" "),
        );
        const answer = lists.shift()?.() ?? {};
        return Response.json(answer, { status: "code" in answer ? Number(answer.code) : 200 });
      }
      const isStream = query.get("sendInitialEvents") === "true";
      calls.push(isStream ? "stream" : `watch ${version}`);
      const script = isStream ? streams.shift() : watches.shift();
      if (isStream && script === undefined) {
        return unknownToServer();
      }
      return new Response(new ReadableStream({ start: (controller) => script?.(controller, version) }));
    },
  });
  const registry = new Registry();
  const metrics = createKubeMetrics("test", [registry]);
  const credentials = {
    server: `http://127.0.0.1:${server.port}`,
    namespace: undefined,
    tls: () => ({ rejectUnauthorized: true }),
    authorization: () => undefined,
    expire: () => {},
  };
  const abort = new AbortController();
  const store = createStore<KubeObject>({ onChange: () => {} });
  const reflector = startReflector<KubeObject>({
    kube: createKube({ credentials, metrics, userAgent: "netaminity-test", fieldManager: "netaminity" }),
    metrics,
    log: createLog({ level: "error", format: "json", write: () => {} }),
    resource: resources.pod,
    keep: (object) => object,
    store,
    signal: abort.signal,
    timing,
    ...how,
  });
  return {
    calls,
    store,
    reflector,
    abort: () => abort.abort(),
    names: () => [...store.values()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort(),
    restarts: async (cause: string) => {
      const body = await registry.metrics();
      return Number(
        new RegExp(`watch_restarts_total\\{resource="pods",cause="${cause}"\\} (\\d+)`).exec(body)?.[1] ?? 0,
      );
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await reflector.done;
      await server.stop(true);
    },
  };
}

const listOf =
  (version: number, items: object[], next = "") =>
  () => ({
    metadata: { resourceVersion: String(version), continue: next },
    items,
  });
const stays: Script = () => {};
/** Accepts the watch: Bun's server sends the head of an answer with its first bytes. */
const opens: Script = (controller) => controller.enqueue(new TextEncoder().encode("\n"));

test("a list comes in pages and the watch goes on from it", async () => {
  await using server = rig(
    [listOf(5, [pod("a", 1)], "more"), listOf(5, [pod("b", 2)])],
    [
      (controller) => {
        controller.enqueue(event("ADDED", pod("c", 6)));
        controller.enqueue(event("MODIFIED", pod("a", 7)));
        controller.enqueue(event("DELETED", pod("b", 8)));
      },
    ],
  );
  await waitFor("all events", deadline, () => server.names().join() === "a@7,c@6");
  expect(server.calls).toEqual(["stream", "list", "list more", "watch 5"]);
});

test("a watch that ends goes on where it was, bookmarks included, without a list", async () => {
  await using server = rig(
    [listOf(5, [])],
    [
      (controller) => {
        controller.enqueue(event("BOOKMARK", pod("", 90)));
        controller.close();
      },
      stays,
    ],
  );
  await waitFor("second watch", deadline, () => server.calls.length === 4);
  expect(server.calls).toEqual(["stream", "list", "watch 5", "watch 90"]);
  expect(await server.restarts("end")).toBe(1);
});

test("a version that is too old is answered by a new list, and what vanished meanwhile is gone", async () => {
  await using server = rig(
    [listOf(5, [pod("a", 1), pod("b", 2)]), listOf(50, [pod("b", 2)])],
    [(controller) => controller.enqueue(event("ERROR", { code: 410, reason: "Expired" })), stays],
  );
  await waitFor("second watch", deadline, () => server.calls.includes("watch 50"));
  expect(server.calls).toEqual(["stream", "list", "watch 5", "stream", "list", "watch 50"]);
  expect(server.names()).toEqual(["b@2"]);
  expect(await server.restarts("gone")).toBe(1);
});

test("a watch that falls silent is replaced", async () => {
  await using server = rig([listOf(5, [])], [(controller) => controller.enqueue(event("ADDED", pod("a", 6))), stays]);
  await waitFor("second watch", deadline, () => server.calls.includes("watch 6"));
  expect(server.calls).toEqual(["stream", "list", "watch 5", "watch 6"]);
  expect(await server.restarts("idle")).toBe(1);
});

test("other errors, wrong lines and halves of lines are tried again from the same version", async () => {
  const scripts: Script[] = [
    (controller) => controller.enqueue(event("ERROR", { code: 500, message: "etcd is away" })),
    (controller) => controller.enqueue(new TextEncoder().encode("<html>\n")),
    (controller) => {
      controller.enqueue(event("ADDED", pod("a", 6)).slice(0, 20));
      controller.close();
    },
    stays,
  ];
  await using server = rig([listOf(5, [])], scripts);
  await waitFor("fourth watch", deadline, () => server.calls.length >= 6);
  expect(server.calls.slice(0, 6)).toEqual(["stream", "list", "watch 5", "watch 5", "watch 5", "watch 5"]);
});

test("a list that is refused is tried again, and the reason is known meanwhile", async () => {
  const refused = () => ({ code: 403, message: "pods is forbidden" });
  await using server = rig([refused, refused, listOf(5, [pod("a", 1)])], [stays]);
  await waitFor("reason", deadline, () => server.reflector.failure()?.message === "list pods: 403 pods is forbidden");
  expect(server.reflector.synced()).toBe(false);
  await server.reflector.firstList;
  expect([server.reflector.synced(), server.names(), server.reflector.failure()]).toEqual([true, ["a@1"], undefined]);
});

test("it ends when it is stopped while its list comes in, or in the middle of a watch", async () => {
  await using early = rig([listOf(5, [])], [stays]);
  // Right behind the list, before the watch is asked for.
  void early.reflector.firstList.then(early.abort);
  await early.reflector.done;
  await using late = rig([listOf(5, [])], [stays]);
  await waitFor("watch", deadline, () => late.calls.includes("watch 5"));
  late.abort();
  await late.reflector.done;
});

const end = (version: number) => event("BOOKMARK", bookmarkAt(version, { "k8s.io/initial-events-end": "true" }));
const bookmarkAt = (version: number, annotations = {}) => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { resourceVersion: String(version), annotations },
});

test("what is there comes at the head of a watch where the server knows that, and nothing is listed", async () => {
  const stream: Script = (controller) => {
    controller.enqueue(event("ADDED", pod("a", 1)));
    controller.enqueue(event("ADDED", pod("b", 2)));
    controller.enqueue(event("ADDED", pod("c", 3)));
    controller.enqueue(event("MODIFIED", pod("a", 4)));
    controller.enqueue(event("DELETED", pod("b", 5)));
    controller.enqueue(end(5));
    controller.enqueue(event("ADDED", pod("d", 6)));
    controller.close();
  };
  await using server = rig([], [stays], { streams: [stream] });
  await waitFor("second watch", deadline, () => server.calls.length === 2);
  expect(server.calls).toEqual(["stream", "watch 6"]);
  expect([server.reflector.synced(), server.names()]).toEqual([true, ["a@4", "c@3", "d@6"]]);
});

test("until all that is there has come nothing is taken for gone, and nothing counts as known", async () => {
  let go: (() => void) | undefined;
  const stream: Script = (controller) => {
    controller.enqueue(event("ADDED", pod("a", 1)));
    go = () => controller.enqueue(end(5));
  };
  await using server = rig(
    [listOf(5, [pod("a", 1), pod("b", 2)])],
    [(controller) => controller.enqueue(event("ERROR", { code: 410, reason: "Expired" }))],
    { streams: [(controller) => controller.close(), stream] },
  );
  await waitFor("second stream", deadline, () => go !== undefined);
  expect(server.calls).toEqual(["stream", "list", "watch 5", "stream"]);
  expect(server.names()).toEqual(["a@1", "b@2"]);
  go?.();
  await waitFor("b is gone", deadline, () => server.names().join() === "a@1");
});

test.each<[string, Script]>([
  ["breaks off", (controller) => controller.close()],
  ["is silent", opens],
  ["never says where its beginning ends", (controller) => controller.enqueue(event("BOOKMARK", bookmarkAt(3)))],
  ["fails", (controller) => controller.enqueue(event("ERROR", { code: 504, message: "Too large resource version" }))],
])("a watch with all that is there at its head that %s is followed by a list", async (_, stream) => {
  await using server = rig([listOf(5, [pod("a", 1)])], [stays], { streams: [stream] });
  await waitFor("watch", deadline, () => server.calls.includes("watch 5"));
  expect(server.calls).toEqual(["stream", "list", "watch 5"]);
  expect(server.names()).toEqual(["a@1"]);
});

test("a list of what is selected is asked for in one piece, which the server has in memory", async () => {
  await using server = rig([listOf(5, [pod("a", 1)])], [stays], { labelSelector: "a=b" });
  await waitFor("watch", deadline, () => server.calls.includes("watch 5"));
  expect(server.calls).toEqual(["stream", "list whole", "watch 5"]);
});

test("a watch in which nothing happens is asked for again at once each time, and that is no failure", async () => {
  await using server = rig([listOf(5, [])], Array(8).fill(opens));
  await waitFor("sixth watch", deadline, () => server.calls.length >= 8);
  expect(new Set(server.calls.slice(2))).toEqual(new Set(["watch 5"]));
  expect([server.reflector.failure(), server.reflector.silence() < 1000]).toEqual([undefined, true]);
  expect(await server.restarts("idle")).toBeGreaterThanOrEqual(5);
});
