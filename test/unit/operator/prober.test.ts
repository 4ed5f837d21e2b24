import { expect, test } from "bun:test";
import { createOperatorMetrics } from "../../../src/operator/metrics.ts";
import { createProber, type ProbeTiming } from "../../../src/operator/prober.ts";
import type { ProbeAddress } from "../../../src/plan/pods-to-probe.ts";
import { waitFor } from "../../support/cluster/wait.ts";
import { listenTcp } from "../../support/tcp-ends.ts";

const deadline = { deadline: 10_000, interval: 5 };
const fast: ProbeTiming = { active: 20, standby: 20, slow: 20, doubtful: 20, timeout: 200 };

function startProber(
  addresses: () => readonly ProbeAddress[],
  timing: Partial<ProbeTiming> = {},
  isLeading = () => true,
) {
  const changed: string[] = [];
  const abort = new AbortController();
  const metrics = createOperatorMetrics();
  const prober = createProber({
    ...{ addresses, isLeading, metrics, timing: { ...fast, ...timing } },
    onChange: (uid) => {
      changed.push(uid);
      started.onResult?.();
    },
  });
  const running = prober.run(abort.signal);
  const started = {
    prober,
    changed,
    onResult: undefined as (() => void) | undefined,
    /** Questions that have been asked, whatever came of them. */
    async asked() {
      const { values } = await metrics.probes.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await running;
    },
  };
  return started;
}

const serve = (answer: (request: Request) => Response | Promise<Response>, hostname = "127.0.0.1", port = 0) =>
  Bun.serve({ hostname, port, fetch: answer });
const pod = (podUid: string, port: number | undefined, given: Partial<ProbeAddress> = {}): ProbeAddress => ({
  ...{ podUid, host: "127.0.0.1", port: port ?? 0, of: "proxy", isActive: false },
  ...given,
});

for (const isActive of [true, false]) {
  test(`a pod answers with 200 to /healthz or counts as silent, each failure one more up to a bound; active: ${isActive}`, async () => {
    const paths = new Set<string>();
    const well = serve((request) => {
      paths.add(new URL(request.url).pathname);
      return new Response("alive");
    });
    const ill = serve(() => new Response("no", { status: 500 }));
    const hangs = serve(() => new Promise<Response>(() => {}));
    const gone = serve(() => new Response());
    const port = gone.port;
    await gone.stop(true);
    const ports = { well: well.port, ill: ill.port, hangs: hangs.port, gone: port };
    const addresses = Object.entries(ports).map(([uid, at]) => pod(uid, at, { isActive }));
    await using started = startProber(() => addresses);
    const results = () => started.prober.results(["well", "ill", "hangs", "gone", "never asked"]);
    await waitFor("bound", deadline, () => results().filter(({ failures }) => failures === 5).length === 3);
    expect(results()).toEqual([
      { podUid: "well", healthy: true, failures: 0 },
      { podUid: "ill", healthy: false, failures: 5 },
      { podUid: "hangs", healthy: false, failures: 5 },
      { podUid: "gone", healthy: false, failures: 5 },
    ]);
    const reports = started.changed.filter((uid) => uid === "gone").length;
    expect([reports, started.changed.filter((uid) => uid === "well").length, [...paths]]).toEqual([5, 1, ["/healthz"]]);
    await Promise.all([well.stop(true), ill.stop(true), hangs.stop(true)]);
  });
}

test("one answer ends a silence, and a pod that is no longer asked is forgotten", async () => {
  let status = 500;
  let asked = true;
  const server = serve(() => new Response("", { status }));
  const address = pod("pod", server.port, { isActive: true });
  await using started = startProber(() => (asked ? [address] : []));
  const result = () => started.prober.results(["pod"])[0];
  await waitFor("silent", deadline, () => (result()?.failures ?? 0) >= 3);
  status = 200;
  await waitFor("answers", deadline, () => result()?.healthy === true);
  expect(result()).toEqual({ podUid: "pod", healthy: true, failures: 0 });
  asked = false;
  await waitFor("forgotten", deadline, () => result() === undefined);
  await server.stop(true);
});

test("the end of an active pod's agent is noticed at once, not with the next question, and its standby is asked then", async () => {
  const active = serve(() => new Response("alive"));
  let standbyAsked = 0;
  const standby = serve(() => {
    standbyAsked += 1;
    return new Response("alive");
  });
  const addresses = [pod("active", active.port, { isActive: true }), pod("standby", standby.port)];
  // The next question of its own would come long after the deadline of this test.
  const never = 600_000;
  let period = 20;
  await using started = startProber(() => addresses, {
    get active() {
      return period;
    },
    standby: never,
  } as ProbeTiming);
  const result = (uid: string) => started.prober.results([uid])[0];
  await waitFor("both answer", deadline, () => result("active")?.healthy === true && standbyAsked === 1);
  await waitFor("several questions on the kept connection", deadline, async () => (await started.asked()) > 5);
  period = never;
  await Bun.sleep(100);
  await active.stop(true);
  await waitFor("noticed", deadline, () => (result("active")?.failures ?? 0) >= 3);
  await waitFor("the standby has answered since", deadline, () => standbyAsked === 2);
  await standby.stop(true);
});

test("no HTTP proxy of the environment is asked for the way to a pod", async () => {
  const heard: string[] = [];
  const proxy = serve((request) => {
    heard.push(request.url);
    return new Response("alive");
  });
  const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
  try {
    const gone = serve(() => new Response());
    const port = gone.port;
    await gone.stop(true);
    const addresses = [pod("standby", port), pod("active", port, { isActive: true })];
    await using started = startProber(() => addresses);
    const failures = () => started.prober.results(["standby", "active"]).map((each) => each.failures);
    await waitFor("both are refused", deadline, () => failures().join() === "5,5");
    expect(heard).toEqual([]);
  } finally {
    for (const [index, name] of names.entries()) {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    }
    await proxy.stop(true);
  }
});

test("hundreds of pods that never answer do not keep others waiting", async () => {
  await using silent = await listenTcp({ keep: false });
  const well = serve(() => new Response("alive"));
  const lost = Array.from({ length: 600 }, (_, index) => pod(`lost-${index}`, silent.port, { of: `p${index}` }));
  const addresses = [...lost, pod("well", well.port, { isActive: true })];
  await using started = startProber(() => addresses, { active: 50, slow: 5000, timeout: 1500 });
  const lostOnes = lost.map(({ podUid }) => podUid);
  await waitFor(
    "all lost ones are known",
    { deadline: 30_000, interval: 50 },
    () => started.prober.results(lostOnes).filter(({ failures }) => failures === 5).length === lost.length,
  );
  await waitFor("the other one answers", deadline, () => started.prober.results(["well"])[0]?.failures === 0);
  await well.stop(true);
  await waitFor("its end is known too", { deadline: 1400, interval: 5 }, () => {
    return (started.prober.results(["well"])[0]?.failures ?? 0) >= 3;
  });
}, 60_000);

test("a replica that waits asks nobody, and what it found in an earlier term is no evidence in the next one", async () => {
  const answers = () => new Response("alive");
  const first = serve(answers);
  const { port } = first;
  const address = pod("a", port, { isActive: true });
  let leading = false;
  let looks = 0;
  const addresses = () => {
    looks += 1;
    return [address];
  };
  await using started = startProber(addresses, {}, () => leading);
  const moreLooks = async () => {
    const before = looks;
    await waitFor("more looks at what there is to ask", deadline, () => looks > before + 5);
  };
  const result = () => started.prober.results(["a"])[0];
  await moreLooks();
  expect(await started.asked()).toBe(0);
  leading = true;
  await waitFor("answers", deadline, () => result()?.healthy === true);
  await first.stop(true);
  await waitFor("silent", deadline, () => result()?.failures === 5);
  leading = false;
  await waitFor("forgotten", deadline, () => result() === undefined);
  const asked = await started.asked();
  await moreLooks();
  // What was on its way when the term ended.
  expect((await started.asked()) - asked).toBeLessThanOrEqual(3);
  const second = serve(answers, "127.0.0.1", port);
  const seen: boolean[] = [];
  started.onResult = () => seen.push(result()?.healthy === true);
  leading = true;
  await waitFor("answers again", deadline, () => seen.length > 0);
  expect(seen).toEqual([true]);
  await second.stop(true);
});

test("a pod that never answered is asked rarely", async () => {
  const gone = serve(() => new Response());
  const { port } = gone;
  await gone.stop(true);
  let looks = 0;
  await using started = startProber(
    () => {
      looks += 1;
      return [pod("a", port, { isActive: true })];
    },
    { slow: 600_000 },
  );
  await waitFor("silent", deadline, () => started.prober.results(["a"])[0]?.failures === 5);
  const [asked, before] = [await started.asked(), looks];
  await waitFor("more looks at what there is to ask", deadline, () => looks > before + 10);
  expect(await started.asked()).toBe(asked);
});

test("a pod that only starts is not taken for silent", async () => {
  const free = serve(() => new Response());
  const { port } = free;
  await free.stop(true);
  await using started = startProber(() => [pod("a", port, { isActive: true })], { slow: 600_000 });
  const failures: number[] = [];
  started.onResult = () => failures.push(started.prober.results(["a"])[0]?.failures ?? 0);
  await waitFor("the first refusal", deadline, () => failures.length > 0);
  const up = serve(() => new Response("alive"), "127.0.0.1", port);
  await waitFor("an answer", deadline, () => started.prober.results(["a"])[0]?.healthy === true);
  expect(Math.max(...failures)).toBeLessThan(3);
  await up.stop(true);
});
