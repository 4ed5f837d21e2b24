import { expect, test } from "bun:test";
import { createOperatorMetrics } from "../../../src/operator/metrics.ts";
import { createProber } from "../../../src/operator/prober.ts";
import type { ProbeAddress } from "../../../src/plan/pods-to-probe.ts";
import { waitFor } from "../../support/cluster/wait.ts";

const deadline = { deadline: 10_000, interval: 5 };

function startProber(addresses: () => readonly ProbeAddress[]) {
  const changed: string[] = [];
  const abort = new AbortController();
  const prober = createProber({
    addresses,
    onChange: (uid) => changed.push(uid),
    metrics: createOperatorMetrics(),
    interval: 20,
    timeout: 100,
  });
  const running = prober.run(abort.signal);
  return {
    prober,
    changed,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await running;
    },
  };
}

const serve = (answer: (request: Request) => Response | Promise<Response>) =>
  Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });

test("a pod answers with 200 to /healthz or counts as silent, each failure one more up to a bound", async () => {
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
  const addresses = Object.entries(ports).map(([podUid, at = 0]) => ({ podUid, host: "127.0.0.1", port: at }));
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

test("one answer ends a silence, and a pod that is no longer asked is forgotten", async () => {
  let status = 500;
  let asked = true;
  const server = serve(() => new Response("", { status }));
  const address = { podUid: "pod", host: "127.0.0.1", port: server.port ?? 0 };
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
