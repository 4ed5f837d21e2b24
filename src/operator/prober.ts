import { pause } from "../kube/backoff.ts";
import type { ProbeResult } from "../plan/observed.ts";
import type { ProbeAddress } from "../plan/pods-to-probe.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { askOnce, type Outcome, PodConnection } from "./pod-connection.ts";

/** Times of the prober, in milliseconds. */
export interface ProbeTiming {
  /** From one question to the next: of an active pod, of a standby. */
  active: number;
  standby: number;
  /** The same of a pod that has never answered. */
  slow: number;
  /** From one question to the next while a pod is doubtful. */
  doubtful: number;
  /** That a pod has for its answer. */
  timeout: number;
}

/**
 * Below one question per second and Proxy with a standby, however many replicas of the operator there are. Once an active pod does not answer, it is silent
 * 1.3 s later, and its standbys have been asked as well.
 */
const defaultTiming: ProbeTiming = { active: 1200, standby: 10_000, slow: 12_000, doubtful: 200, timeout: 800 };

export interface ProberOptions {
  /** What to probe now. Asked every half second. */
  addresses: () => readonly ProbeAddress[];
  /** Told when the outcome of a pod changes in a way that a plan may see. */
  onChange: (podUid: string) => void;
  /** Whether what is found is used now, or soon. Otherwise nobody is asked: what was found a while ago would be no evidence. */
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
const maxAsking = 1024;
const maxAskingSilent = 128;
/** Milliseconds: how often due pods are looked for, and the list of pods is renewed. */
const tick = 50;
const refresh = 500;
/** Milliseconds between questions to a pod that has not answered since it began to run. */
const starting = 1000;

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
  return new PodProber(options);
}

class PodProber implements Prober {
  #options: ProberOptions;
  #timing: ProbeTiming;
  #pods = new Map<string, Probed>();
  #isLeading = false;
  #asking = 0;
  #askingSilent = 0;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  async run(signal: AbortSignal): Promise<void> {
    let lastRefresh = 0;
    while (!signal.aborted) {
      const now = performance.now();
      if (now - lastRefresh >= Math.min(refresh, this.#timing.active)) {
        lastRefresh = now;
        this.#renew(now);
      }
      this.#follow(this.#options.isLeading());
      if (this.#isLeading) this.#askDue(now);
      await pause(Math.min(tick, this.#timing.active), signal);
    }
    for (const pod of this.#pods.values()) forget(pod);
    this.#pods.clear();
  }

  results(podUids: readonly string[]): ProbeResult[] {
    return podUids.flatMap((podUid) => {
      const { healthy, failures = 0 } = this.#pods.get(podUid) ?? {};
      return healthy === undefined ? [] : [{ podUid, healthy, failures }];
    });
  }

  #renew(now: number): void {
    const wanted = new Map(this.#options.addresses().map((address) => [address.podUid, address]));
    for (const [uid, pod] of this.#pods) {
      const address = wanted.get(uid);
      if (address?.host === pod.address.host && address.port === pod.address.port) continue;
      forget(pod);
      this.#pods.delete(uid);
    }
    for (const [uid, address] of wanted) {
      const known = this.#pods.get(uid);
      if (known === undefined) this.#pods.set(uid, newlyProbed(address));
      else {
        known.address = address;
        // It may have become the active one.
        known.nextAt = Math.min(known.nextAt, now + this.#periodOf(known));
      }
    }
  }

  /** Each term begins without what was found in an earlier one: a leader that could not reach anybody loses its lease, and would act on that when it has another. */
  #follow(isLeading: boolean): void {
    if (isLeading === this.#isLeading) return;
    this.#isLeading = isLeading;
    for (const [uid, pod] of this.#pods) {
      forget(pod);
      this.#pods.set(uid, { ...newlyProbed(pod.address), answeredAt: pod.answeredAt });
    }
  }

  #askDue(now: number): void {
    for (const pod of this.#pods.values()) {
      if (this.#asking >= maxAsking) return;
      const mustWait = isSilent(pod) && this.#askingSilent >= maxAskingSilent;
      if (pod.nextAt <= now && pod.asking < 3 && !mustWait) void this.#ask(pod);
    }
  }

  #periodOf({ address, answeredAt }: Probed): number {
    const { active, standby, slow } = this.#timing;
    if (answeredAt === 0) return slow;
    return address.isActive ? active : standby;
  }

  /** One that has never answered is perhaps only starting: its refusals are no silence yet. */
  #doubtfulPeriodOf({ answeredAt }: Probed): number {
    const { doubtful, slow } = this.#timing;
    return answeredAt === 0 ? Math.min(starting, slow) : doubtful;
  }

  async #ask(pod: Probed): Promise<void> {
    const { doubtful, timeout } = this.#timing;
    const [began, wasSilent] = [performance.now(), isSilent(pod)];
    this.#asking += 1;
    this.#askingSilent += wasSilent ? 1 : 0;
    pod.asking += 1;
    // One that does not answer soon is asked beside it: packets get lost too.
    const isUrgent = pod.address.isActive && !wasSilent;
    pod.nextAt = began + (isUrgent ? Math.max(doubtful, timeout / 3) : this.#periodOf(pod));
    const connection = keptConnection(pod);
    const outcome = await (connection?.ask(timeout) ?? askOnce(pod.address, timeout));
    this.#asking -= 1;
    this.#askingSilent -= wasSilent ? 1 : 0;
    pod.asking -= 1;
    const isWanted = this.#pods.get(pod.address.podUid) === pod;
    // One kept connection is enough.
    if (!isWanted || outcome !== "answered" || pod.connections.length > 0) connection?.close();
    else if (connection !== undefined) pod.connections.push(connection);
    if (isWanted) this.#note(pod, outcome, began);
  }

  #note(pod: Probed, outcome: Outcome, began: number): void {
    const healthy = outcome === "answered";
    this.#options.metrics.probes.inc({ result: healthy ? "answered" : "silent" });
    // A question that was asked before the last answer says nothing any more.
    if (!healthy && began < pod.answeredAt) return;
    const before = { healthy: pod.healthy, failures: pod.failures };
    const now = performance.now();
    pod.healthy = healthy;
    if (healthy) {
      pod.answeredAt = now;
      pod.failures = 0;
      pod.nextAt = now + this.#periodOf(pod) * (0.9 + Math.random() / 5);
    } else {
      pod.failures = Math.min(maxCountedFailures, pod.failures + 1);
      pod.nextAt = now + (isSilent(pod) ? this.#periodOf(pod) : this.#doubtfulPeriodOf(pod));
      if (before.failures === 0 && pod.address.isActive) this.#askOthers(pod);
    }
    if (before.healthy !== healthy || before.failures !== pod.failures) this.#options.onChange(pod.address.podUid);
  }

  /** Who could take its place shall have answered lately. */
  #askOthers(than: Probed): void {
    for (const pod of this.#pods.values()) if (pod !== than && pod.address.of === than.address.of) pod.nextAt = 0;
  }
}

const newlyProbed = (address: ProbeAddress): Probed => ({
  ...{ address, connections: [], asking: 0, nextAt: 0, healthy: undefined, failures: 0, answeredAt: 0 },
});

const isSilent = ({ failures }: Probed): boolean => failures >= maxCountedFailures;

/** For an active pod that answers. Its end, or that it is not used any more, is a reason to look at once. */
function keptConnection(pod: Probed): PodConnection | undefined {
  if (!pod.healthy || pod.failures > 0 || !pod.address.isActive) return undefined;
  const lookAtOnce = () => {
    pod.connections = [];
    pod.nextAt = 0;
  };
  return pod.connections.pop() ?? new PodConnection(pod.address, lookAtOnce);
}

function forget({ connections }: Probed): void {
  for (const connection of connections) connection.close();
}
