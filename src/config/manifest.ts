import type { Role } from "./table.ts";

const settings = {};

export const manifestRole: Role<typeof settings> = {
  name: "manifest",
  summary: "Print the custom resource definitions, for kubectl apply --server-side -f -.",
  settings,
};
