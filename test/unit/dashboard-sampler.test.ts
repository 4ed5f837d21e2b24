import { expect, test } from "bun:test";
import { Sampler } from "../../src/dashboard/sampler.ts";
import type { PodReply } from "../../src/doctor/cluster.ts";
import { waitFor } from "../support/cluster/wait.ts";

const agent = (name: string) => ({ uid: `uid-of-${name}`, namespace: "demo", name, port: 8080 });
const says = (sessions: number): PodReply => ({ status: 200, body: `netaminity_sessions ${sessions}\n` });

test("agents are asked at each look, and pods that do not answer delay nobody and are asked rarely", async () => {
  const asked = new Map<string, number>();
  const silent = Promise.withResolvers<PodReply>();
  let isSilent = true;
  const sampler = new Sampler({
    async ask(_, pod) {
      asked.set(pod, (asked.get(pod) ?? 0) + 1);
      return pod.startsWith("far") && isSilent ? await silent.promise : says(asked.get(pod) ?? 0);
    },
  });
  const near = Array.from({ length: 40 }, (_, index) => agent(`near-${index}`));
  const far = Array.from({ length: 4 }, (_, index) => agent(`far-${index}`));
  const first = await sampler.samplesOf([...near, ...far]);
  expect([...first.keys()]).toEqual(near.map(({ uid }) => uid));
  silent.resolve({ silent: "no answer within 4000 ms" });
  await Bun.sleep(0);
  for (let look = 2; look < 6; look += 1) {
    const found = await sampler.samplesOf([...near, ...far]);
    expect(found.get("uid-of-near-7")).toEqual([{ name: "netaminity_sessions", labels: {}, value: look }]);
    expect(found.size).toBe(40);
  }
  expect([asked.get("near-0"), asked.get("far-0")]).toEqual([5, 1]);
  // One that answers again counts again.
  isSilent = false;
  await waitFor(
    "the far ones",
    { deadline: 20_000 },
    async () => (await sampler.samplesOf([...near, ...far])).size === 44,
  );
}, 30_000);

test("what a pod said is forgotten with the pod, and does not count once it is silent", async () => {
  let isSilent = false;
  const sampler = new Sampler({ ask: async () => (isSilent ? { cut: "refused" } : says(1)) });
  expect((await sampler.samplesOf([agent("a")])).size).toBe(1);
  isSilent = true;
  expect((await sampler.samplesOf([agent("a")])).size).toBe(0);
  expect((await sampler.samplesOf([])).size).toBe(0);
});
