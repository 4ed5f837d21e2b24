import { existsSync, mkdirSync } from "node:fs";
import { cp } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ProgramError, runToEnd } from "./process.ts";

const root = resolve(import.meta.dir, "../..");
const cache = join(root, ".cache/bench");

/** Seconds that a compiler or an installer may take. */
const buildTimeout = 900;

/** Versions that the results are compared with; see the crates of the same names. */
const crates = { bore: "bore-cli@0.6.0", rathole: "rathole@0.5.0" } as const;

/** Compiles the load generator and the link from test/bench. Go's own cache makes a second time cheap. */
export async function buildHelpers(): Promise<{ load: string; delay: string; soak: string }> {
  mkdirSync(cache, { recursive: true });
  await runToEnd(
    ["go", "build", "-C", import.meta.dir, "-o", `${cache}/`, "./load", "./delay", "./soak"],
    buildTimeout,
  );
  return { load: join(cache, "load"), delay: join(cache, "delay"), soak: join(cache, "soak") };
}

/** The peer's executable in .cache/bin: unpacked from a folder beside the repository when there is one, else compiled. */
export async function peer(name: keyof typeof crates): Promise<string> {
  const executable = join(root, ".cache/bin", name);
  if (existsSync(executable)) return executable;
  mkdirSync(dirname(executable), { recursive: true });
  const unpack = resolve(root, "../shared/bin/unpack.sh");
  if (existsSync(unpack)) await runToEnd([unpack, dirname(executable)], buildTimeout);
  else await runToEnd(["cargo", "install", "--locked", "--root", join(root, ".cache"), crates[name]], buildTimeout);
  if (!existsSync(executable)) throw new ProgramError(`${executable} was not made`);
  return executable;
}

/** HAProxy of the distribution; installed when this is a Debian machine and we may. */
export function haproxyExecutable(): Promise<string> {
  return debianProgram("haproxy");
}

/** Makes the certificates of the peers with TLS. */
export function opensslExecutable(): Promise<string> {
  return debianProgram("openssl");
}

/** The program of the Debian package of the same name. */
async function debianProgram(name: string): Promise<string> {
  const find = () => Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin` });
  const there = find();
  if (there !== null) return there;
  if (process.getuid?.() !== 0 || Bun.which("apt-get") === null)
    throw new ProgramError(`${name} is missing (Debian package ${name})`);
  process.stderr.write(`installing the Debian package ${name}\n`);
  // RUNLEVEL=1 keeps the package from starting its service.
  const install = ["env", "RUNLEVEL=1", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"];
  await runToEnd([...install, "update", "-q"], buildTimeout);
  await runToEnd([...install, "install", "-y", "-q", "--no-install-recommends", name], buildTimeout);
  const installed = find();
  if (installed === null) throw new ProgramError(`the Debian package ${name} brought no program ${name}`);
  return installed;
}

/** A copy of dist/netaminity inside `folder`, built before when the sources have changed; a later build cannot disturb the run. */
export async function netaminityExecutable(folder: string): Promise<string> {
  await runToEnd([process.execPath, join(root, "scripts/build.ts")], buildTimeout);
  return await copyExecutable(join(root, "dist/netaminity"), folder, "netaminity");
}

export async function copyExecutable(executable: string, folder: string, name: string): Promise<string> {
  if (!existsSync(executable)) throw new ProgramError(`${executable} does not exist`);
  const copy = join(folder, name);
  await cp(executable, copy);
  return copy;
}
