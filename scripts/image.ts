/** Writes the image as an OCI archive, from the built executable, without a registry or a daemon. See `scripts/image --help`. */

import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import packageFile from "../package.json" with { type: "json" };
import { ImageNameError, makeImageArchive } from "./image-archive.ts";
import { executablePath, MissingLibraryError, MissingProgramError, rootEntries, userId } from "./image-root.ts";

const help = `Usage: scripts/image [NAME] [--binary FILE] [--output FILE]

Packs the executable, nft and conntrack, and the libraries that they load into an OCI image archive.

  NAME            reference of the image (default localhost/netaminity:dev)
  --binary FILE   executable for this machine's architecture (default dist/netaminity)
  --output FILE   archive to write (default dist/netaminity-image.tar)

Load it with: ctr -n k8s.io images import dist/netaminity-image.tar
SOURCE_DATE_EPOCH sets the time of the image and its files (default 0).`;

const root = resolve(import.meta.dir, "..");
const architectures = { x64: "amd64", arm64: "arm64" } as const;

interface Request {
  name: string;
  binary: string;
  output: string;
  created: number;
}

function readRequest(args: string[]): Request | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      binary: { type: "string", default: `${root}/dist/netaminity` },
      output: { type: "string", default: `${root}/dist/netaminity-image.tar` },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  if (positionals.length > 1) throw new RangeError(`one image name is accepted, got ${positionals.join(" ")}`);
  const epoch = process.env.SOURCE_DATE_EPOCH || "0";
  if (!/^\d{1,10}$/.test(epoch)) throw new RangeError(`SOURCE_DATE_EPOCH "${epoch}" is not a number of seconds`);
  return {
    name: positionals[0] ?? "localhost/netaminity:dev",
    binary: values.binary,
    output: values.output,
    created: Number(epoch),
  };
}

async function writeImage({ name, binary, output, created }: Request): Promise<void> {
  const architecture = process.arch === "x64" || process.arch === "arm64" ? architectures[process.arch] : undefined;
  if (process.platform !== "linux" || !architecture) {
    throw new RangeError(`images are packed on linux x64 and arm64, this is ${process.platform} ${process.arch}`);
  }
  if (!(await Bun.file(binary).exists())) throw new RangeError(`${binary} does not exist: run npm run build first`);
  const entries = await rootEntries(binary);
  const options = { name, architecture, version: packageFile.version, entrypoint: executablePath, userId, created };
  const pieces = makeImageArchive(entries, options);
  await mkdir(dirname(resolve(output)), { recursive: true });
  // Another run may read or write the same archive: it appears whole or not at all.
  const partial = `${output}.${process.pid}.partial`;
  try {
    await Bun.write(partial, new Blob(pieces.map((piece) => new Uint8Array(piece))));
    await rename(partial, output);
  } finally {
    await rm(partial, { force: true });
  }
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  console.log(`${output}: ${name} (${architecture}, ${(bytes / 1e6).toFixed(1)} MB, ${entries.length} entries)`);
}

function isUserError(error: unknown): error is Error {
  const known = [ImageNameError, MissingLibraryError, MissingProgramError, RangeError];
  if (known.some((kind) => error instanceof kind)) return true;
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

try {
  const request = readRequest(process.argv.slice(2));
  if (request) await writeImage(request);
  else console.log(help);
} catch (error) {
  if (!isUserError(error)) throw error;
  console.error(`scripts/image: ${error.message}`);
  process.exitCode = 2;
}
