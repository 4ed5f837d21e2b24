/**
 * Options of JavaScriptCore, which reads them once, at its start. Measured with Bun 1.4.5:
 * - without the collector's helper threads, which compete with the relay on machines with one or two processors, throughput is about a
 *   tenth higher;
 * - a heap that takes the machine for a small one collects read buffers sooner: with 1,000 busy streams the process stays below 64 MiB
 *   instead of growing beyond 150 MiB;
 * - with as many marking threads as processors (the default, up to eight) each collection wakes all of them several times, and while a process
 *   is nearly idle Bun collects once a second. With two they were a third of its wake-ups, and gained nothing on a heap this small.
 */
const smallProcess = {
  BUN_JSC_useConcurrentGC: "0",
  BUN_JSC_forceRAMSize: "20000000",
  BUN_JSC_numberOfGCMarkers: "1",
};

/**
 * Each watch of the operator is a request that stays open. Bun lets 256 run at once by default and makes the others wait, without a word,
 * which would stop an operator of some thirty single namespaces.
 */
const maxRequests = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const manyRequests = { [maxRequests]: "4096" };

/** Unless the user has set one of its options: they are there to be tried. */
export function restartAsSmallProcess(): void {
  if (Object.keys(smallProcess).every((name) => process.env[name] === undefined)) restartWith(smallProcess);
}

/** Whatever the user has set: a smaller number would stop the operator. */
export function restartForManyRequests(): void {
  if (process.env[maxRequests] !== manyRequests[maxRequests]) restartWith(manyRequests);
}

/**
 * Starts the executable anew, in the same process, with options that are read only at its start. Does nothing when Bun itself runs the source.
 * When it does something it does not return.
 */
function restartWith(options: Readonly<Record<string, string>>): void {
  if (!Bun.main.startsWith("/$bunfs/")) return;
  try {
    const environment = { ...process.env, ...options };
    // Under the name it was started with: as a plugin of kubectl it has others.
    process.execve?.(process.execPath, [process.argv0, ...process.argv.slice(2)], environment);
  } catch {
    // The role works without them, only slower and larger.
  }
}
