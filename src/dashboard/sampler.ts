import { askForSamples } from "../doctor/agents.ts";
import type { Cluster } from "../doctor/cluster.ts";
import type { AgentAddress } from "../doctor/look-over.ts";
import type { Samples } from "../doctor/samples.ts";

/** Pods that are asked at once, and those of them that gave no answer the last time: the API server may not reach them at all. */
const maxAsking = 16;
const maxAskingSilent = 4;
/** Milliseconds until a silent pod is asked again: doubled from the first to the last. */
const pauses = { first: 2000, last: 60_000 };
/** Milliseconds that a look waits for answers; later ones count for the next look. */
const patience = 1500;
/** Milliseconds for which what a pod has said counts. */
const freshFor = 15_000;

interface Asked {
  samples: Samples | undefined;
  /** `performance.now()` of the last answer. */
  at: number;
  /** Failures in a row, and when to ask again. */
  failures: number;
  nextAt: number;
  asking: Promise<void> | undefined;
}

/** Asks agents for their metrics so that those that do not answer delay nobody. */
export class Sampler {
  #cluster: Pick<Cluster, "ask">;
  #pods = new Map<string, Asked>();

  constructor(cluster: Pick<Cluster, "ask">) {
    this.#cluster = cluster;
  }

  /** What these pods say now, by uid; who has given no answer is absent. */
  async samplesOf(agents: readonly AgentAddress[]): Promise<Map<string, Samples>> {
    const present = new Set(agents.map(({ uid }) => uid));
    for (const uid of this.#pods.keys()) if (!present.has(uid)) this.#pods.delete(uid);
    const heard = agents.filter(({ uid }) => (this.#pods.get(uid)?.failures ?? 0) === 0);
    const silent = agents.filter(({ uid }) => (this.#pods.get(uid)?.failures ?? 0) > 0);
    void this.#askAll(silent, maxAskingSilent);
    await Promise.race([this.#askAll(heard, maxAsking), Bun.sleep(patience)]);
    const since = performance.now() - freshFor;
    return new Map(
      agents.flatMap(({ uid }) => {
        const { samples, at = 0, failures = 1 } = this.#pods.get(uid) ?? {};
        return samples !== undefined && failures === 0 && at > since ? [[uid, samples] as const] : [];
      }),
    );
  }

  async #askAll(agents: readonly AgentAddress[], atOnce: number): Promise<void> {
    const rest = agents.values();
    const worker = async () => {
      for (const agent of rest) await this.#ask(agent);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  #ask({ uid, namespace, name, port }: AgentAddress): Promise<void> {
    const asked = this.#pods.get(uid) ?? { samples: undefined, at: 0, failures: 0, nextAt: 0, asking: undefined };
    this.#pods.set(uid, asked);
    if (asked.asking !== undefined) return asked.asking;
    if (asked.nextAt > performance.now()) return Promise.resolve();
    const ask = async () => {
      const answer = await askForSamples(this.#cluster, namespace, name, port);
      asked.asking = undefined;
      const now = performance.now();
      if ("found" in answer) {
        Object.assign(asked, { samples: answer.found, at: now, failures: 0, nextAt: 0 });
      } else {
        asked.nextAt = now + Math.min(pauses.last, pauses.first * 2 ** asked.failures);
        asked.failures += 1;
      }
    };
    asked.asking = ask();
    return asked.asking;
  }
}
