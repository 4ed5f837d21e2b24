/** OCI image archives made from files, without a registry or a daemon: enough for test programs. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run as runCommand } from "./command.ts";

export interface ImageOptions {
  /** With registry and tag, such as `localhost/echo:1`. */
  readonly name: string;
  /** Path in the image -> file on this machine. Modes are kept. */
  readonly files: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  readonly env?: readonly string[];
}

/** Writes the archive (one layer, this machine's architecture) to `file`. */
export async function writeImage(file: string, options: ImageOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "image-"));
  try {
    const blobs = join(folder, "layout/blobs/sha256");
    await mkdir(blobs, { recursive: true });
    const layer = await layerOf(folder, options.files);
    const layerBlob = await addBlob(blobs, layer, "application/vnd.oci.image.layer.v1.tar");
    const architecture = process.arch === "x64" ? "amd64" : process.arch;
    const config = {
      ...{ architecture, os: "linux" },
      config: { Entrypoint: options.entrypoint, Env: ["PATH=/bin:/usr/bin", ...(options.env ?? [])] },
      rootfs: { type: "layers", diff_ids: [layerBlob.digest] },
    };
    const configBlob = await addBlob(blobs, json(config), "application/vnd.oci.image.config.v1+json");
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const manifest = { schemaVersion: 2, mediaType, config: configBlob, layers: [layerBlob] };
    const manifestBlob = await addBlob(blobs, json(manifest), mediaType);
    const annotations = { "io.containerd.image.name": options.name };
    const index = {
      schemaVersion: 2,
      manifests: [{ ...manifestBlob, annotations, platform: { architecture, os: "linux" } }],
    };
    await writeFile(join(folder, "layout/oci-layout"), json({ imageLayoutVersion: "1.0.0" }));
    await writeFile(join(folder, "layout/index.json"), json(index));
    await runCommand(["tar", "-C", join(folder, "layout"), "-cf", file, "."]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function layerOf(folder: string, files: Readonly<Record<string, string>>): Promise<Buffer> {
  const root = join(folder, "root");
  await mkdir(root);
  for (const [path, source] of Object.entries(files)) {
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(source, target);
  }
  const tar = join(folder, "layer.tar");
  await runCommand(["tar", "-C", root, "--owner=0", "--group=0", "--numeric-owner", "-cf", tar, "."]);
  return readFile(tar);
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

async function addBlob(blobs: string, content: Buffer, mediaType: string): Promise<Descriptor> {
  const hash = createHash("sha256").update(content).digest("hex");
  await writeFile(join(blobs, hash), content);
  return { mediaType, digest: `sha256:${hash}`, size: content.length };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * A program with the shared libraries that `ldd` names for it, as a `files` value: `{ "/app/echo": "/tmp/echo", ... }`.
 * A static program comes back alone.
 */
export async function withLibraries(path: string, program: string): Promise<Record<string, string>> {
  const listed = await runCommand(["ldd", program]).catch(() => "");
  const libraries = [...listed.matchAll(/(\/[^\s]+)\s+\(0x/g)].map((match) => match[1] ?? "");
  const files: Record<string, string> = { [path]: program };
  for (const library of libraries) if ((await stat(library)).isFile()) files[library] = library;
  return files;
}
