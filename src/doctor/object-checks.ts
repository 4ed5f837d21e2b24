import type { Condition } from "../api/conditions.ts";
import { previousSecretKey, secretKey } from "../names.ts";
import type { ObservedSecret } from "../plan/observed.ts";
import { type Reason, reasons } from "../plan/reasons.ts";
import { secretUnusable } from "../plan/workload-checks.ts";
import { broken, type Check, deciding, ok, remark, skipped, unknown } from "./check.ts";
import { conditionOf, type Found, type SliceFacts, seen } from "./facts.ts";

/** An object of one of the three kinds, as far as every kind is alike. */
export interface AnyOwn {
  kind: string;
  metadata: { name: string; generation?: number; deletionTimestamp?: string };
  status?: { observedGeneration: number; conditions: readonly Condition[] };
}

/** Reasons that are about the object as a whole: nothing that belongs to it is to be expected. */
const objectReasons: readonly Reason[] = ["NameConflict", "PortConflict", "InvalidSpec", "Forbidden", "ScaledToZero"];
/** Reasons why the newest pods do not take over. */
const stuckReasons = ["NoSessionAfterChange", "ProgressDeadline"] as const satisfies readonly Reason[];
const secretReasons: readonly Reason[] = ["SecretMissing", "SecretInvalid"];

/** Whether the object is there and the operator takes care of it. */
export function objectCheck(link: string, name: string, look: Found<AnyOwn>): Check {
  if ("unknown" in look)
    return deciding(unknown(link, look.unknown, "Ask for the right to read it, or look at the cluster's API server."));
  if ("absent" in look) {
    return look.absent === "kind"
      ? broken(
          link,
          "this cluster does not know the kinds of netaminity",
          "Install the chart, or choose the right cluster with --context.",
        )
      : broken(
          link,
          `${name} does not exist in this namespace`,
          "Check the name, and the namespace (-n); netaminity status -A lists all.",
        );
  }
  const { metadata, status } = look.found;
  if (metadata.deletionTimestamp !== undefined) {
    return broken(link, `it is being deleted since ${metadata.deletionTimestamp}`, "Make it again once it is gone.");
  }
  // Before the operator has written one, the API server shows one of generation 0.
  if (status === undefined || status.observedGeneration === 0) {
    return broken(
      link,
      "it has no status: no operator has looked at it",
      "Check that the operator runs and serves this namespace (chart value config.watchNamespaces), and read its log.",
    );
  }
  if (status.observedGeneration < (metadata.generation ?? 0)) {
    return unknown(
      link,
      `the operator has not looked at its latest change yet (status of generation ${status.observedGeneration}, object of ${metadata.generation})`,
      "Wait a moment; when it lasts, check that the operator runs.",
    );
  }
  const ready = conditionOf({ status }, "Ready");
  if (ready !== undefined && ready.status === "False" && isOneOf(ready.reason, objectReasons)) {
    return broken(link, `${ready.reason}: ${ready.message}`, reasons[ready.reason].todo);
  }
  return ok(link, `it exists, and the operator has seen generation ${status.observedGeneration}`);
}

/** Whether the agents have a secret to show. The two ends of different clusters cannot be compared: the session tells. */
export function secretCheck(name: string, look: Found<ObservedSecret>, ready: Condition | undefined): Check {
  if ("unknown" in look) {
    return ready !== undefined && isOneOf(ready.reason, secretReasons)
      ? broken("secret", ready.message, reasons[ready.reason].todo)
      : unknown("secret", `Secret ${name}: ${look.unknown}`);
  }
  const objection = secretUnusable(name, seen(look));
  if (objection !== undefined) return broken("secret", objection.message, reasons[objection.reason].todo);
  const keys = Object.keys(seen(look)?.data ?? {}).filter((key) => [secretKey, previousSecretKey].includes(key));
  return ok(
    "secret",
    `Secret ${name} has ${keys.length === 2 ? "the keys secret and previous-secret" : "the key secret"}`,
  );
}

/** A change that does not get through, although what ran before it goes on serving, or one that has to wait. */
export function changeCheck(link: string, object: AnyOwn | undefined): Check | undefined {
  const updated = object === undefined ? undefined : conditionOf(object, "Updated");
  if (updated?.status !== "False") return undefined;
  const evidence = `${updated.reason}: ${updated.message}`;
  if (isOneOf(updated.reason, ["Paused", "WaitingForOthers"]))
    return remark(link, evidence, reasons[updated.reason].todo);
  return isOneOf(updated.reason, stuckReasons) ? broken(link, evidence, reasons[updated.reason].todo) : undefined;
}

/** Whether consumers are led to a pod. */
export function serviceCheck(name: string | undefined, look: Found<readonly SliceFacts[]> | undefined): Check {
  if (name === undefined || look === undefined) return skipped("service", "no consumer Service is asked for");
  if ("unknown" in look) return unknown("service", `Service ${name}: ${look.unknown}`);
  const endpoints = (seen(look) ?? []).flatMap((slice) => slice.endpoints ?? []);
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  const pods = [...new Set(ready.map(({ targetRef }) => targetRef?.name ?? "?"))];
  return pods.length > 0
    ? ok("service", `Service ${name} leads to ${pods.join(", ")}`)
    : broken(
        "service",
        `Service ${name} has no ready endpoint, so consumers are refused`,
        "It gets one as soon as a proxy pod carries a session: see the links before.",
      );
}

export function isOneOf<R extends Reason>(reason: string, some: readonly R[]): reason is R {
  return some.some((each) => each === reason);
}
