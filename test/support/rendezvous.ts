/** The rendezvous of one Proxy over time, pass by pass. */
import type { ProxyStatus } from "../../src/api/proxy.ts";
import type { ObservedEndpointSlice, ObservedPod, ProbeResult } from "../../src/plan/observed.ts";
import type { EventNote, Plan } from "../../src/plan/plan.ts";
import { planProxy } from "../../src/plan/proxy.ts";
import { makeNode, makePod, makeReplicaSet, makeSecret, makeSlice, type PodFacts } from "./objects.ts";
import { deploymentOf, makeProxyInput, proxy } from "./proxy-input.ts";

export const start = Date.parse("2026-01-01T00:00:00Z");
const deployment = deploymentOf(proxy);
export const [older, newer, newest] = [1, 2, 3].map((revision) => makeReplicaSet(deployment, revision));
export const oldPod = (name: string, facts: PodFacts = {}) => makePod(name, facts, older);
export const newPod = (name: string, facts: PodFacts = {}) => makePod(name, facts, newer);

/** A Proxy over time: what one pass wrote into the slices, the next one reads, as after a restart of the operator each time. */
export class Rendezvous {
  now = start;
  pods: ObservedPod[] = [oldPod("old", { ready: true }), newPod("new-a"), newPod("new-b")];
  replicaSets = [older, newer];
  nodes = [makeNode("n1")];
  takenNodes: string[] = [];
  probes: ProbeResult[] = [];
  secretVersion = "1";
  #slices: readonly ObservedEndpointSlice[] = [makeSlice(proxy, oldPod("old"))];
  #status: ProxyStatus | undefined;
  events: EventNote[] = [];
  last: Plan<ProxyStatus> | undefined;

  /** Looks after so many milliseconds; the name of the pod to which the rendezvous leads then. */
  after(milliseconds: number): string | undefined {
    this.now += milliseconds;
    const plan = planProxy(
      makeProxyInput({
        proxy: { ...proxy, ...(this.#status && { status: this.#status }) },
        now: `${new Date(this.now).toISOString().slice(0, 19)}Z`,
        pods: this.pods,
        secret: { ...makeSecret(), metadata: { ...makeSecret().metadata, resourceVersion: this.secretVersion } },
        probes: this.probes,
        nodes: this.nodes,
        takenNodes: this.takenNodes,
        deployments: [deployment],
        replicaSets: this.replicaSets.flatMap((each) => each ?? []),
        endpointSlices: this.#slices,
      }),
    );
    this.#slices = plan.apply.flatMap((object) => {
      if (object.kind !== "EndpointSlice") return [];
      const { metadata } = makeSlice(proxy, oldPod("any"));
      const merged = { ...metadata, annotations: object.metadata.annotations ?? {} };
      return [{ ...(object as unknown as ObservedEndpointSlice), metadata: merged }];
    });
    this.#status = plan.status;
    this.events.push(...plan.events);
    this.last = plan;
    return plan.status.activePod;
  }

  /** Looks whenever a plan asks for it, for so long; the moves in seconds from the start. */
  watch(milliseconds: number): [second: number, active: string | undefined][] {
    const moves: [number, string | undefined][] = [];
    let active = this.last?.status.activePod;
    for (let passes = 0, left = milliseconds; left > 0; passes += 1) {
      if (passes > 200) throw new Error("it is looked at without end");
      const step = Math.min(left, this.last?.requeueAfter ?? left);
      left -= step;
      const next = this.after(step);
      if (next !== active) moves.push([(this.now - start) / 1000, next]);
      active = next;
    }
    return moves;
  }

  replace(name: string, pod: ObservedPod): void {
    this.pods = this.pods.map((each) => (each.metadata.name === name ? pod : each));
  }

  get updated() {
    return this.#status?.conditions.find(({ type }) => type === "Updated");
  }

  get connected() {
    return this.#status?.conditions.find(({ type }) => type === "Connected");
  }
}
