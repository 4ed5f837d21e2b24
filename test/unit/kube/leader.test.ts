import { expect, test } from "bun:test";
import { ConflictError, UnreachableError } from "../../../src/kube/errors.ts";
import { type Lease, type LeaseClient, type LeaseSpec, runLeader } from "../../../src/kube/leader.ts";
import { createLog } from "../../../src/log.ts";
import { waitFor } from "../../support/cluster/wait.ts";

const log = createLog({ level: "error", format: "json", write: () => {} });
/** Short, but with the proportions of the real ones. */
const timing = { duration: 600, renewDeadline: 400, retry: 40 };
const deadline = { deadline: 10_000, interval: 5 };

/** A lease as the API server keeps it: every write has a new version and needs the last one. */
function makeLease() {
  let lease: Lease | undefined;
  let version = 0;
  const state = { reachable: true, holders: [] as string[] };
  const write = (spec: LeaseSpec) => {
    version += 1;
    lease = { metadata: { name: "lease", uid: "uid", resourceVersion: String(version) }, spec };
    if (spec.holderIdentity !== state.holders.at(-1)) {
      state.holders.push(spec.holderIdentity ?? "");
    }
    return lease;
  };
  const reached = () => {
    if (!state.reachable) {
      throw new UnreachableError("no answer");
    }
  };
  const client: LeaseClient = {
    async read() {
      reached();
      return lease;
    },
    async create(spec) {
      reached();
      if (lease !== undefined) {
        throw new ConflictError(409, {}, "create");
      }
      return write(spec);
    },
    async update(before, spec) {
      reached();
      if (before.metadata.resourceVersion !== lease?.metadata.resourceVersion) {
        throw new ConflictError(409, {}, "update");
      }
      return write(spec);
    },
  };
  return {
    client,
    state,
    seize: (holderIdentity: string, seconds: number) => write({ holderIdentity, leaseDurationSeconds: seconds }),
  };
}

/** A replica that says when it works, and fails when two work at once. */
function startReplica(identity: string, client: LeaseClient, working: Set<string>) {
  const abort = new AbortController();
  const terms = { begun: 0, ended: 0, together: 0 };
  const running = runLeader({
    client,
    identity,
    timing,
    log,
    signal: abort.signal,
    async lead(signal) {
      terms.begun += 1;
      working.add(identity);
      terms.together = Math.max(terms.together, working.size);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      working.delete(identity);
      terms.ended += 1;
    },
  });
  return {
    terms,
    async stop() {
      abort.abort();
      await running;
    },
    [Symbol.asyncDispose]() {
      return this.stop();
    },
  };
}

test("one of several replicas works, and when it stops another goes on at once", async () => {
  const { client, state } = makeLease();
  const working = new Set<string>();
  await using first = startReplica("first", client, working);
  await waitFor("first leads", deadline, () => working.has("first"));
  await using second = startReplica("second", client, working);
  await first.stop();
  await waitFor("second leads", deadline, () => working.has("second"));
  expect(state.holders).toEqual(["first", "", "second"]);
  expect([first.terms, second.terms]).toEqual([
    { begun: 1, ended: 1, together: 1 },
    { begun: 1, ended: 0, together: 1 },
  ]);
});

test("without the API server the leader stops working, and works again when it is back", async () => {
  const { client, state } = makeLease();
  const working = new Set<string>();
  await using replica = startReplica("only", client, working);
  await waitFor("leads", deadline, () => working.size === 1);
  state.reachable = false;
  await waitFor("stopped", deadline, () => working.size === 0);
  state.reachable = true;
  await waitFor("leads again", deadline, () => working.size === 1);
  expect(replica.terms).toEqual({ begun: 2, ended: 1, together: 1 });
});

test("a short failure to renew changes nothing", async () => {
  const { client, state } = makeLease();
  let failures = 3;
  const shaky: LeaseClient = {
    ...client,
    async update(lease, spec) {
      if (state.holders.length > 0 && failures > 0) {
        failures -= 1;
        throw new UnreachableError("no answer");
      }
      return client.update(lease, spec);
    },
  };
  const working = new Set<string>();
  await using replica = startReplica("only", shaky, working);
  await waitFor(
    "failures are over and it renewed",
    deadline,
    async () => failures === 0 && Number((await client.read())?.metadata.resourceVersion) > 3,
  );
  expect(replica.terms).toEqual({ begun: 1, ended: 0, together: 1 });
});

test("a leader whose lease was taken away stops, and waits for the new holder to fall silent", async () => {
  const { client, state, seize } = makeLease();
  const working = new Set<string>();
  await using replica = startReplica("first", client, working);
  await waitFor("leads", deadline, () => working.size === 1);
  seize("thief", 1);
  await waitFor("stopped", deadline, () => working.size === 0);
  await waitFor("leads again", deadline, () => working.size === 1);
  expect(state.holders).toEqual(["first", "thief", "first"]);
  expect(replica.terms).toEqual({ begun: 2, ended: 1, together: 1 });
});

test("a holder that renews is left alone, however wrong its clock is", async () => {
  const { client, seize } = makeLease();
  const working = new Set<string>();
  seize("other", 1);
  await using replica = startReplica("second", client, working);
  for (let renewals = 0; renewals < 30; renewals += 1) {
    const lease = await client.read();
    if (lease === undefined) throw new Error("the lease is gone");
    await client.update(lease, { ...lease.spec, renewTime: "1999-01-01T00:00:00.000000Z" });
    await Bun.sleep(50);
  }
  expect(replica.terms).toEqual({ begun: 0, ended: 0, together: 0 });
});

test("who waits is told when the holder is late, before the lease is free, and when it is not late any more", async () => {
  const { client, seize } = makeLease();
  const told: boolean[] = [];
  const abort = new AbortController();
  seize("other", 600);
  const running = runLeader({
    ...{ client, identity: "second", timing, log, signal: abort.signal },
    overdue: (isOverdue) => {
      if (told.at(-1) !== isOverdue) told.push(isOverdue);
    },
    lead: async () => {
      throw new Error("the lease is not free");
    },
  });
  await waitFor("late", deadline, () => told.at(-1) === true);
  const lease = await client.read();
  if (lease === undefined) throw new Error("the lease is gone");
  await client.update(lease, { ...lease.spec });
  await waitFor("not late", deadline, () => told.at(-1) === false);
  expect(told).toEqual([false, true, false]);
  abort.abort();
  await running;
});

test("a lease is taken as soon as it is free, not with the next regular try", async () => {
  const { client, seize } = makeLease();
  const abort = new AbortController();
  const led = Promise.withResolvers<void>();
  seize("lost", 1);
  const running = runLeader({
    ...{ client, identity: "second", log, signal: abort.signal },
    timing: { ...timing, retry: 600_000 },
    lead: async (signal) => {
      led.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  });
  await led.promise;
  abort.abort();
  await running;
});

test("many replicas never work at the same time while leases change hands", async () => {
  const { client } = makeLease();
  const working = new Set<string>();
  const replicas = Array.from({ length: 5 }, (_, i) => startReplica(`r${i}`, client, working));
  for (let rest = replicas; rest.length > 0; ) {
    await waitFor("somebody leads", deadline, () => working.size > 0);
    const [leader = ""] = working;
    const replica = replicas[Number(leader.slice(1))];
    await replica?.stop();
    rest = rest.filter((other) => other !== replica);
  }
  expect(replicas.map(({ terms }) => terms)).toEqual(Array(5).fill({ begun: 1, ended: 1, together: 1 }));
});

test("a replica that is stopped while it acquires the lease ends, and gives the lease back", async () => {
  const { client, state } = makeLease();
  const working = new Set<string>();
  const replicas: ReturnType<typeof startReplica>[] = [];
  const slow: LeaseClient = {
    ...client,
    async create(spec) {
      const lease = await client.create(spec);
      void replicas[0]?.stop();
      return lease;
    },
  };
  replicas.push(startReplica("only", slow, working));
  await waitFor("given back", deadline, () => state.holders.length === 2);
  await replicas[0]?.stop();
  expect(state.holders).toEqual(["only", ""]);
});
