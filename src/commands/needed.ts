import { CannotAskError, kindsAreUnknown } from "../doctor/cluster.ts";
import type { Found } from "../doctor/facts.ts";
import { StartError } from "../errors.ts";

/** What was looked for. Throws StartError when it is not there, CannotAskError when nobody can tell. */
export function needed<T>(what: string, look: Found<T>): T {
  if ("found" in look) return look.found;
  if ("unknown" in look) throw new CannotAskError(`${what}: ${look.unknown}`);
  throw new StartError(
    look.absent === "kind"
      ? kindsAreUnknown
      : `${what} does not exist in this namespace; check the name, and the namespace (-n)`,
  );
}
