import type { ProxyResource } from "../api/proxy.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { ownSecret, ownSecretMetadata } from "../desired/secret.ts";
import type { ObservedSecret } from "./observed.ts";
import { isControlledBy, isOrphanOf } from "./ownership.ts";
import type { DesiredObject } from "./plan.ts";

/** What becomes of the Secret that is made for an owner. */
export interface OwnSecret {
  create: DesiredObject[];
  apply: DesiredObject[];
  /** A stranger's has its name. It is neither changed nor used, so nothing is made from it; the apply reports the conflict. */
  isForeign: boolean;
}

/** `secret` is the one of that name as observed, `fresh` the text of a new one. */
export function planOwnSecret(
  owner: TunnelResource | ProxyResource,
  secret: ObservedSecret | undefined,
  fresh: string,
): OwnSecret {
  if (secret === undefined) return { create: [ownSecret(owner, fresh)], apply: [], isForeign: false };
  const metadata = ownSecretMetadata(owner);
  return { create: [], apply: [metadata], isForeign: !isControlledBy(secret, owner) && !isOrphanOf(secret, metadata) };
}
