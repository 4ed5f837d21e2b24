import { burstSize, type Row, type Side, sides } from "./rows.ts";
import type { Better } from "./statistics.ts";

/** One number that a row yields for each product, how it is shown, and who is judged by it. */
export interface Metric extends Judged {
  key: string;
  section: string;
  label: string;
  better: Better;
  digits: number;
  goal?: Goal;
}

/** Who is compared with whom. */
interface Judged {
  subject: string;
  /** The best of them sets the goals. */
  peers: readonly string[];
  /** Two relays in a row, shown beside. */
  relay: string;
  /** Products of this kind are shown, and the peers. */
  encrypted: boolean;
}

/**
 * `ratio`: against the best peer, at least or (where less is better) at most, and with `aboveRelay` more than the relays;
 * `limit`: an upper bound in the metric's own unit; `trips`: in round trips of the link.
 */
export type Goal = { ratio: number; aboveRelay?: true } | { limit: number } | { trips: number };

/** A metric before it is said who is judged. */
type Reading = Omit<Metric, keyof Judged> & Partial<Judged>;

export const subject = "netaminity";
export const encryptedSubject = "netaminity-tls";

const plain: Judged = { subject, peers: ["bore", "rathole"], relay: "haproxy", encrypted: false };
const encrypted: Judged = {
  subject: encryptedSubject,
  peers: ["rathole-tls", "rathole-noise"],
  relay: "haproxy-tls",
  encrypted: true,
};
/** Encrypted beside peers that are not. */
const encryptedToPlain: Judged = { ...encrypted, peers: ["rathole"] };

/** What the two sides are called in the report: `server` is where consumers connect, `client` is next to the backend. */
const sideTitles: Record<Side, string> = { server: "proxy", client: "target" };

/** Bound of `RssAnon` per side in MiB, with that many streams in all. */
function memoryLimit(streams: number): number {
  if (streams === 0) return 16;
  return streams <= 256 ? 64 : 128;
}

/** Wake-ups per second of an idle process. */
const wakeUpLimit = 30;
/** Sockets in TIME_WAIT between proxy and target. */
const timeWaitLimit = 1000;

/** All numbers that a row yields. */
export function metricsOf(row: Row): Metric[] {
  switch (row.kind) {
    case "throughput":
      return judge(row.encrypted ? encrypted : plain, [
        throughputNumber(
          `${row.streams} ${row.streams === 1 ? "stream" : "streams"} ${row.direction}`,
          row.encrypted ? { ratio: 1.3 } : { ratio: row.streams <= 8 ? 1.3 : 1, aboveRelay: true },
        ),
        ...costNumbers("CPU seconds per GB (less is better)", row.name, 2),
        ...memoryNumbers("peak", "Largest RssAnon while measuring, MiB (less is better)", row.name, row.streams),
      ]);
    case "rate":
      return row.encrypted
        ? [
            ...judge(encrypted, [rateNumber(`${row.workers} at once`, 1.3)]),
            ...judge(encryptedToPlain, [rateNumber(`${row.workers} at once, to rathole without encryption`, 1)]),
            ...judge(encrypted, besideRate(row.name, row.workers)),
          ]
        : judge(plain, [
            rateNumber(`${row.workers} at once`, 1),
            ...besideRate(row.name, row.workers, { peers: ["rathole"], goal: { ratio: 1 } }),
          ]);
    case "memory":
      return judge(row.encrypted ? encrypted : plain, [
        ...memoryNumbers("idle", "RssAnon, MiB (less is better)", `${row.name}, idle`, 0),
        ...memoryNumbers("idle-streams", "RssAnon, MiB (less is better)", `${row.streams} idle streams`, row.streams),
        ...memoryNumbers("busy-streams", "RssAnon, MiB (less is better)", `${row.streams} busy streams`, row.streams),
        throughputNumber(`${row.streams} streams both`, { ratio: 1 }),
      ]);
    case "streams":
      return [...judge(plain, lastingNumbers(row.workers)), ...judge(encryptedToPlain, lastingNumbers(row.workers))];
    case "wakeups":
      return [...judge(plain, wakeUpNumbers()), ...judge(encryptedToPlain, wakeUpNumbers())];
    case "link":
      return [
        ...judge(plain, linkNumbers(row.link.roundTrip, { trips: 1.1 })),
        ...judge(encryptedToPlain, linkNumbers(row.link.roundTrip)),
      ];
    case "bulk":
      return [
        ...judge(plain, bulkNumbers(row.name, row.streams + row.idle)),
        ...(row.encryptedToo ? judge(encryptedToPlain, bulkNumbers(row.name, row.streams + row.idle)) : []),
      ];
  }
}

function judge(judged: Judged, numbers: readonly Reading[]): Metric[] {
  return numbers.map((number) => ({
    ...judged,
    ...number,
    section: judged.encrypted ? `Encrypted: ${number.section}` : number.section,
  }));
}

function throughputNumber(label: string, goal: Goal): Reading {
  return {
    key: "throughput",
    section: "Throughput, Gbit/s (more is better)",
    label,
    better: "higher",
    digits: 2,
    goal,
  };
}

function rateNumber(label: string, ratio: number): Reading {
  const section = "Connect, 1 byte, reply, close: per second (more is better)";
  return { key: "rate", section, label, better: "higher", digits: 0, goal: { ratio } };
}

/** What a connection costs besides time. `judged` adds to the processor time of both sides together. */
function besideRate(row: string, workers: number, judged: Partial<Reading> = {}): Reading[] {
  const section = "CPU microseconds per connection (less is better)";
  const latency = (key: string): Reading => ({
    key,
    section: "Connect to first reply, ms (less is better)",
    label: `${workers} at once, ${key}`,
    better: "lower",
    digits: 2,
  });
  return [
    latency("p50"),
    latency("p99"),
    { key: "cpu", section, label: `${row}, proxy and target`, better: "lower", digits: 0, ...judged },
    ...costNumbers(section, row, 0),
    ...memoryNumbers("peak", "Largest RssAnon while measuring, MiB (less is better)", row, workers),
  ];
}

/** New streams at full rate for a long time. */
function lastingNumbers(workers: number): Reading[] {
  const label = (what: string) => `new streams, ${workers} at once: ${what}`;
  const section = "New streams through one pair of addresses";
  return [
    { key: "streams", section, label: label("per second"), better: "higher", digits: 0 },
    { key: "failures", section, label: label("failures"), better: "lower", digits: 0, goal: { limit: 1 } },
    {
      key: "time-wait",
      section,
      label: label("most TIME_WAIT between proxy and target"),
      better: "lower",
      digits: 0,
      goal: { limit: timeWaitLimit },
    },
  ];
}

function wakeUpNumbers(): Reading[] {
  return sides.map((side) => ({
    key: `wakeups-${side}`,
    section: "Wake-ups of an idle process per second (less is better)",
    label: `idle, ${sideTitles[side]} side`,
    better: "lower",
    digits: 1,
    goal: { limit: wakeUpLimit },
  }));
}

function linkNumbers(roundTrip: number, goal?: Goal): Reading[] {
  const number = (key: string, label: string): Reading => ({
    key,
    section: "First reply over a slow link, ms (less is better)",
    label: `${roundTrip} ms, ${label}`,
    better: "lower",
    digits: 1,
  });
  return [
    ...[number("alone", "alone"), number("together", `${burstSize} at once`)].map((judged) =>
      goal === undefined ? judged : { ...judged, goal },
    ),
    number("cold", `the first ${burstSize} at once`),
  ];
}

function bulkNumbers(row: string, streams: number): Reading[] {
  return [
    {
      key: "speed",
      section: "Throughput over a link, MB/s (more is better)",
      label: row,
      better: "higher",
      digits: 1,
      goal: { ratio: 1 },
    },
    {
      key: "reply",
      section: "First reply of a new connection beside the streams, ms (less is better)",
      label: row,
      better: "lower",
      digits: 0,
      goal: { ratio: 1 },
    },
    ...costNumbers("CPU seconds per GB over a link (less is better)", row, 2),
    ...memoryNumbers("peak", "Largest RssAnon over a link, MiB (less is better)", row, streams),
  ];
}

function costNumbers(section: string, label: string, digits: number): Reading[] {
  return sides.map((side) => ({
    key: `cpu-${side}`,
    section,
    label: `${label}, ${sideTitles[side]} side`,
    better: "lower",
    digits,
  }));
}

function memoryNumbers(key: string, section: string, label: string, streams: number): Reading[] {
  return sides.map((side) => ({
    key: `${key}-${side}`,
    section,
    label: `${label}, ${sideTitles[side]} side`,
    better: "lower",
    digits: 1,
    goal: { limit: memoryLimit(streams) },
  }));
}
