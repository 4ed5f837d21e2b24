import type { Credentials } from "../kube/credentials.ts";
import { createKube, type KubeObject } from "../kube/kube.ts";
import { builtIn } from "../kube/resources.ts";
import { fieldManager } from "../names.ts";
import { families } from "./address.ts";
import { meshTable, wholeIpTable } from "./names.ts";
import type { Nft } from "./nft.ts";

/** Removes all tables of this role and returns their names. Throws NodeProgramError. */
export async function removeTables(nft: Nft): Promise<string[]> {
  const removed: string[] = [];
  for (const family of families) {
    for (const name of [wholeIpTable, meshTable]) {
      if ((await nft.read(family, name)) !== undefined) {
        await nft.apply([{ delete: { table: { family, name } } }]);
        removed.push(`${family} ${name}`);
      }
    }
  }
  return removed;
}

type DaemonSet = KubeObject & {
  status?: { observedGeneration?: number; desiredNumberScheduled?: number; numberReady?: number };
};

/** Milliseconds: longer than that a node that does not answer must not hold up an uninstallation. */
const patience = 120_000;
const pause = 1000;

/** Waits until all pods of a DaemonSet are ready; false when they are not in time. Whatever the API server answers meanwhile, it is asked again. */
export async function untilReady({
  credentials,
  version,
  namespace,
  name,
}: {
  credentials: Credentials;
  version: string;
  namespace: string;
  name: string;
}): Promise<boolean> {
  const kube = createKube({ credentials, userAgent: `netaminity-node/${version}`, fieldManager });
  for (const end = performance.now() + patience; performance.now() < end; await Bun.sleep(pause)) {
    const set = await kube.get<DaemonSet>(builtIn.daemonSet, namespace, name).catch(() => undefined);
    const { observedGeneration = 0, desiredNumberScheduled = 0, numberReady = 0 } = set?.status ?? {};
    if (observedGeneration > 0 && numberReady >= desiredNumberScheduled) {
      return true;
    }
  }
  return false;
}
