import { constants, fstatSync, openSync, readFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

const standardError = 2;

/**
 * Takes finished lines for standard error and never waits for it: false when a line was dropped because nobody takes it now (a full pipe or
 * terminal, a reader that has left, a full disk). Synchronous, so that the last line before an exit is never lost, and nothing queues but
 * the end of one line that was taken in part.
 */
export function standardErrorLines(): (line: string) => boolean {
  const target = isatty(standardError) ? openTerminal() : standardError;
  const encoder = new TextEncoder();
  let rest = new Uint8Array();
  const write = (bytes: Uint8Array<ArrayBuffer>) => {
    rest = bytes.subarray(writeSync(target, bytes));
  };
  return (line) => {
    try {
      if (rest.length > 0) write(rest);
      // Otherwise this line would break into the one before.
      if (rest.length > 0) return false;
      write(encoder.encode(`${line}\n`));
      return true;
    } catch {
      return false;
    }
  };
}

/**
 * Bun makes the pipes and sockets among the standard streams non-blocking, but not terminals (measured with 1.4.5). That mode would belong
 * to everybody who has the terminal open, the user's shell among them, so this opens it once more for us alone. Who has changed the user
 * since the login may not open it by its name, but always as the one that controls the session.
 */
function openTerminal(): number {
  const names = ["/proc/self/fd/2", ...(isControlling() ? ["/dev/tty"] : [])];
  for (const name of names) {
    try {
      return openSync(name, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // The next one.
    }
  }
  return standardError;
}

/** Whether standard error is the controlling terminal: its device is the field `tty_nr` of proc(5), the fifth behind the command's name. */
function isControlling(): boolean {
  try {
    const device = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1)?.split(" ")[4];
    return Number(device) === fstatSync(standardError).rdev;
  } catch {
    return false;
  }
}
