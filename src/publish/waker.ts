import { pause } from "../kube/backoff.ts";

/** Lets a loop sleep until something has changed. */
export interface Waker {
  /** Something has changed, also while nobody waits. */
  wake(): void;
  /** From now on only later changes count. */
  take(): void;
  /** Resolves at once when something has changed, else when it does, after the time or with the signal. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export function createWaker(): Waker {
  let isWoken = false;
  let sleeping: AbortController | undefined;
  return {
    wake() {
      isWoken = true;
      sleeping?.abort();
    },
    take() {
      isWoken = false;
    },
    async wait(milliseconds, signal) {
      if (isWoken || signal.aborted) return;
      const own = new AbortController();
      sleeping = own;
      const stop = () => own.abort();
      signal.addEventListener("abort", stop, { once: true });
      await pause(milliseconds, own.signal);
      signal.removeEventListener("abort", stop);
      sleeping = undefined;
    },
  };
}
