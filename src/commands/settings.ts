import { readSettings } from "../config/read.ts";
import { allSettingNames } from "../config/roles.ts";
import type { Role, Table, Values } from "../config/table.ts";
import { errorText, stackOf, UsageError } from "../errors.ts";
import { createLog, type Log, type LogFormat, type LogLevel } from "../log.ts";
import { openSecrets } from "../secret.ts";
import { parseVia, proxyVariable, type Via } from "../via.ts";
import { endOnDefect } from "./defects.ts";

/**
 * Reads the settings of a role from the arguments and the process's environment, and makes the log that they ask for, which also takes the
 * defect that ends the process.
 */
export function settingsAndLog<T extends Table>(
  role: Role<T>,
  args: readonly string[],
): { settings: Values<T>; log: Log } {
  const { values, warnings } = readSettings(role, {
    args,
    environment: process.env,
    otherSettings: allSettingNames(),
  });
  const { logLevel, logFormat } = values as { logLevel: LogLevel; logFormat: LogFormat };
  const log = createLog({ level: logLevel, format: logFormat });
  endOnDefect((defect) => log.error("unexpected failure", { error: errorText(defect), stack: stackOf(defect) }));
  for (const warning of warnings) {
    log.warn(warning);
  }
  return { settings: values, log };
}

/** Opens the secrets that an agent's settings name. */
export function agentSecrets(
  settings: {
    secret: string | undefined;
    secretFile: string | undefined;
    previousSecretFile: string | undefined;
  },
  log: Log,
): ReturnType<typeof openSecrets> {
  const { secret: value, secretFile: file, previousSecretFile: previousFile } = settings;
  return openSecrets({ value, file, previousFile, log });
}

/** The HTTP proxy that the setting `via` means. Throws UsageError when the environment names none that can be used. */
export function meantVia(given: Via | "environment" | undefined): Via | undefined {
  if (given !== "environment") return given;
  const variable = proxyVariable(process.env);
  if (variable === undefined) {
    throw new UsageError(
      "via is environment, but HTTPS_PROXY is not set; accepted: that variable, or http://HOST:PORT",
    );
  }
  const via = parseVia(process.env[variable] ?? "");
  if (via === undefined) {
    throw new UsageError(
      `via is environment, but ${variable} cannot be used; accepted: http://[USER:PASSWORD@]HOST:PORT`,
    );
  }
  return via;
}

/** Reads the settings of a tool. Variables that belong to nothing are not worth a line there. */
export function settingsOf<T extends Table>(tool: Role<T>, args: readonly string[]): Values<T> {
  return readSettings(tool, { args, environment: process.env }).values;
}
