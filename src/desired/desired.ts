import type { KubernetesObject } from "@kubernetes/client-node";

/** A full desired object: only the fields that we own are present, in the form in which the API server stores them. */
export type DesiredObject = KubernetesObject & {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string };
};
