import type { Verb } from "../kube/kube.ts";
import { builtIn } from "../kube/resources.ts";

const rule = ({ group, plural }: { group: string; plural: string }, verbs: Verb[]) => ({
  apiGroups: [group],
  resources: [plural],
  verbs,
});

/** All that the role may do, in the whole cluster; `npm run generate` writes it into the chart. */
export const nodeRbac = [
  rule(builtIn.service, ["list", "watch"]),
  rule(builtIn.endpointSlice, ["list", "watch"]),
  rule(builtIn.node, ["list", "watch"]),
  rule(builtIn.event, ["create", "patch"]),
];
