import type { Line, Numbers, State } from "../picture-types.ts";

export const stateWords: Readonly<Record<State, string>> = {
  ready: "serves",
  partly: "serves in part",
  down: "serves nobody",
  off: "scaled to zero",
  unknown: "not looked at",
};

const units = ["B", "KB", "MB", "GB", "TB"];

/** Three digits at most: `1.2 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 99.5 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export const rate = (perSecond: number | undefined): string =>
  perSecond === undefined ? "?" : `${bytes(perSecond)}/s`;

/** How long ago, coarsely: `3 min`. */
export function since(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 36 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

export const clock = (time: string): string => new Date(time).toLocaleTimeString();

/** Whether what passes the border is encrypted: as it is, not as it was asked for. */
export function encryptionWord({ numbers, encryption }: Pick<Line, "numbers" | "encryption">): string {
  if (numbers === undefined || numbers.sessions === 0) return `encryption ${encryption}`;
  if (numbers.encrypted === numbers.sessions) return "encrypted";
  return numbers.encrypted === 0 ? "plain" : "partly encrypted";
}

export function sessionWord(numbers: Numbers | undefined): string {
  if (numbers === undefined) return "? sessions";
  return numbers.sessions === 1 ? "1 session" : `${numbers.sessions} sessions`;
}

export function streamWord(streams: number | undefined): string {
  if (streams === undefined) return "? streams";
  return streams === 1 ? "1 stream" : `${streams} streams`;
}
