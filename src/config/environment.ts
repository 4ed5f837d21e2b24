import type { GivenTexts } from "./given.ts";
import { suggestion } from "./nearest.ts";
import { type Table, variableOf, variablePrefix } from "./table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Empty variables count as absent (deployment tools write them for values that are not set), except where emptiness is a mistake. */
export function fromEnvironment(environment: Environment, table: Table): GivenTexts {
  return fromVariables(environment, table, variableOf);
}

/** Variables that belong to other programs: the weakest source but the defaults. */
export function fromBorrowedVariables(environment: Environment, table: Table): GivenTexts {
  return fromVariables(environment, table, (name) => table[name]?.borrowedVariable);
}

function fromVariables(
  environment: Environment,
  table: Table,
  variableFor: (name: string) => string | undefined,
): GivenTexts {
  const found: GivenTexts = new Map();
  for (const [name, setting] of Object.entries(table)) {
    const variable = setting.sources.includes("environment") ? variableFor(name) : undefined;
    const text = variable === undefined ? undefined : environment[variable];
    if (variable === undefined || text === undefined || isServiceLink(variable, text)) {
      continue;
    }
    if (text !== "" || setting.confidential) {
      found.set(name, { text, origin: `the variable ${variable}` });
    }
  }
  return found;
}

/**
 * Kubernetes gives every pod variables about the Services of its namespace, so a Service called netaminity or netaminity-bore
 * makes some that look like settings of ours (https://kubernetes.io/docs/tutorials/services/connect-applications-service/).
 */
function isServiceLink(name: string, text: string | undefined): boolean {
  return (
    /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?$/.test(name) ||
    (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text ?? ""))
  );
}

/** A line for each variable that looks like a setting but is none of `known`: worth a warning, never an error. */
export function unknownVariables(environment: Environment, known: readonly string[]): string[] {
  const variables = known.map(variableOf);
  return Object.entries(environment)
    .filter(([name, text]) => name.startsWith(variablePrefix) && !isServiceLink(name, text))
    .filter(([name]) => !variables.includes(name))
    .map(([name]) => `unknown environment variable ${name} is ignored${suggestion(name, variables)}`)
    .sort();
}
