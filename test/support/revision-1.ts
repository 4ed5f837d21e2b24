import { join } from "node:path";
import { builtFrom } from "./earlier-version.ts";

/** The last version without frames: what peers run that know the first revision of the extension only. */
export async function executableOfRevision1(): Promise<string> {
  return join(await builtFrom("revision-1"), "netaminity");
}
