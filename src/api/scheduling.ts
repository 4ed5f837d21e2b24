import { z } from "zod";

const list = <S extends z.ZodType>(item: S, description: string) => z.array(item).describe(description);
const atomic = <S extends z.ZodType>(schema: S): S =>
  schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "atomic" });

/** A map that a server-side apply replaces, as Kubernetes' own selectors: one more entry would change what the others mean. */
export const oneValue = <S extends z.ZodType>(schema: S): S =>
  schema.meta({ ...schema.meta(), "x-kubernetes-map-type": "atomic" });

/** meta/v1 LabelSelector. */
export const labelSelector = (description: string) =>
  z
    .strictObject({
      matchLabels: z.record(z.string(), z.string()).exactOptional().describe("Labels that must be there."),
      matchExpressions: list(
        z.strictObject({
          key: z.string().describe("Label key."),
          operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("Relation to the values."),
          values: list(z.string(), "Values of In and NotIn.").exactOptional(),
        }),
        "All of these must hold.",
      ).exactOptional(),
    })
    .describe(description);

const nodeRequirements = (description: string) =>
  list(
    z.strictObject({
      key: z.string().describe("Label or field key."),
      operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]).describe("Relation to the values."),
      values: list(z.string(), "Values; one number for Gt and Lt.").exactOptional(),
    }),
    description,
  ).exactOptional();

const nodeTerm = z.strictObject({
  matchExpressions: nodeRequirements("Requirements on the node's labels."),
  matchFields: nodeRequirements("Requirements on the node's fields."),
});

const weight = z.int().min(1).max(100).describe("How much it counts, 1 to 100.");

const nodeAffinity = z
  .strictObject({
    requiredDuringSchedulingIgnoredDuringExecution: z
      .strictObject({ nodeSelectorTerms: list(nodeTerm, "Terms of which one must hold.").min(1) })
      .exactOptional()
      .describe("Nodes on which the pod may run."),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      z.strictObject({ weight, preference: nodeTerm.describe("What such a node has.") }),
      "Nodes that are preferred.",
    ).exactOptional(),
  })
  .describe("Which nodes the pod wants.");

const podTerm = z.strictObject({
  labelSelector: labelSelector("Which pods are meant.").exactOptional(),
  namespaces: list(z.string(), "Their namespaces; absent: the pod's own.").exactOptional(),
  namespaceSelector: labelSelector("Their namespaces, by label.").exactOptional(),
  topologyKey: z.string().min(1).describe("Node label that defines a place."),
  matchLabelKeys: list(z.string(), "Label keys that take the new pod's values.").exactOptional(),
  mismatchLabelKeys: list(z.string(), "Label keys that must differ from the new pod's.").exactOptional(),
});

const podAffinity = (description: string) =>
  z
    .strictObject({
      requiredDuringSchedulingIgnoredDuringExecution: list(podTerm, "Terms that must all hold.").exactOptional(),
      preferredDuringSchedulingIgnoredDuringExecution: list(
        z.strictObject({ weight, podAffinityTerm: podTerm.describe("The pods and the place.") }),
        "Terms that are preferred.",
      ).exactOptional(),
    })
    .describe(description);

/** core/v1 Affinity. */
export const affinity = z
  .strictObject({
    nodeAffinity: nodeAffinity.exactOptional(),
    podAffinity: podAffinity("Pods to be near to.").exactOptional(),
    podAntiAffinity: podAffinity("Pods to stay away from.").exactOptional(),
  })
  .describe("Affinity and anti-affinity as in a pod. Kept when distributeByNodes adds its own preference.");

/** core/v1 Toleration. */
export const toleration = z.strictObject({
  key: z.string().exactOptional().describe("Taint key; absent with Exists: all taints."),
  operator: z
    .enum(["Exists", "Equal", "Lt", "Gt"])
    .exactOptional()
    .describe("How the value is compared; Equal when absent."),
  value: z.string().exactOptional().describe("Taint value."),
  effect: z
    .enum(["NoSchedule", "PreferNoSchedule", "NoExecute"])
    .exactOptional()
    .describe("Taint effect; absent: all effects."),
  tolerationSeconds: z.int().exactOptional().describe("How long a NoExecute taint is tolerated; absent: for ever."),
});

export const tolerations = atomic(list(toleration, "Taints of nodes that the pods tolerate."));

/** core/v1 TopologySpreadConstraint. */
const topologySpreadConstraint = z.strictObject({
  maxSkew: z.int().min(1).describe("How uneven the spread may be."),
  topologyKey: z.string().min(1).describe("Node label that defines a place."),
  whenUnsatisfiable: z
    .enum(["DoNotSchedule", "ScheduleAnyway"])
    .describe("What happens when the spread cannot be kept."),
  labelSelector: labelSelector("Which pods are counted; absent: the pods of this workload.").exactOptional(),
  matchLabelKeys: list(z.string(), "Label keys that take the new pod's values.").exactOptional(),
  minDomains: z.int().min(1).exactOptional().describe("Least number of places, with DoNotSchedule."),
  nodeAffinityPolicy: z.enum(["Honor", "Ignore"]).exactOptional().describe("Whether nodes outside the affinity count."),
  nodeTaintsPolicy: z.enum(["Honor", "Ignore"]).exactOptional().describe("Whether tainted nodes count."),
});

export const topologySpreadConstraints = atomic(
  list(topologySpreadConstraint, "How the pods spread over zones, nodes and so on."),
);
