import { completionRole } from "./completion.ts";
import { dashboardRole } from "./dashboard.ts";
import { doctorRole } from "./doctor.ts";
import { exportRole } from "./export.ts";
import { manifestRole } from "./manifest.ts";
import { nodeRole } from "./node.ts";
import { operatorRole } from "./operator.ts";
import { proxyRole } from "./proxy.ts";
import { publishRole } from "./publish.ts";
import { rotateRole } from "./rotate.ts";
import { statusRole } from "./status.ts";
import type { Role } from "./table.ts";
import { targetRole } from "./target.ts";

/** Every role of the executable, in the order of help and docs. */
export const roles: readonly Role[] = [operatorRole, proxyRole, targetRole, nodeRole, publishRole];

/** The commands that answer and end. */
export const tools: readonly Role[] = [
  doctorRole,
  statusRole,
  dashboardRole,
  exportRole,
  rotateRole,
  manifestRole,
  completionRole,
];

/** Names of the settings of all commands. */
export function allSettingNames(): string[] {
  return [...new Set([...roles, ...tools].flatMap((role) => Object.keys(role.settings)))];
}
