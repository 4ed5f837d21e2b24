import { type ConsolaInstance, createConsola, type LogObject } from "consola/core";
import { standardErrorLines } from "./log-target.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export const logFormats = ["pretty", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

/** What a line says beside its message; absent values are left out. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** Writes one line per event. Never pass a secret or anything derived from one. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line carries these fields too. */
  child(fields: LogFields): Log;
}

export interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  /** Takes one finished line without its newline; `false` when nobody takes it now. Default: standard error. */
  write?: (line: string) => unknown;
  /** Colours of the pretty format; default: only when standard error is a terminal. */
  colors?: boolean;
}

const consolaLevels: Record<LogLevel, number> = { error: 0, warn: 1, info: 3, debug: 4 };

/** Makes the log of the process: `pretty` for people (`time level message key=value`), `json` for log collectors. */
export function createLog(options: LogOptions): Log {
  const write = options.write ?? standardErrorLines();
  const colors = options.colors ?? (process.stderr.isTTY === true && !process.env.NO_COLOR);
  const format = options.format === "json" ? jsonLine : (event: Event) => prettyLine(event, colors);
  const consola = createConsola({
    level: consolaLevels[options.level],
    // consola folds repeated lines by default; an operator of the system counts events, so none may vanish.
    throttle: 0,
    reporters: [{ log: reportDrops(write, format) }],
  });
  return logWith(consola, {});
}

function logWith(consola: ConsolaInstance, context: LogFields): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) =>
    consola[level](message, fields === undefined ? context : { ...context, ...fields });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => logWith(consola, { ...context, ...fields }),
  };
}

interface Event {
  time: string;
  level: string;
  message: string;
  fields: LogFields;
}

function toEvent(entry: LogObject): Event {
  const [message, fields] = entry.args as [string, LogFields];
  return { time: entry.date.toISOString(), level: entry.type, message, fields };
}

function jsonLine({ fields, ...event }: Event): string {
  // The first assignment fixes the order of the keys, the last one keeps a field from replacing them.
  return JSON.stringify(Object.assign({ ...event }, fields, event));
}

const levelColors: Record<string, string> = { debug: "90", info: "36", warn: "33", error: "31" };

function prettyLine({ time, level, message, fields }: Event, colors: boolean): string {
  const paint = (code: string | undefined, text: string) =>
    colors && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${paint("90", `${key}=`)}${quoteWhereNeeded(String(value))}`);
  return [paint("90", time), paint(levelColors[level], level.padEnd(5)), oneLine(message), ...pairs].join(" ");
}

function quoteWhereNeeded(text: string): string {
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text);
}

/** Peers choose some of the text that is logged: it must not be able to forge a second line. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ");
}

let dropped = 0;

/** Lines of this process that nobody took. */
export const linesDropped = (): number => dropped;

/** Writes each entry, and before it how many were dropped, once lines are taken again. */
function reportDrops(write: (line: string) => unknown, format: (event: Event) => string): (entry: LogObject) => void {
  let untold = 0;
  return (entry) => {
    const event = toEvent(entry);
    const note: Event = { ...event, level: "warn", message: "log lines were dropped", fields: { lines: untold } };
    if (untold > 0 && write(format(note)) !== false) untold = 0;
    if (untold > 0 || write(format(event)) === false) {
      dropped += 1;
      untold += 1;
    }
  };
}
