/**
 * Options of JavaScriptCore, which reads them once, at its start. Measured with Bun 1.4.5:
 * - without the collector's helper threads, which compete with the relay on machines with one or two processors, throughput is about a
 *   tenth higher;
 * - a heap that takes the machine for a small one collects read buffers sooner: with 1,000 busy streams the process stays below 64 MiB
 *   instead of growing beyond 150 MiB.
 */
const smallProcess = { BUN_JSC_useConcurrentGC: "0", BUN_JSC_forceRAMSize: "20000000" };

/**
 * Each watch of the operator is a request that stays open. Bun lets 256 run at once by default and makes the others wait, without a word,
 * which would stop an operator of some thirty single namespaces.
 */
const manyRequests = { BUN_CONFIG_MAX_HTTP_REQUESTS: "4096" };

export const restartAsSmallProcess = (): void => restartWith(smallProcess);
export const restartForManyRequests = (): void => restartWith(manyRequests);

/**
 * Starts the executable anew, in the same process, with options that are read only at its start. Does nothing when one of them is set
 * already, by this function or by the user, or when Bun itself runs the source. When it does something it does not return.
 */
function restartWith(options: Readonly<Record<string, string>>): void {
  if (Object.keys(options).some((name) => process.env[name] !== undefined) || !Bun.main.startsWith("/$bunfs/")) {
    return;
  }
  try {
    const environment = { ...process.env, ...options };
    // Under the name it was started with: as a plugin of kubectl it has others.
    process.execve?.(process.execPath, [process.argv0, ...process.argv.slice(2)], environment);
  } catch {
    // The role works without them, only slower and larger.
  }
}
