import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { CommandError, run } from "../support/cluster/command.ts";
import { repository } from "./helm.ts";

setDefaultTimeout(60_000);

// A small program of this machine stands for the executable: it loads the same C library.
const binary = Bun.which("true") ?? "/bin/true";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "netaminity-image-"));
});
afterAll(() => rm(folder, { recursive: true }));

const image = (output: string, ...args: string[]) =>
  run([join(repository, "scripts/image"), "--binary", binary, "--output", output, ...args]);

async function unpack(archive: string, name: string): Promise<string> {
  const into = join(folder, name);
  await run(["mkdir", "-p", into]);
  await run(["tar", "-xf", archive, "-C", into]);
  return into;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: { architecture: string; os: string };
}

async function readBlob(layout: string, { digest, size }: Descriptor): Promise<string> {
  const [algorithm = "", hex = ""] = digest.split(":");
  const path = join(layout, "blobs", algorithm, hex);
  const bytes = await Bun.file(path).bytes();
  expect([new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), bytes.length]).toEqual([hex, size]);
  return path;
}

const readJson = async <T>(path: string): Promise<T> => await Bun.file(path).json();

describe("scripts/image", () => {
  test("makes an OCI layout whose digests and sizes are true, and which carries the whole name", async () => {
    const archive = join(folder, "named.tar");
    await image(archive, "registry.example:5000/team/netaminity:1.2.3-rc.1");
    const layout = await unpack(archive, "layout");
    expect(await readJson(join(layout, "oci-layout"))).toEqual({ imageLayoutVersion: "1.0.0" });
    const index = await readJson<{ manifests: Descriptor[] }>(join(layout, "index.json"));
    const [described] = index.manifests;
    if (!described) throw new Error("the index is empty");
    expect(described.annotations).toEqual({
      "io.containerd.image.name": "registry.example:5000/team/netaminity:1.2.3-rc.1",
      "org.opencontainers.image.ref.name": "1.2.3-rc.1",
    });
    const manifest = await readJson<{ config: Descriptor; layers: Descriptor[] }>(await readBlob(layout, described));
    const config = await readJson<Record<string, unknown>>(await readBlob(layout, manifest.config));
    expect(manifest.layers).toHaveLength(1);
    expect(config).toMatchObject({
      os: "linux",
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      config: {
        User: "65532:65532",
        Entrypoint: ["/usr/local/bin/netaminity"],
        Env: ["PATH=/usr/local/bin"],
        Labels: { "org.opencontainers.image.version": packageFile.version },
      },
      rootfs: { type: "layers", diff_ids: manifest.layers.map(({ digest }) => digest) },
    });
  });

  test("packs the executable, what it loads and who it runs as, owned by root and written by nobody", async () => {
    const archive = join(folder, "content.tar");
    await image(archive);
    const layout = await unpack(archive, "content");
    const index = await readJson<{ manifests: Descriptor[] }>(join(layout, "index.json"));
    const [described] = index.manifests;
    if (!described) throw new Error("the index is empty");
    expect(described.annotations?.["io.containerd.image.name"]).toBe("localhost/netaminity:dev");
    const manifest = await readJson<{ layers: Descriptor[] }>(await readBlob(layout, described));
    const [layer] = manifest.layers;
    if (!layer) throw new Error("the manifest has no layer");
    const layerFile = await readBlob(layout, layer);
    const listing = (await run(["tar", "--numeric-owner", "-tvf", layerFile])).trimEnd().split("\n");
    const entries = listing.map((line) => {
      const [mode = "", owner = "", , date = "", , path = ""] = line.split(/\s+/);
      return { mode, owner, date, path };
    });
    expect(new Set(entries.map(({ owner, date }) => `${owner} ${date}`))).toEqual(new Set(["0/0 1970-01-01"]));
    expect(entries.filter(({ mode }) => mode[5] === "w" || mode[8] === "w")).toEqual([]);
    const files = entries.flatMap(({ path }) => (path.endsWith("/") ? [] : [path]));
    const libraries = /^lib(64)?\/|^usr\/lib/;
    expect(files.filter((path) => !libraries.test(path))).toEqual([
      "etc/group",
      "etc/nsswitch.conf",
      "etc/passwd",
      "etc/protocols",
      "usr/local/bin/conntrack",
      "usr/local/bin/netaminity",
      "usr/local/bin/nft",
    ]);
    expect(files.filter((path) => /\/(libc\.so\.6|ld-linux[^/]*)$/.test(path))).toHaveLength(2);
    // Every folder is there before what lies in it, as extractors without root expect.
    const early = entries.filter(({ path }, at) => {
      const parent = path.replace(/[^/]+\/?$/, "");
      return parent !== "" && !entries.slice(0, at).some((entry) => entry.path === parent);
    });
    expect(early).toEqual([]);
  });

  test("gives equal bytes for equal input", async () => {
    const [one, other] = [join(folder, "one.tar"), join(folder, "other.tar")];
    await image(one);
    await image(other);
    const digest = async (file: string) =>
      new Bun.CryptoHasher("sha256").update(await Bun.file(file).bytes()).digest("hex");
    expect(await digest(one)).toBe(await digest(other));
  });

  const refused: [args: string[], word: string][] = [
    [["netaminity"], 'image name "netaminity"'],
    [["localhost/Netaminity:dev"], 'image name "localhost/Netaminity:dev"'],
    [["localhost/a:1", "localhost/a:2"], "one image name"],
    [["--platform", "linux/arm64"], "--platform"],
    [["--binary", "/nowhere/netaminity"], "/nowhere/netaminity does not exist"],
  ];
  for (const [args, word] of refused) {
    test(`refuses ${args.join(" ")} with a reason and writes nothing`, async () => {
      const output = join(folder, "refused.tar");
      const error = await image(output, ...args).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(CommandError);
      expect((error as CommandError).exitCode).toBe(2);
      expect((error as CommandError).stderr).toContain(word);
      expect(await Bun.file(output).exists()).toBe(false);
    });
  }
});
