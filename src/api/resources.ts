import { z } from "zod";

export const quantityPattern =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/** A Kubernetes quantity such as 10m, 0.5, 32Mi or 2. */
const quantity = z.union([z.int(), z.string()]).meta({
  "x-kubernetes-int-or-string": true,
  pattern: quantityPattern,
});

const quantities = (description: string) => z.record(z.string(), quantity).exactOptional().describe(description);

/** Resources of a container. */
export const resources = z
  .strictObject({
    requests: quantities("What the scheduler reserves, by resource name, for example cpu: 10m."),
    limits: quantities("What may not be exceeded, by resource name, for example memory: 64Mi."),
  })
  .describe("CPU and memory of the agent container. Absent: requests of 10m CPU and 32Mi memory, no limits.");
