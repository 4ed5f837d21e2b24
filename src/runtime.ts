/** JavaScriptCore reads this option once, at its start. */
const option = "BUN_JSC_useConcurrentGC";

/**
 * Starts the executable anew, in the same process, with the garbage collector's helper threads off: on machines with one or two
 * processors they compete with the relay (measured: about a tenth more throughput and less memory without them).
 * Does nothing when the option is set already, by this function or by the user, or when Bun itself runs the source.
 * When it does something it does not return.
 */
export function restartWithoutConcurrentCollector(): void {
  if (process.env[option] !== undefined || !Bun.main.startsWith("/$bunfs/")) {
    return;
  }
  try {
    const environment = { ...process.env, [option]: "0" };
    process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], environment);
  } catch {
    // The role works without the option, only slower.
  }
}
