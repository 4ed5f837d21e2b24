import { errorCode } from "../errors.ts";

/** Writes an answer to standard output, all of it before the promise settles. A reader that has gone, as `head` does, is no failure. */
export async function print(text: string): Promise<void> {
  try {
    await Bun.write(Bun.stdout, text.endsWith("\n") ? text : `${text}\n`);
  } catch (error) {
    if (errorCode(error) !== "EPIPE") {
      throw error;
    }
  }
}
