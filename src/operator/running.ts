/** What runs now, by namespace, so that it can be ended there before somebody else begins. */
export interface Running {
  /** Undefined when `leave` ended it. Its own errors, and those after the outer signal, are thrown. */
  run<T>(namespace: string, outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Ends what runs in the namespaces that are meant, and resolves when it has ended. */
  leave(isMeant: (namespace: string) => boolean): Promise<void>;
}

export function createRunning(): Running {
  const entries = new Set<{ namespace: string; abort: AbortController; ended: Promise<void> }>();
  return {
    async run(namespace, outer, work) {
      const abort = new AbortController();
      const stop = () => abort.abort();
      outer.addEventListener("abort", stop, { once: true });
      if (outer.aborted) stop();
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const entry = { namespace, abort, ended };
      entries.add(entry);
      try {
        return await work(abort.signal);
      } catch (error) {
        if (abort.signal.aborted && !outer.aborted) return undefined;
        throw error;
      } finally {
        outer.removeEventListener("abort", stop);
        entries.delete(entry);
        resolve();
      }
    },
    async leave(isMeant) {
      const there = [...entries].filter(({ namespace }) => isMeant(namespace));
      for (const { abort } of there) abort.abort();
      await Promise.all(there.map(({ ended }) => ended));
    },
  };
}
