/** Reference pages of the API, written from the same schemas as the CRDs. */

import { objectSchema, type StructuralSchema, structuralSchema } from "../src/api/crd.ts";
import { type Kind, kinds } from "../src/api/kinds.ts";
import { podTemplate } from "../src/api/pod-template.ts";
import { groupVersion } from "../src/names.ts";
import { type ReasonText, reasons } from "../src/plan/reasons.ts";

const note = "Written by `npm run generate` from `src/api`. `kubectl explain` shows the same.";
/** Described on a page of its own, because it stands in five places. */
const sharedField = "podTemplate";
/** Levels of nesting that a table shows; what is deeper is as in a pod, and `kubectl explain` has it. */
const deepest = 3;

/** Text of `docs/reference/<kind>.md`. */
export function kindReference(kind: Kind): string {
  const { properties = {} } = objectSchema(kind);
  const columns = kind.columns.map(
    ({ name, priority, description }) =>
      `| ${name.toUpperCase()}${priority === 1 ? " (wide)" : ""} | ${cell(description)} |`,
  );
  return `# ${kind.kind}

${note}

${kind.description}

\`apiVersion: ${groupVersion}\`, \`kind: ${kind.kind}\`; in kubectl also \`${kind.plural}\`, \`${kind.shortName}\`, and with all three kinds \`netaminity\`.

## spec

${fieldTable(properties.spec)}

## status

${fieldTable(properties.status)}

## Rules

${rulesOf(objectSchema(kind))
  .map((message) => `- ${message}`)
  .join("\n")}

## Columns of kubectl get

| column | meaning |
| --- | --- |
${columns.join("\n")}
`;
}

/** Text of `docs/reference/pod-template.md`. */
export function podTemplateReference(): string {
  return `# podTemplate

${note}

How and where pods run: \`spec.podTemplate\` of a ${kinds.map(({ kind }) => kind).join(", ")}; \`spec.proxy.podTemplate\` and \`spec.target.podTemplate\` of a Tunnel,
where a field replaces the same field of \`spec.podTemplate\` as a whole.

${fieldTable(structuralSchema(podTemplate))}
`;
}

/** Text of `docs/reference/conditions.md`. */
export function conditionsReference(): string {
  const rows = Object.entries<ReasonText>(reasons).map(
    ([reason, { means, todo, isForDoctor }]) =>
      `| ${reason} | ${cell(means)} | ${cell(todo)}${isForDoctor ? " †" : ""} |`,
  );
  return `# Conditions

Written by \`npm run generate\` from \`src/plan/reasons.ts\`.

| condition | of | is True when |
| --- | --- | --- |
| Ready | Tunnel | every pair carries traffic |
| Ready | Proxy | its rendezvous endpoint is known and a live proxy pod is behind it; a Target need not exist yet |
| Ready | Target | its session with the proxy is up |
| Connected | Proxy | a Target session is up and consumers are served |
| Updated | all | the pods are what the spec asks for (use this instead of \`kubectl rollout status\`, which waits for standbys that are unready by design) |

The reason says why a condition is what it is:

| reason | meaning | what to do |
| --- | --- | --- |
${rows.join("\n")}

† Next step: \`kubectl netaminity doctor tunnel/NAME\` (or \`proxy/NAME\`, \`target/NAME\`) goes along the whole path and says where it breaks, with the evidence and what to do ([doctor](../doctor.md)).
`;
}

function fieldTable(schema: StructuralSchema | undefined): string {
  const rows = fieldsOf(schema ?? {}, "").map(
    ([path, field, isRequired]) =>
      `| \`${path}\` | ${cell(typeOf(field))} | ${isRequired ? "required" : defaultOf(field)} | ${cell(field.description ?? "")} |`,
  );
  return ["| field | type | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function fieldsOf(
  schema: StructuralSchema,
  prefix: string,
): [path: string, field: StructuralSchema, required: boolean][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix + name;
    const isRequired = schema.required?.includes(name) === true;
    if (name === sharedField) {
      const { properties: _properties, ...alone } = field;
      return [
        [path, { ...alone, description: `${field.description} See [podTemplate](pod-template.md).` }, isRequired],
      ];
    }
    const inner = path.split(".").length < deepest ? (field.items ?? field) : {};
    return [[path, field, isRequired], ...fieldsOf(inner, `${path}${field.items === undefined ? "" : "[]"}.`)];
  });
}

function typeOf(schema: StructuralSchema): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "quantity";
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`;
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  if (minimum !== undefined && maximum !== undefined) return `${schema.type}, ${minimum} to ${maximum}`;
  return minimum === undefined ? `${schema.type}` : `${schema.type}, from ${minimum}`;
}

function defaultOf({ default: value }: StructuralSchema): string {
  return value === undefined ? "-" : `\`${JSON.stringify(value)}\``;
}

/** Messages of all rules in a schema, each once. */
function rulesOf(schema: StructuralSchema): string[] {
  const own = (schema["x-kubernetes-validations"] ?? []) as readonly { message: string }[];
  const inner = [...Object.entries(schema.properties ?? {}), ["", schema.items ?? {}] as const].flatMap(
    ([name, field]) =>
      name === "" && schema.items === undefined ? [] : rulesOf(field).map((rule) => located(name, rule)),
  );
  return [...new Set([...own.map(({ message }) => message), ...inner])];
}

function located(name: string, rule: string): string {
  return rule.startsWith("`") ? rule.replace("`", `\`${name}.`) : `\`${name}\`: ${rule}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
