import { formatHostPort } from "../endpoint.ts";
import { pause } from "../kube/backoff.ts";
import type { ProbeResult } from "../plan/observed.ts";
import type { ProbeAddress } from "../plan/pods-to-probe.ts";
import type { OperatorMetrics } from "./metrics.ts";

export interface ProberOptions {
  /** What to probe now. Asked before every round. */
  addresses: () => readonly ProbeAddress[];
  /** Told when the outcome of a pod changes in a way that a plan may see. */
  onChange: (podUid: string) => void;
  metrics: OperatorMetrics;
  /** Milliseconds between the starts of two rounds; half of it while a pod has become silent. */
  interval?: number;
  /** Milliseconds that one pod has to answer. */
  timeout?: number;
}

/** Asks pods directly whether they live, since Kubernetes takes 40 s to say that a node is gone. */
export interface Prober {
  /** Probes until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
  results(podUids: readonly string[]): ProbeResult[];
}

/** Failures in a row are counted up to here and each step is reported; beyond it nothing new is to be learned. */
const maxCountedFailures = 5;
const maxAtOnce = 32;

export function createProber({ addresses, onChange, metrics, interval = 2000, timeout = 1500 }: ProberOptions): Prober {
  const results = new Map<string, ProbeResult>();

  const probe = async (address: ProbeAddress) => {
    const healthy = await answers(address, timeout);
    metrics.probes.inc({ result: healthy ? "answered" : "silent" });
    const { podUid } = address;
    const before = results.get(podUid);
    const failures = healthy ? 0 : Math.min(maxCountedFailures, (before?.failures ?? 0) + 1);
    results.set(podUid, { podUid, healthy, failures });
    if (before === undefined || before.healthy !== healthy || before.failures !== failures) {
      onChange(podUid);
    }
  };
  return {
    async run(signal) {
      while (!signal.aborted) {
        const began = performance.now();
        const now = addresses();
        const wanted = new Set(now.map(({ podUid }) => podUid));
        for (const podUid of results.keys()) {
          if (!wanted.has(podUid)) {
            results.delete(podUid);
          }
        }
        await eachBounded(now, maxAtOnce, probe);
        const isDoubtful = results.values().some(({ failures }) => failures > 0 && failures < maxCountedFailures);
        const pace = isDoubtful ? interval / 2 : interval;
        await pause(Math.max(0, pace - (performance.now() - began)), signal);
      }
      results.clear();
    },
    results: (podUids) =>
      podUids.flatMap((podUid) => {
        const result = results.get(podUid);
        return result === undefined ? [] : [result];
      }),
  };
}

async function answers({ host, port }: ProbeAddress, timeout: number): Promise<boolean> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeout);
  try {
    const response = await fetch(`http://${formatHostPort({ host, port })}/healthz`, {
      signal: abort.signal,
      redirect: "error",
      // A connection that is kept would say nothing about the way to the pod.
      keepalive: false,
    });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

async function eachBounded<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
