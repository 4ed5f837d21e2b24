import { closeSync, openSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { errorCode, errorText, UsageError } from "./errors.ts";
import type { Log } from "./log.ts";
import { EmptySecretError, secretText, suspicionOf } from "./secret-text.ts";

/** The shared secrets that are valid now. Read `current` anew for every handshake: it changes during a rotation. */
export interface Secrets {
  /** At least one; the first is used to prove, all are accepted. */
  readonly current: readonly string[];
}

/** What makes one suspect, after a refusal, that the secrets of this end are not what was meant; undefined when they look fine. */
export function suspicionAbout({ current }: Secrets): string | undefined {
  const found = current.flatMap((secret, index) => {
    const suspicion = suspicionOf(secret);
    return suspicion === undefined ? [] : [`the ${index === 0 ? "" : "previous "}secret of this end ${suspicion}`];
  });
  return found.length === 0 ? undefined : found.join("; ");
}

/** Exactly one of `value` and `file` must be given. */
export interface SecretSource {
  /** The secret itself (from the environment). */
  value?: string | undefined;
  /** File that holds the secret; watched. */
  file?: string | undefined;
  /** File with the secret that was valid before a rotation; watched, and may be absent. */
  previousFile?: string | undefined;
  log: Log;
  /** Milliseconds between looks at the files. */
  interval?: number;
}

const maxSecretBytes = 64 * 1024;
const defaultInterval = 1000;

class SecretFileError extends Error {
  override readonly name = "SecretFileError";
}

/** Reads the secrets and keeps them current until disposed. Throws UsageError when there is none or more than one source, or none can be read. */
export async function openSecrets(source: SecretSource): Promise<Secrets & AsyncDisposable> {
  const { file, previousFile, log } = source;
  if (source.value !== undefined && file !== undefined) {
    throw new UsageError("both NETAMINITY_SECRET and secret-file are given; accepted: exactly one of the two");
  }
  const main = file === undefined ? watchedValue(source.value, log) : await watchedFile("secret-file", file, log);
  const previous = previousFile === undefined ? undefined : previousSecret(previousFile, log);
  (await previous?.look())?.();

  let stopped = false;
  let timer: Timer | undefined;
  let running: Promise<void> = Promise.resolve();
  const schedule = () => {
    timer = setTimeout(() => {
      running = refresh();
    }, source.interval ?? defaultInterval);
    timer.unref();
  };
  const refresh = async () => {
    // In this order: whoever sees the new secret already then sees the one before it as previous too. Both count from the same moment on.
    const changes = [await main.look(), await previous?.look()];
    for (const apply of changes) {
      apply?.();
    }
    if (!stopped) {
      schedule();
    }
  };
  if (file !== undefined || previous !== undefined) {
    schedule();
  }
  return {
    get current() {
      const before = previous?.value();
      return before === undefined || before === main.value() ? [main.value()] : [main.value(), before];
    },
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

interface Watched<Value> {
  value(): Value;
  /** Looks again, and resolves with what makes the value the one that was seen; never rejects. */
  look(): Promise<() => void>;
}

function watchedValue(given: string | undefined, log: Log): Watched<string> {
  if (given === undefined) {
    throw new UsageError(
      "no secret is given; accepted: --secret-file FILE or the environment variable NETAMINITY_SECRET",
    );
  }
  let secret: string;
  try {
    secret = secretText(new TextEncoder().encode(given));
  } catch (cause) {
    throw new UsageError("NETAMINITY_SECRET cannot be used", { cause });
  }
  suspect("NETAMINITY_SECRET", secret, log);
  return { value: () => secret, look: async () => () => {} };
}

function suspect(source: string, secret: string, log: Log): void {
  const suspicion = suspicionOf(secret);
  if (suspicion !== undefined) {
    log.warn("the secret may not be what was meant", { source, suspicion: `it ${suspicion}` });
  }
}

async function watchedFile(setting: string, path: string, log: Log): Promise<Watched<string>> {
  let secret: string;
  try {
    secret = await readSecret(path);
  } catch (cause) {
    throw new UsageError(`${setting}: ${JSON.stringify(path)} cannot be used`, { cause });
  }
  suspect(path, secret, log);
  const complain = onceForEach((problem) => log.warn("secret kept, file is unusable", { file: path, reason: problem }));
  return {
    value: () => secret,
    look: async () => {
      let read = secret;
      try {
        read = await readSecret(path);
        complain(undefined);
      } catch (error) {
        complain(errorText(error));
      }
      return () => {
        if (read !== secret) {
          secret = read;
          log.info("secret changed", { file: path });
          suspect(path, secret, log);
        }
      };
    },
  };
}

/** An absent or empty file means that no rotation is under way; an unreadable one keeps what was known. */
function previousSecret(path: string, log: Log): Watched<string | undefined> {
  let secret: string | undefined;
  const complain = onceForEach((problem) => log.warn("previous secret is unusable", { file: path, reason: problem }));
  return {
    value: () => secret,
    look: async () => {
      let read = secret;
      try {
        read = await readSecret(path);
        complain(undefined);
      } catch (error) {
        const absent = errorCode(error) === "ENOENT" || error instanceof EmptySecretError;
        read = absent ? undefined : secret;
        complain(absent ? undefined : errorText(error));
      }
      return () => {
        if (read !== undefined && read !== secret) {
          suspect(path, read, log);
        }
        secret = read;
      };
    },
  };
}

/** Reports a problem when it appears or changes, not at every look. */
function onceForEach(report: (problem: string) => void): (problem: string | undefined) => void {
  let last: string | undefined;
  return (problem) => {
    if (problem !== undefined && problem !== last) {
      report(problem);
    }
    last = problem;
  };
}

/**
 * Kubernetes replaces mounted Secrets by swapping a symbolic link, so the path is opened anew each time and the content compared.
 * A plain file is read at once, not by Bun's threads: look-ups of names that hang hold those up. A pipe may make us wait, and gets a thread.
 */
async function readSecret(path: string): Promise<string> {
  const isPlain = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  return secretText(isPlain ? readPlainFile(path) : await readAny(path));
}

function readPlainFile(path: string): Uint8Array {
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(maxSecretBytes + 1);
    let length = 0;
    while (length < buffer.length) {
      const bytesRead = readSync(file, buffer, length, buffer.length - length, null);
      if (bytesRead === 0) {
        return buffer.subarray(0, length);
      }
      length += bytesRead;
    }
    throw tooLarge();
  } finally {
    closeSync(file);
  }
}

async function readAny(path: string): Promise<Uint8Array> {
  await using file = await open(path, "r");
  return await readBounded(file);
}

function tooLarge(): SecretFileError {
  return new SecretFileError(`the file is larger than ${maxSecretBytes} bytes`);
}

async function readBounded(file: FileHandle): Promise<Uint8Array> {
  const buffer = new Uint8Array(maxSecretBytes + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) {
      return buffer.subarray(0, length);
    }
    length += bytesRead;
  }
  throw tooLarge();
}
