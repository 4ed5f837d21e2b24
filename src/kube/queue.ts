import { backoffDelay } from "./backoff.ts";

export interface QueueOptions {
  /** First and longest pause after failures of one key, in milliseconds. */
  firstBackoff?: number;
  maxBackoff?: number;
  /** Told whenever the number of waiting keys changes. */
  onDepth?: (depth: number) => void;
}

/**
 * Keys that wait for work. A key is in it once however often it was added; one that is being worked on is not handed out a second time, but comes
 * again after `done` when it was added meanwhile. So nothing runs twice at once and no change is lost.
 */
export interface Queue {
  add(key: string): void;
  /** Adds the key later; an earlier time that is already set stays. */
  addAfter(key: string, milliseconds: number): void;
  /** Adds the key after a pause that grows with each call until `forget`. Returns the pause in milliseconds. */
  addRateLimited(key: string): number;
  /** The key's failures are over. */
  forget(key: string): void;
  /** The next key, or undefined once the queue is stopped. Each key got must be given back with `done`. */
  next(): Promise<string | undefined>;
  done(key: string): void;
  /** Drops everything that waits and lets every `next` end. */
  stop(): void;
  readonly depth: number;
}

export function createQueue({ firstBackoff = 200, maxBackoff = 120_000, onDepth }: QueueOptions = {}): Queue {
  /** In order of arrival: what waits and is not being worked on. */
  const waiting = new Set<string>();
  const working = new Set<string>();
  /** Added while being worked on. */
  const dirty = new Set<string>();
  const delayed = new Map<string, { at: number; timer: ReturnType<typeof setTimeout> }>();
  const failures = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let stopped = false;

  const add = (key: string) => {
    if (stopped) {
      return;
    }
    if (working.has(key)) {
      dirty.add(key);
      return;
    }
    waiting.add(key);
    serve();
  };
  const serve = () => {
    for (const key of waiting) {
      const take = takers.shift();
      if (take === undefined) {
        break;
      }
      waiting.delete(key);
      working.add(key);
      take(key);
    }
    onDepth?.(waiting.size);
  };
  const addAfter = (key: string, milliseconds: number) => {
    const at = performance.now() + milliseconds;
    const known = delayed.get(key);
    if (stopped || (known !== undefined && known.at <= at)) {
      return;
    }
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      delayed.delete(key);
      add(key);
    }, milliseconds);
    delayed.set(key, { at, timer });
  };
  return {
    add,
    addAfter,
    addRateLimited(key) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const delay = backoffDelay(count, { first: firstBackoff, cap: maxBackoff });
      addAfter(key, delay);
      return delay;
    },
    forget: (key) => void failures.delete(key),
    next() {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      if (stopped) {
        resolve(undefined);
      } else {
        takers.push(resolve);
        serve();
      }
      return promise;
    },
    done(key) {
      working.delete(key);
      if (dirty.delete(key)) {
        add(key);
      }
    },
    stop() {
      stopped = true;
      for (const { timer } of delayed.values()) {
        clearTimeout(timer);
      }
      delayed.clear();
      waiting.clear();
      dirty.clear();
      failures.clear();
      for (const take of takers.splice(0)) {
        take(undefined);
      }
      onDepth?.(0);
    },
    get depth() {
      return waiting.size;
    },
  };
}
