import { z } from "zod";
import { apiGroup, consumerPort, rendezvousPort } from "../names.ts";
import { checked, port, type Rule, text, textMap } from "./fields.ts";
import { resources } from "./resources.ts";
import { affinity, oneValue, tolerations, topologySpreadConstraints } from "./scheduling.ts";
import { containerSecurityContext, podSecurityContext } from "./security.ts";

const distributeByNodes = z
  .boolean()
  .describe(
    "Prefer different nodes for the pods of one workload; true when absent. A preference, never a requirement.",
  );
const hostNetwork = z
  .boolean()
  .describe("Use the network of the node; cluster names still resolve. Ports are then shared by all pods of the node.");

const fields = {
  distributeByNodes: distributeByNodes.exactOptional(),
  hostNetwork: hostNetwork.exactOptional(),
  healthPort: port(
    "Port of /healthz, /readyz and /metrics; 8080 when absent. Change it when pods with hostNetwork meet on one node.",
  ).exactOptional(),
  nodeSelector: oneValue(
    z.record(z.string(), z.string().max(63)).describe("Labels that a node must have."),
  ).exactOptional(),
  tolerations: tolerations.exactOptional(),
  affinity: affinity.exactOptional(),
  topologySpreadConstraints: topologySpreadConstraints.exactOptional(),
  priorityClassName: text().exactOptional().describe("Name of a PriorityClass."),
  runtimeClassName: text().exactOptional().describe("Name of a RuntimeClass."),
  resources: resources.exactOptional(),
  securityContext: podSecurityContext.exactOptional(),
  containerSecurityContext: containerSecurityContext.exactOptional(),
  serviceAccountName: text().exactOptional().describe("ServiceAccount of the pods; its token is not mounted."),
  imagePullSecrets: z
    .array(z.strictObject({ name: text().min(1).describe("Name of the Secret.") }))
    .max(16)
    .exactOptional()
    .describe("Secrets for pulling the agent image, in the namespace of this object."),
  labels: checked(
    z.record(z.string(), z.string().max(63)).meta({
      description: "More labels of the pods; those of netaminity win, and its own prefix cannot be used.",
      maxProperties: 64,
    }),
    [
      {
        rule: `self.all(key, !key.startsWith('${apiGroup}/'))`,
        message: `labels that begin with ${apiGroup}/ are set by the operator: consumers are led by them`,
      },
    ],
  ).exactOptional(),
  annotations: textMap().exactOptional().describe("More annotations of the pods."),
};

/** Both are fixed in proxy pods; targets keep to the same rule, so that one template serves both sides. */
const takenPorts: readonly Rule[] = [
  {
    rule: `!has(self.healthPort) || !(self.healthPort in [${rendezvousPort}, ${consumerPort}])`,
    message: `healthPort must not be ${rendezvousPort} or ${consumerPort}: proxy pods listen there`,
  },
];

/** How agent pods run, as users write it. */
export const podTemplate = checked(
  z
    .strictObject({
      ...fields,
      distributeByNodes: distributeByNodes.default(true),
      hostNetwork: hostNetwork.default(false),
    })
    .describe("How and where the pods run."),
  takenPorts,
);

/** One side's own template: without defaults, because a field that is there replaces the shared one. */
export const podTemplateOverride = checked(z.strictObject(fields), takenPorts);

const { distributeByNodes: _distribute, hostNetwork: _network, healthPort: _port, ...sharedFields } = fields;

/**
 * What the operator's settings can say for all agents. The API server puts two of the fields into every written template, so they could never come from there, and the
 * health port belongs to one of them.
 */
export const podTemplateDefaults = z.strictObject(sharedFields);

export type PodTemplate = z.output<typeof podTemplateOverride>;
