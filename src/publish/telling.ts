import { errorText } from "../errors.ts";
import type { EventRecorder, Regarded } from "../kube/events.ts";
import type { Log } from "../log.ts";
import type { KubeNode, Pending } from "./kube-node.ts";
import type { PublishMetrics } from "./metrics.ts";
import { type Applied, InvalidError, LoginError, type Picture, ruleStates } from "./provider.ts";

/** Tells people what passes have found and done: metrics, Events and log lines, each thing once and again only when it lasts. */
export interface Telling {
  picture(picture: Picture): void;
  /** A dry run. */
  wouldWrite(picture: Picture): void;
  applied(applied: Applied): void;
  /** `failures`: how many passes have failed in a row. */
  result(failure: Error | undefined, failures: number): void;
  /** This replica publishes no longer: what it knows is old. */
  reset(): void;
}

export interface TellingOptions {
  recorder: EventRecorder;
  /** What Events about no Node are about. */
  regarded: () => Regarded;
  metrics: PublishMetrics;
  log: Log;
}

/** Milliseconds after which what lasts is recorded again: Events live for an hour. */
const again = 30 * 60_000;
/** Failures in a row after which any of them is worth an Event. */
const worthAnEvent = 3;
/** Lines of one dry run that are logged. */
const maxLines = 100;
const pendingReasons: readonly Pending["reason"][] = ["NoPodCidr", "NoMeshHost", "AmbiguousMeshHost"];

export function createTelling({ recorder, regarded, metrics, log }: TellingOptions): Telling {
  let told = new Map<string, number>();
  let failureText = "";
  let wouldText = "";
  /** Tells each once; what is not among them any more is forgotten, and told when it comes back. */
  const tell = (lines: readonly { key: string; record: () => void }[]) => {
    const now = performance.now();
    const next = new Map<string, number>();
    for (const { key, record } of lines) {
      const at = told.get(key);
      if (at === undefined || now - at > again) {
        record();
        next.set(key, now);
      } else {
        next.set(key, at);
      }
    }
    told = next;
  };
  const clear = () => {
    for (const state of ruleStates) metrics.rules.set({ state }, 0);
    for (const reason of pendingReasons) metrics.pendingNodes.set({ reason }, 0);
    metrics.refusedDeletions.set(0);
    metrics.leakedEndpoints.set(0);
  };
  clear();
  return {
    picture({ pending, notes, states, leaked }) {
      for (const state of ruleStates) metrics.rules.set({ state }, states[state]);
      for (const reason of pendingReasons) {
        metrics.pendingNodes.set({ reason }, pending.filter((each) => each.reason === reason).length);
      }
      metrics.refusedDeletions.set(states.refused);
      metrics.leakedEndpoints.set(leaked);
      tell([
        ...pending.map(({ node, reason, message }) => ({
          key: `${node.uid}\n${message}`,
          record: () => {
            log.info("pending", { node: node.name, reason, message });
            recorder.record(nodeRegarded(node), { type: "Warning", reason, message });
          },
        })),
        ...notes.map(({ reason, message }) => ({
          key: message,
          record: () => {
            log.warn(message);
            recorder.record(regarded(), { type: "Warning", reason, message });
          },
        })),
      ]);
    },
    wouldWrite({ changes }) {
      const text = changes.join("\n");
      if (text === wouldText) return;
      wouldText = text;
      for (const change of changes.slice(0, maxLines)) log.info("dry run", { change });
      log.info("dry run: nothing is written", { changes: changes.length });
    },
    applied({ created, updated, deleted, failures }) {
      metrics.writes.inc({ verb: "create" }, created);
      metrics.writes.inc({ verb: "update" }, updated);
      metrics.writes.inc({ verb: "delete" }, deleted);
      if (created + updated + deleted + failures.length > 0) {
        log.info("published", { created, updated, deleted, failed: failures.length });
      }
    },
    result(failure, failures) {
      const text = failure === undefined ? "" : errorText(failure);
      if (text !== failureText && failure !== undefined) log.warn("pass failed, trying again", { reason: text });
      if (failure === undefined && failureText !== "") log.info("passes succeed again");
      const isForPeople = failure instanceof LoginError || failure instanceof InvalidError;
      if (failure !== undefined && (failures === worthAnEvent || (isForPeople && text !== failureText))) {
        const reason = failure instanceof InvalidError ? "NetworkInvalid" : "PublishFailed";
        recorder.record(regarded(), { type: "Warning", reason, message: text });
      }
      failureText = text;
    },
    reset() {
      told.clear();
      failureText = "";
      wouldText = "";
      clear();
    },
  };
}

/** Events about what is in no namespace are in `default`. */
function nodeRegarded({ name, uid }: KubeNode): Regarded {
  return { apiVersion: "v1", kind: "Node", metadata: { namespace: "default", name, uid } };
}
