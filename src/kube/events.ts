import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Kube } from "./kube.ts";
import type { KubeMetrics } from "./metrics.ts";
import { builtIn } from "./resources.ts";

/** The object that an Event is about. */
export interface Regarded {
  apiVersion: string;
  kind: string;
  metadata: { namespace: string; name: string; uid: string };
}

export interface EventNote {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** Records Kubernetes Events. Never waits for the API server and never fails: an Event is worth no retry. */
export interface EventRecorder {
  record(regarded: Regarded, note: EventNote): void;
}

export interface EventOptions {
  kube: Kube;
  metrics: Pick<KubeMetrics, "eventsDropped">;
  log: Log;
  /** Who records, `reportingController` of the Events. */
  controller: string;
  /** Name of this replica, `reportingInstance` of the Events. */
  instance: string;
  now?: () => number;
}

/** Repetitions inside this time are counted in one Event (a series) instead of making new ones. */
const seriesWindow = 10 * 60_000;
const maxKnown = 1000;
const maxInFlight = 8;
const maxNote = 1024;

interface Known {
  namespace: string;
  name: string;
  count: number;
  written: number;
  until: number;
}

export function createEventRecorder(options: EventOptions): EventRecorder {
  const { kube, metrics, log, controller, instance, now = Date.now } = options;
  const known = new Map<string, Known>();
  let inFlight = 0;

  const send = async (write: () => Promise<unknown>) => {
    if (inFlight >= maxInFlight) {
      metrics.eventsDropped.inc();
      return;
    }
    inFlight += 1;
    try {
      await write();
    } catch (error) {
      metrics.eventsDropped.inc();
      log.debug("event not recorded", { reason: errorText(error) });
    } finally {
      inFlight -= 1;
    }
  };
  return {
    record(regarded, note) {
      const key = [regarded.metadata.uid, note.type, note.reason, note.message].join("\n");
      const entry = known.get(key);
      if (entry !== undefined && now() < entry.until) {
        entry.count += 1;
        // The map's order is that of the last use.
        known.delete(key);
        known.set(key, entry);
        entry.until = now() + seriesWindow;
        // Written again only when it has doubled: few writes, however often something repeats.
        if (entry.count >= entry.written * 2) {
          entry.written = entry.count;
          void send(() => writeSeries(kube, entry, now()));
        }
        return;
      }
      forgetOld(known, now());
      const { namespace } = regarded.metadata;
      const name = eventName(regarded);
      log[note.type === "Warning" ? "warn" : "info"](note.message, {
        ...{ event: note.reason, kind: regarded.kind, namespace, name: regarded.metadata.name },
      });
      known.set(key, { namespace, name, count: 1, written: 1, until: now() + seriesWindow });
      void send(() => kube.create(builtIn.event, eventOf({ regarded, note, name, controller, instance, now: now() })));
    },
  };
}

/** Drops what is over, and the oldest when there are too many. */
function forgetOld(known: Map<string, Known>, now: number): void {
  for (const [key, entry] of known) {
    if (entry.until > now && known.size < maxKnown) {
      return;
    }
    known.delete(key);
  }
}

/** RFC 3339 with microseconds, as MicroTime wants it. */
export const microTime = (milliseconds: number) => new Date(milliseconds).toISOString().replace("Z", "000Z");

function eventName({ metadata }: Regarded): string {
  const suffix = Bun.hash(`${metadata.uid}${crypto.randomUUID()}`).toString(16);
  return `${metadata.name.slice(0, 200)}.${suffix}`;
}

function eventOf({
  regarded,
  note,
  name,
  controller,
  instance,
  now,
}: {
  regarded: Regarded;
  note: EventNote;
  name: string;
  controller: string;
  instance: string;
  now: number;
}) {
  const { apiVersion, kind, metadata } = regarded;
  return {
    apiVersion: builtIn.event.apiVersion,
    kind: builtIn.event.kind,
    metadata: { name, namespace: metadata.namespace },
    eventTime: microTime(now),
    type: note.type,
    reason: note.reason.slice(0, 128),
    note: note.message.slice(0, maxNote),
    action: "Reconcile",
    regarding: { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
    reportingController: controller,
    reportingInstance: instance.slice(0, 128),
  };
}

function writeSeries(kube: Kube, { namespace, name, count }: Known, now: number): Promise<unknown> {
  return kube.request({
    verb: "patch",
    resource: builtIn.event,
    namespace,
    name,
    contentType: "application/merge-patch+json",
    body: { series: { count, lastObservedTime: microTime(now) } },
  });
}
