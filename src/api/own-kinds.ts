import { apiGroup, groupVersion } from "../names.ts";

// Apart from the schemas, so that what only has to address our objects does not load them.

/** The three kinds of our own group, by the word that queue keys, metrics and logs use. */
const ownKinds = ["Tunnel", "Proxy", "Target"] as const;
export type OwnKind = (typeof ownKinds)[number];

export function ownKindOf(object: { apiVersion?: string | undefined; kind?: string | undefined }): OwnKind | undefined {
  return object.apiVersion === groupVersion ? ownKinds.find((kind) => kind === object.kind) : undefined;
}

const define = (kind: OwnKind, plural: string) => ({
  apiVersion: groupVersion,
  kind,
  group: apiGroup,
  plural,
  namespaced: true,
});

/** How our kinds are addressed in URLs and in RBAC rules. */
export const ownResources = {
  tunnel: define("Tunnel", "tunnels"),
  proxy: define("Proxy", "proxies"),
  target: define("Target", "targets"),
};
