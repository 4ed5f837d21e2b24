import { pause } from "../kube/backoff.ts";
import type { ProbeResult } from "../plan/observed.ts";
import type { ProbeAddress } from "../plan/pods-to-probe.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { askOnce, PodConnection } from "./pod-connection.ts";

/** Times of the prober, in milliseconds. */
export interface ProbeTiming {
  /** From one question to the next: of an active pod, of a standby. */
  active: number;
  standby: number;
  /** The same of a pod that has never answered, and of all pods while another replica of the operator leads. */
  slow: number;
  /** From one question to the next while a pod is doubtful. */
  doubtful: number;
  /** That a pod has for its answer. */
  timeout: number;
}

/**
 * Below one question per second and Proxy with a standby, also with a second replica that waits. Once an active pod does not answer, it is silent a
 * second later, and its standbys have been asked as well.
 */
const defaultTiming: ProbeTiming = { active: 1500, standby: 6000, slow: 12_000, doubtful: 200, timeout: 800 };

export interface ProberOptions {
  /** What to probe now. Asked every half second. */
  addresses: () => readonly ProbeAddress[];
  /** Told when the outcome of a pod changes in a way that a plan may see. */
  onChange: (podUid: string) => void;
  /** Whether what is found is used now; else it is only kept ready. */
  isLeading: () => boolean;
  metrics: OperatorMetrics;
  timing?: Partial<ProbeTiming>;
}

/** Asks pods directly whether they live, since Kubernetes takes 40 s to say that a node is gone. */
export interface Prober {
  /** Probes until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
  results(podUids: readonly string[]): ProbeResult[];
}

/** Failures in a row are counted up to here and each step is reported; beyond it nothing new is to be learned. */
const maxCountedFailures = 5;
/** Questions on their way at once, and those of them to pods that are silent already: many lost pods must not delay the others. */
const maxAsking = 512;
const maxAskingSilent = 128;
/** Milliseconds: how often due pods are looked for, and the list of pods is renewed. */
const tick = 50;
const refresh = 500;
/** A look that comes so many milliseconds late shows that this process was busy: what was on its way proves nothing. */
const busy = 300;

/** What is known of one pod. Several questions to it may be on their way, each on a connection of its own. */
interface Probed {
  address: ProbeAddress;
  connections: PodConnection[];
  asking: number;
  nextAt: number;
  healthy: boolean | undefined;
  failures: number;
  answeredAt: number;
}

export function createProber(options: ProberOptions): Prober {
  const { addresses, onChange, isLeading, metrics } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const pods = new Map<string, Probed>();
  let [asking, askingSilent] = [0, 0];
  let busyUntil = 0;

  const periodOf = ({ address, answeredAt }: Probed): number => {
    if (answeredAt === 0 || !isLeading()) return timing.slow;
    return address.isActive ? timing.active : timing.standby;
  };
  const renew = () => {
    const wanted = new Map(addresses().map((address) => [address.podUid, address]));
    for (const [uid, { address, connections }] of pods) {
      const now = wanted.get(uid);
      if (now?.host === address.host && now.port === address.port) continue;
      for (const connection of connections) connection.close();
      pods.delete(uid);
    }
    for (const [uid, address] of wanted) {
      const known = pods.get(uid);
      if (known !== undefined) known.address = address;
      else
        pods.set(uid, {
          address,
          connections: [],
          asking: 0,
          nextAt: 0,
          healthy: undefined,
          failures: 0,
          answeredAt: 0,
        });
    }
  };
  const connectionOf = (pod: Probed): PodConnection => {
    const free = pod.connections.pop();
    return free ?? new PodConnection(pod.address, () => lookAtOnce(pod));
  };
  /** The agent has ended, or closes what it does not use. */
  const lookAtOnce = (pod: Probed) => {
    pod.connections = [];
    pod.nextAt = 0;
  };
  const ask = async (pod: Probed) => {
    const began = performance.now();
    const wasSilent = pod.failures >= maxCountedFailures;
    asking += 1;
    askingSilent += wasSilent ? 1 : 0;
    pod.asking += 1;
    // One that does not answer soon is asked beside it: packets get lost too.
    pod.nextAt =
      began + (pod.address.isActive && !wasSilent ? Math.max(timing.doubtful, timing.timeout / 3) : periodOf(pod));
    const connection = pod.healthy && pod.failures === 0 && pod.address.isActive ? connectionOf(pod) : undefined;
    const outcome = await (connection?.ask(timing.timeout) ?? askOnce(pod.address, timing.timeout));
    asking -= 1;
    askingSilent -= wasSilent ? 1 : 0;
    pod.asking -= 1;
    const isWanted = pods.get(pod.address.podUid) === pod;
    // One kept connection is enough.
    if (!isWanted || outcome !== "answered" || pod.connections.length > 0) connection?.close();
    else if (connection !== undefined) pod.connections.push(connection);
    if (isWanted) note(pod, outcome, began);
  };
  const note = (pod: Probed, outcome: "answered" | "refused" | "silent", began: number) => {
    const healthy = outcome === "answered";
    metrics.probes.inc({ result: healthy ? "answered" : "silent" });
    // A question that was asked before the last answer says nothing any more; nor does silence while this process was busy.
    if (!healthy && (began < pod.answeredAt || (outcome === "silent" && began < busyUntil))) return;
    const before = { healthy: pod.healthy, failures: pod.failures };
    pod.healthy = healthy;
    if (healthy) {
      pod.answeredAt = performance.now();
      pod.failures = 0;
      pod.nextAt = pod.answeredAt + periodOf(pod) * (0.9 + Math.random() / 5);
    } else {
      pod.failures = Math.min(maxCountedFailures, pod.failures + 1);
      pod.nextAt = performance.now() + (pod.failures < maxCountedFailures ? timing.doubtful : periodOf(pod));
      if (before.failures === 0 && pod.address.isActive) askOthers(pod);
    }
    if (before.healthy !== healthy || before.failures !== pod.failures) onChange(pod.address.podUid);
  };
  /** Who could take its place shall have answered lately. */
  const askOthers = (than: Probed) => {
    for (const pod of pods.values()) if (pod !== than && pod.address.of === than.address.of) pod.nextAt = 0;
  };
  return {
    async run(signal) {
      let [lastTick, lastRefresh] = [performance.now(), 0];
      while (!signal.aborted) {
        const now = performance.now();
        if (now - lastTick > tick + busy) busyUntil = now;
        lastTick = now;
        if (now - lastRefresh >= Math.min(refresh, timing.active)) {
          lastRefresh = now;
          renew();
        }
        for (const pod of pods.values()) {
          if (asking >= maxAsking) break;
          const isSilent = pod.failures >= maxCountedFailures;
          if (pod.nextAt > now || pod.asking >= 3 || (isSilent && askingSilent >= maxAskingSilent)) continue;
          void ask(pod);
        }
        await pause(Math.min(tick, timing.active), signal);
      }
      for (const { connections } of pods.values()) for (const connection of connections) connection.close();
      pods.clear();
    },
    results: (podUids) =>
      podUids.flatMap((podUid) => {
        const { healthy, failures = 0 } = pods.get(podUid) ?? {};
        return healthy === undefined ? [] : [{ podUid, healthy, failures }];
      }),
  };
}
