import { operatorRole } from "./operator.ts";
import { proxyRole } from "./proxy.ts";
import type { Role } from "./table.ts";
import { targetRole } from "./target.ts";

/** Every role of the executable, in the order of help and docs. */
export const roles: readonly Role[] = [operatorRole, proxyRole, targetRole];

/** Names of the settings of all roles. */
export function allSettingNames(): string[] {
  return [...new Set(roles.flatMap((role) => Object.keys(role.settings)))];
}
