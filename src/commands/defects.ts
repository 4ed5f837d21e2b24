let say: ((defect: unknown) => void) | undefined;

/**
 * From now on an exception that nobody catches, in whatever callback, and a rejection that nobody handles are told with `tell` and end the
 * process with 1: nobody knows what such a defect has left behind, the kernel resets all streams, and whoever started us starts us anew.
 * Bun alone prints it and goes on while the program waits for something (measured with 1.4.5). The latest call counts.
 */
export function endOnDefect(tell: (defect: unknown) => void): void {
  if (say === undefined) {
    process.on("uncaughtException", end);
    process.on("unhandledRejection", end);
  }
  say = tell;
}

function end(defect: unknown): never {
  try {
    say?.(defect);
  } finally {
    process.exit(1);
  }
}
