import { z } from "zod";

/** A rule in the Common Expression Language that the API server checks; `message` is what the user reads. */
export interface Rule {
  rule: string;
  message: string;
  reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired";
  fieldPath?: string;
}

/** Adds rules to a schema. They run only in the API server; their tests do too. */
export function checked<S extends z.ZodType>(schema: S, rules: readonly Rule[]): S {
  return schema.meta({ ...schema.meta(), "x-kubernetes-validations": rules });
}

/** Strings that Kubernetes itself bounds to about this length; a bound keeps the cost of rules small. */
export const text = () => z.string().max(253);
export const textMap = () => z.record(z.string(), z.string().max(262144));
