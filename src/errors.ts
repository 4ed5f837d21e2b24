/** Errors that end the process, and how any error is turned into text. Each part of the program adds its own classes beside its code. */

/** A failure that the person who started the program can mend: printed as one line without a stack trace, then the process exits. */
export class ExitError extends Error {
  override readonly name: string = "ExitError";

  /** `exitCode`: 1 when the surroundings are at fault (no API server is known), 2 when the settings are (also a port that is taken), 3 when a question cannot be answered. */
  constructor(
    message: string,
    readonly exitCode: 1 | 2 | 3,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A setting or an argument is wrong. */
export class UsageError extends ExitError {
  override readonly name = "UsageError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, 2, options);
  }
}

/** The settings are fine but the role cannot start with them here and now. */
export class StartError extends ExitError {
  override readonly name = "StartError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, 1, options);
  }
}

/** An address of a listen setting cannot be had. */
export class ListenError extends ExitError {
  override readonly name = "ListenError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, 2, options);
  }
}

const listenFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is in use",
  EACCES: "permission is missing (ports below 1024 need it)",
  EADDRNOTAVAIL: "this machine has no such address",
  EAFNOSUPPORT: "IPv6 is not available here",
};

/** The failure of a listen as the line that a user needs; `what` names the setting and the address. */
export function listenFailure(what: string, cause: unknown): ListenError {
  const code = errorCode(cause);
  const reason = code === undefined ? undefined : listenFailures[code];
  return reason === undefined
    ? new ListenError(`cannot listen on ${what}`, { cause })
    : new ListenError(`cannot listen on ${what}: ${reason} (${code})`);
}

const maxCauses = 5;

/** The message of an error followed by those of its causes, as one line without stacks. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < maxCauses && current !== undefined && current !== null; depth += 1) {
    const text = current instanceof Error ? current.message || current.name : String(current);
    // Wrapping errors often repeat what they wrap.
    if (!parts.some((part) => part.includes(text))) {
      parts.push(text);
    }
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(": ").replaceAll(/\s*\n\s*/g, " ");
}

/** Where an error was made; undefined when something else was thrown. */
export function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

/** The system's code of a failed call (`ECONNREFUSED`, `EADDRINUSE`), looked for in the causes too. */
export function errorCode(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth += 1) {
    if ("code" in current && typeof current.code === "string") {
      return current.code;
    }
    current = current.cause;
  }
  return undefined;
}
