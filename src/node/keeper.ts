import { errorText } from "../errors.ts";
import { pause } from "../kube/backoff.ts";
import { createQueue } from "../kube/queue.ts";
import type { Log } from "../log.ts";
import { type Family, families } from "./address.ts";
import type { Conntrack } from "./conntrack.ts";
import { forgottenBy } from "./conntrack-changes.ts";
import { changeOf } from "./document.ts";
import { startForgetting } from "./forgetting.ts";
import type { NodeMetrics } from "./metrics.ts";
import { meshTable, wholeIpTable } from "./names.ts";
import type { Nft } from "./nft.ts";
import type { Table } from "./table.ts";

export interface KeeperOptions {
  nft: Nft;
  conntrack: Conntrack;
  /** What a table has to be now; undefined: it must not be there. */
  wanted: (family: Family, name: string) => Table | undefined;
  metrics: Pick<NodeMetrics, "applies" | "changeSeconds" | "repairs" | "tableErrors">;
  log: Log;
  signal: AbortSignal;
  timing?: Partial<KeeperTiming>;
}

export interface KeeperTiming {
  /** Milliseconds between looks at the tables, whatever is told of them. */
  look: number;
  /** Milliseconds from what is told of a table until it is looked at. */
  settle: number;
  firstBackoff: number;
  maxBackoff: number;
}

const defaultTiming: KeeperTiming = { look: 60_000, settle: 500, firstBackoff: 200, maxBackoff: 30_000 };

/** Keeps the kernel's tables as they are wanted, until the signal fires; then it leaves them as they are. */
export interface Keeper {
  /** Something that the wanted tables follow from has changed. */
  changed(): void;
  /** Why a table is not as it has to be; undefined when all are. */
  notReady(): string | undefined;
  /** Resolves when the signal has ended it. */
  done: Promise<void>;
}

/** All tables of this role by their queue's keys. */
const tables = families.flatMap((family) => [wholeIpTable, meshTable].map((name) => ({ family, name })));
const keyOf = ({ family, name }: { family: string; name: string }) => `${family} ${name}`;
const byKey = new Map(tables.map((table) => [keyOf(table), table]));

export function startKeeper(options: KeeperOptions): Keeper {
  const { nft, metrics, log, signal } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const queue = createQueue(timing);
  /** As far as is known; what is absent has to be read. */
  const known = new Map<string, Table | undefined>();
  /** To be read although they are known. */
  const suspect = new Set<string>();
  const failures = new Map<string, string>();
  /** When the first change that the kernel does not have yet was told. */
  const since = new Map<string, number>();
  const forget = startForgetting(options);

  const changed = () => {
    for (const key of byKey.keys()) {
      if (!since.has(key)) since.set(key, performance.now());
      queue.add(key);
    }
  };
  const look = (key: string, after: number) => {
    suspect.add(key);
    queue.addAfter(key, after);
  };
  const keep = async (key: string) => {
    const { family, name } = byKey.get(key) ?? { family: "ip", name: key };
    const isSuspect = suspect.delete(key);
    const before = known.get(key);
    const there = isSuspect || !known.has(key) ? await nft.read(family, name) : before;
    if (known.has(key) && there !== before && changeOf(there, before).length > 0) {
      metrics.repairs.inc();
      log.warn("somebody else has changed a table; it is put right", { table: key });
    }
    const changedAt = since.get(key);
    since.delete(key);
    const wanted = options.wanted(family, name);
    const commands = changeOf(there, wanted);
    // Until the kernel has taken it nobody knows what is there.
    known.delete(key);
    if (commands.length > 0) {
      await nft.apply(commands);
      metrics.applies.inc({ result: "ok" });
      if (changedAt !== undefined) metrics.changeSeconds.observe((performance.now() - changedAt) / 1000);
      log.debug("table changed", { table: key, commands: commands.length });
    }
    known.set(key, wanted);
    forget(forgottenBy(there, wanted));
  };
  const work = async () => {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      try {
        await keep(key);
        queue.forget(key);
        failures.delete(key);
      } catch (error) {
        metrics.applies.inc({ result: "error" });
        const reason = errorText(error);
        if (failures.get(key) !== reason) log.error("table not changed", { table: key, reason });
        failures.set(key, reason);
        suspect.add(key);
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
        metrics.tableErrors.set(failures.size);
      }
    }
  };
  const timer = setInterval(() => {
    for (const key of byKey.keys()) look(key, 0);
  }, timing.look);
  signal.addEventListener(
    "abort",
    () => {
      clearInterval(timer);
      queue.stop();
    },
    { once: true },
  );
  changed();
  return {
    changed,
    notReady: () => {
      const [failed] = failures;
      return failed === undefined ? undefined : `table ${failed[0]}: ${failed[1]}`;
    },
    done: Promise.all([work(), followTables(options, timing.settle, look)]).then(() => {}),
  };
}

/** Tells which tables are changed by whomever, as long as the signal lets it. */
async function followTables(
  { nft, log, signal }: KeeperOptions,
  settle: number,
  look: (key: string, after: number) => void,
): Promise<void> {
  while (!signal.aborted) {
    await nft
      .monitor((line) => {
        for (const key of byKey.keys()) {
          if (line.includes(` ${key} `) || line.endsWith(` ${key}`)) look(key, settle);
        }
      }, signal)
      .catch((error: unknown) => log.debug("changes of tables are not told", { reason: errorText(error) }));
    // What was not told meanwhile is seen now.
    await pause(settle, signal);
    for (const key of byKey.keys()) look(key, 0);
  }
}
