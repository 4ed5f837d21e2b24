/** The two images of the end-to-end tests: the product's, made by scripts/image, and the peer's. */
import { join, resolve } from "node:path";
import { makeImageArchive } from "../../../scripts/image-archive.ts";
import { run } from "../cluster/command.ts";
import type { Cluster } from "../cluster/index.ts";
import { ctr } from "../cluster/node.ts";
import { buildGo } from "../go-program.ts";

export const root = resolve(import.meta.dir, "../../..");
/** A first `go build` on a busy machine with two cores. */
const buildTimeout = 300_000;

export const productImage = { repository: "localhost/netaminity", tag: "dev" } as const;
/** The same program under another name: what an upgrade changes. */
export const nextTag = "next";
export const peerImage = "localhost/netaminity-peer:dev";

/** Builds the executable where its sources have changed and packs it; the archive. */
export async function productArchive(into: string): Promise<string> {
  await run([process.execPath, join(root, "scripts/build.ts")], { timeout: buildTimeout });
  const archive = join(into, "netaminity.tar");
  await run([join(root, "scripts/image"), `${productImage.repository}:${productImage.tag}`, "--output", archive]);
  return archive;
}

/** An image of an executable that was built elsewhere; the archive. */
export async function archiveOf(binary: string, tag: string, into: string): Promise<string> {
  const archive = join(into, `netaminity-${tag}.tar`);
  const name = `${productImage.repository}:${tag}`;
  await run([join(root, "scripts/image"), name, "--binary", binary, "--output", archive]);
  return archive;
}

/** Gives the product's and the peer's image to all nodes of a cluster, and the product's a second name. */
export async function loadImages(cluster: Cluster, archives: readonly string[]): Promise<void> {
  for (const archive of archives) await cluster.loadImage(archive);
  const [from, to] = [productImage.tag, nextTag].map((tag) => `${productImage.repository}:${tag}`);
  await Promise.all(cluster.nodes.map((node) => ctr(node.containerdSocket, ["images", "tag", `${from}`, `${to}`])));
}

/** Compiles the peer (Go's own cache makes a second time cheap). The executable. */
export const buildPeer = (): Promise<string> => buildGo(join(import.meta.dir, "peer"), "peer");

export async function peerArchive(into: string): Promise<string> {
  const content = await Bun.file(await buildPeer()).bytes();
  const pieces = makeImageArchive([{ path: "peer", mode: 0o755, content }], {
    name: peerImage,
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    version: "dev",
    entrypoint: "/peer",
    userId: 65532,
    created: 0,
  });
  const archive = join(into, "peer.tar");
  await Bun.write(archive, new Blob(pieces.map((piece) => new Uint8Array(piece))));
  return archive;
}
