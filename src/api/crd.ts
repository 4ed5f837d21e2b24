import { z } from "zod";
import { apiGroup, apiVersion } from "../names.ts";
import type { Condition } from "./conditions.ts";
import type { Kind } from "./kinds.ts";

/** JSON schema in the dialect of the API server: OpenAPI v3, "structural", with Kubernetes' extensions. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  required?: readonly string[];
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  [keyword: string]: unknown;
}

/** A schema value in the API server's dialect. Unknown fields need no keyword there: structural schemas always refuse or prune them. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    io: "input",
    target: "openapi-3.0",
    reused: "inline",
    override: ({ jsonSchema }) => adapt(jsonSchema as Record<string, unknown>),
  });
  delete json.$schema;
  return json as StructuralSchema;
}

function adapt(json: Record<string, unknown>): void {
  if (json.additionalProperties === false) delete json.additionalProperties;
  if (json["x-kubernetes-int-or-string"] === true) json.anyOf = [{ type: "integer" }, { type: "string" }];
  if (json.type === "integer") {
    json.format = "int64";
    if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
    if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  }
  if (json.format === "date-time") delete json.pattern;
}

/** The CustomResourceDefinition of a kind, in the order in which a person reads it. */
export function customResourceDefinition(kind: Kind) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: "Namespaced",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [kind.shortName],
        categories: ["netaminity"],
      },
      versions: [
        {
          name: apiVersion,
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: {
              specReplicasPath: ".spec.replicas",
              statusReplicasPath: ".status.replicas",
              labelSelectorPath: ".status.selector",
            },
          },
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: objectSchema(kind) },
        },
      ],
    },
  };
}

/**
 * What the API server shows before the operator does: otherwise tools that find no condition (kstatus, and so Flux and Helm) take a fresh object for one that is as
 * it should be.
 */
function initialStatus({ counts }: Kind) {
  const pending: Condition = {
    type: "Ready",
    status: "Unknown",
    reason: "Pending",
    message: "the operator has not looked at this object yet",
    lastTransitionTime: "1970-01-01T00:00:00Z",
    observedGeneration: 0,
  };
  return { observedGeneration: 0, conditions: [pending], ...counts };
}

/** Schema of the whole object: what TypeMeta and ObjectMeta are, the API server knows itself. */
export function objectSchema(kind: Kind): StructuralSchema {
  return {
    type: "object",
    description: kind.description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: `Always ${apiGroup}/${apiVersion}.` },
      kind: { type: "string", description: `Always ${kind.kind}.` },
      metadata: { type: "object" },
      spec: structuralSchema(kind.spec),
      status: { ...structuralSchema(kind.status), default: initialStatus(kind) },
    },
    "x-kubernetes-validations": kind.rules,
  };
}
