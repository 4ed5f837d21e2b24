import { z } from "zod";

/** One entry of `status.conditions`, as Kubernetes defines it (meta/v1 Condition). */
export const condition = z.strictObject({
  type: z.string().max(316).describe("What the condition is about, for example Ready."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether it holds."),
  reason: z
    .string()
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .max(1024)
    .describe("One word for the cause; docs/reference lists them all with what to do."),
  message: z.string().max(32768).describe("The cause in a sentence."),
  lastTransitionTime: z.iso.datetime().describe("When the status changed last."),
  observedGeneration: z.int().min(0).describe("The metadata.generation that this was decided for."),
});
export type Condition = z.output<typeof condition>;

export const conditions = z
  .array(condition)
  .max(16)
  .meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  })
  .describe("The state in the common form of Kubernetes; kubectl wait --for=condition=Ready works on it.");
