import { expect, test } from "bun:test";
import type { Credentials } from "../../../src/kube/credentials.ts";
import { createKube } from "../../../src/kube/kube.ts";
import { createLog } from "../../../src/log.ts";
import { type Guard, type GuardOptions, startGuard } from "../../../src/operator/guard.ts";
import { createOperatorMetrics } from "../../../src/operator/metrics.ts";
import { waitFor } from "../../support/cluster/wait.ts";

interface Stored {
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string };
  spec: { holderIdentity?: string };
}

/** Leases of an API server: namespaces that it does not have answer 404, those that nobody may read 403. Real ones are in test/cluster/releases.cases.ts. */
function leaseServer(how: { absent?: string[]; forbidden?: string[] } = {}) {
  const leases = new Map<string, Stored>();
  let version = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const namespace = /\/namespaces\/([^/]+)\//.exec(pathname)?.[1] ?? "";
      if (how.forbidden?.includes(namespace)) return Response.json({ message: "no" }, { status: 403 });
      const found = leases.get(namespace);
      if (request.method === "GET") {
        return found === undefined ? Response.json({}, { status: 404 }) : Response.json(found);
      }
      if (how.absent?.includes(namespace)) return Response.json({}, { status: 404 });
      const body = (await request.json()) as Stored;
      const isStale = found !== undefined && body.metadata.resourceVersion !== found.metadata.resourceVersion;
      if (isStale) return Response.json({}, { status: 409 });
      version += 1;
      const next = { ...body, metadata: { ...body.metadata, uid: "u", resourceVersion: `${version}` } };
      leases.set(namespace, next);
      return Response.json(next);
    },
  });
  const credentials: Credentials = {
    server: `http://127.0.0.1:${server.port}`,
    namespace: undefined,
    tls: () => ({ rejectUnauthorized: true }),
    authorization: () => undefined,
    expire: () => {},
  };
  const kube = createKube({ credentials, userAgent: "test", fieldManager: "test" });
  return { leases, kube, [Symbol.asyncDispose]: () => server.stop(true) };
}

function start(kube: GuardOptions["kube"], change: Partial<GuardOptions> & { namespaces: string[]; release: string }) {
  const stop = new AbortController();
  const log = createLog({ level: "error", format: "json", write: () => {} });
  const guard = startGuard({
    ...{ kube, log, signal: stop.signal, metrics: createOperatorMetrics() },
    known: () => Promise.resolve(),
    onServed: () => {},
    timing: { duration: 1000, renewDeadline: 800, retry: 20 },
    ...change,
  });
  const end = async () => {
    stop.abort();
    await guard.done;
  };
  return { guard, end, [Symbol.asyncDispose]: end };
}

const serves = async (guard: Guard, namespace: string) =>
  (await guard.within(namespace, new AbortController().signal, async () => true)) === true;
const until = (what: string, probe: () => Promise<boolean>) => waitFor(what, { deadline: 5000, interval: 10 }, probe);

test("a namespace that another release holds, that is not there, or that is not known yet keeps no other waiting", async () => {
  await using server = leaseServer({ absent: ["absent"], forbidden: ["forbidden"] });
  await using first = start(server.kube, { namespaces: ["a"], release: "one" });
  await until("the first serves", () => serves(first.guard, "a"));
  const known = Promise.withResolvers<void>();
  await using second = start(server.kube, {
    namespaces: ["a", "absent", "forbidden", "later", "z"],
    release: "two",
    known: (namespace) => (namespace === "later" ? known.promise : Promise.resolve()),
  });
  // Without the right to look for others it serves all the same.
  for (const each of ["z", "forbidden"]) await until(each, () => serves(second.guard, each));
  await until(
    "said",
    async () => second.guard.notReady() === "the release in namespace one serves namespace a already",
  );
  const others = ["a", "absent", "later", "never-mentioned"];
  expect(await Promise.all(others.map((each) => serves(second.guard, each)))).toEqual(others.map(() => false));
  known.resolve();
  await until("later", () => serves(second.guard, "later"));
});

test("work in a namespace ends before its Lease is given back, and the next release has it then", async () => {
  await using server = leaseServer();
  const first = start(server.kube, { namespaces: ["a"], release: "one" });
  await until("the first serves", () => serves(first.guard, "a"));
  await using second = start(server.kube, { namespaces: ["a"], release: "two" });
  const holder = () => server.leases.get("a")?.spec.holderIdentity;
  let holderAtEnd: string | undefined = "still running";
  const working = first.guard.within("a", new AbortController().signal, async (signal) => {
    await until("told to end", async () => signal.aborted);
    holderAtEnd = holder();
  });
  await first.end();
  await working;
  expect(holderAtEnd).toBe("one");
  await until("the second serves", () => serves(second.guard, "a"));
  expect([holder(), second.guard.notReady()]).toEqual(["two", undefined]);
});

test("a Lease that nobody renews is taken, and then nobody is in the way any more", async () => {
  await using server = leaseServer();
  const metadata = { name: "netaminity-guard", namespace: "a", uid: "u", resourceVersion: "old" };
  const spec = { holderIdentity: "gone", leaseDurationSeconds: 1 };
  server.leases.set("a", { metadata, spec });
  await using next = start(server.kube, { namespaces: ["a"], release: "one" });
  await until(
    "it waits",
    async () => next.guard.notReady() === "the release in namespace gone serves namespace a already",
  );
  await until("it serves", () => serves(next.guard, "a"));
  expect(next.guard.notReady()).toBeUndefined();
});

test("replicas of one release follow each other without a wait", async () => {
  await using server = leaseServer();
  await using first = start(server.kube, { namespaces: ["a"], release: "one" });
  await until("the first serves", () => serves(first.guard, "a"));
  await using second = start(server.kube, { namespaces: ["a"], release: "one" });
  await until("the second serves", () => serves(second.guard, "a"));
  expect(second.guard.notReady()).toBeUndefined();
});
