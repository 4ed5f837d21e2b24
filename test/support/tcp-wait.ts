/** How long a test waits for anything before it fails, in milliseconds, unless it says otherwise. */
export const patience = 8_000;

type Description = string | (() => string);

function describe(what: Description): string {
  return typeof what === "string" ? what : what();
}

/** Wakes those who wait for a condition over state that only changes when `changed` is called. */
export interface Changes {
  changed(): void;
  /** Resolves as soon as `condition` holds; rejects after `deadline` milliseconds with `what` in the message. */
  until(condition: () => boolean, what: Description, deadline?: number): Promise<void>;
}

export function createChanges(): Changes {
  const waiting = new Set<() => void>();
  return {
    changed: () => {
      for (const check of [...waiting]) check();
    },
    until: async (condition, what, deadline = patience) => {
      if (condition()) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const check = () => {
        if (condition()) resolve();
      };
      const late = new Error("placeholder");
      const timer = setTimeout(() => {
        late.message = `not within ${deadline} ms: ${describe(what)}`;
        reject(late);
      }, deadline);
      waiting.add(check);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(check);
      }
    },
  };
}

/** Asks again every few milliseconds until `probe` gives something that is neither `undefined` nor `false`. */
export async function eventually<Found>(
  probe: () => Found | undefined | false | Promise<Found | undefined | false>,
  what: Description,
  deadline = patience,
): Promise<Found> {
  const end = performance.now() + deadline;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${deadline} ms: ${describe(what)}`);
    await Bun.sleep(10);
  }
}
