import { open } from "node:fs/promises";
import { errorText, StartError } from "../errors.ts";
import { print } from "./print.ts";

/** Writes what holds a secret: to standard output, or to a file that only its owner may read from the first byte on. Throws StartError. */
export async function printPrivately(text: string, path: string | undefined): Promise<void> {
  if (path === undefined) {
    await print(text);
    return;
  }
  try {
    await using file = await open(path, "a", 0o600);
    // A file that was there keeps its mode otherwise.
    await file.chmod(0o600);
    await file.truncate();
    await file.writeFile(text);
  } catch (cause) {
    throw new StartError(`output: ${JSON.stringify(path)} cannot be written: ${errorText(cause)}`, { cause });
  }
}
