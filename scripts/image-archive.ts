/** An OCI image archive (OCI image layout 1.0 in a tar) with one layer, from a list of files. */

import { makeTar, type TarEntry } from "./image-tar.ts";

export interface ImageOptions {
  /** Full reference that `ctr images import` and `podman load` give the image, for example `localhost/netaminity:dev`. */
  name: string;
  architecture: "amd64" | "arm64";
  version: string;
  entrypoint: string;
  userId: number;
  /** Seconds since the epoch of every file and of the image: a constant makes equal archives from equal files. */
  created: number;
}

/** A reference without a tag, with a digest, or with characters that registries and containerd refuse. */
export class ImageNameError extends Error {
  constructor(name: string) {
    super(`image name "${name}" is not of the form HOST/PATH:TAG in lower case, for example localhost/netaminity:dev`);
    this.name = "ImageNameError";
  }
}

const reference = /^[a-z0-9.-]+(?::\d+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+:([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$/;

interface Blob {
  digest: string;
  bytes: Uint8Array;
}

/**
 * Pieces of the archive, to be written one after the other.
 * The layer stays uncompressed: it never crosses a network, imports faster, and no compressor version changes its digest.
 * @throws ImageNameError
 */
export function makeImageArchive(entries: readonly TarEntry[], options: ImageOptions): Uint8Array[] {
  const tag = reference.exec(options.name)?.[1];
  if (!tag) throw new ImageNameError(options.name);
  const layer = blob(join(makeTar(entries, options.created)));
  const config = blob(json(imageConfig(layer, options)));
  const manifest = blob(json(imageManifest(layer, config)));
  const index = json({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        ...descriptor("application/vnd.oci.image.manifest.v1+json", manifest),
        platform: { architecture: options.architecture, os: "linux" },
        annotations: {
          // containerd and podman take the whole name from the first, tools of the OCI layout the tag from the second.
          "io.containerd.image.name": options.name,
          "org.opencontainers.image.ref.name": tag,
        },
      },
    ],
  });
  const file = (path: string, content: Uint8Array): TarEntry => ({ path, mode: 0o644, content });
  const blobs = [layer, config, manifest].map(({ digest, bytes }) => file(`blobs/sha256/${digest}`, bytes));
  return makeTar(
    [
      file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
      file("index.json", index),
      { path: "blobs/", mode: 0o755 },
      { path: "blobs/sha256/", mode: 0o755 },
      ...blobs.sort((left, right) => (left.path < right.path ? -1 : 1)),
    ],
    options.created,
  );
}

function imageConfig(layer: Blob, { architecture, version, entrypoint, userId, created }: ImageOptions) {
  const time = new Date(created * 1000).toISOString();
  return {
    created: time,
    architecture,
    os: "linux",
    config: {
      User: `${userId}:${userId}`,
      Env: [`PATH=${entrypoint.slice(0, entrypoint.lastIndexOf("/"))}`],
      Entrypoint: [entrypoint],
      WorkingDir: "/",
      Labels: {
        "org.opencontainers.image.title": "netaminity",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    },
    rootfs: { type: "layers", diff_ids: [`sha256:${layer.digest}`] },
    history: [{ created: time, created_by: "scripts/image" }],
  };
}

function imageManifest(layer: Blob, config: Blob) {
  return {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: descriptor("application/vnd.oci.image.config.v1+json", config),
    layers: [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
  };
}

function descriptor(mediaType: string, { digest, bytes }: Blob) {
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
}

function blob(bytes: Uint8Array): Blob {
  return { digest: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), bytes };
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Bun.concatArrayBuffers([...parts]));
}
