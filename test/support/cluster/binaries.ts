/** Where the programs of a cluster lie; `scripts/tools/install` puts them there once. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { run as runCommand } from "./command.ts";

const root = resolve(import.meta.dir, "../../..");
const folder = join(root, ".cache/bin");
/** A cold build of Kubernetes takes a quarter of an hour on two cores. */
const buildTimeout = 45 * 60_000;

export interface Binaries {
  readonly folder: string;
  /** etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy and kubectl in one file. */
  readonly kube: string;
  /** coredns and helm in one file. */
  readonly clustertools: string;
  readonly pause: string;
}

let installed: Promise<Binaries> | undefined;

/** Installs the programs when one is missing (seconds when they are prebuilt, many minutes when not). */
export function binaries(): Promise<Binaries> {
  installed ??= install();
  return installed;
}

async function install(): Promise<Binaries> {
  // Another Kubernetes than the newest: `scripts/tools/install` knows which there are.
  const other = process.env.NETAMINITY_KUBERNETES;
  const found: Binaries = {
    folder,
    kube: join(folder, other ? `kube-${other}` : "kube"),
    clustertools: join(folder, "clustertools"),
    pause: join(folder, "pause"),
  };
  if ([found.kube, found.clustertools, found.pause].every((file) => existsSync(file))) return found;
  await runCommand([join(root, "scripts/tools/install"), folder], { timeout: buildTimeout });
  return found;
}
