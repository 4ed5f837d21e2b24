/** `scripts/cluster`: the tests' cluster by hand. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { binaries } from "../test/support/cluster/binaries.ts";
import { startCluster } from "../test/support/cluster/cluster.ts";
import { type ControlPlane, startControlPlane } from "../test/support/cluster/control-plane.ts";
import { ctr } from "../test/support/cluster/node.ts";
import { findRun, listRuns, type Run } from "../test/support/cluster/run-folder.ts";
import { sweepAbandoned, sweepRun } from "../test/support/cluster/sweep.ts";

const defaultName = "dev";
const maxNodes = 20;
const usage = `usage: scripts/cluster COMMAND [--name NAME]

  up [--nodes N] [--private N]   start a cluster: N nodes that everything reaches (default 2; 0: only the control plane)
                                 and N nodes behind a one-way firewall (default 1); a cluster of that name is replaced
  down [--all]                   take it away; --all: every cluster that was started by hand, and what crashed tests left
  kubectl ARGS                   kubectl as administrator
  helm ARGS                      helm as administrator
  load FILE                      give an image archive (OCI or Docker) to all nodes
  list                           what is recorded on this machine

NAME is ${defaultName} unless --name, directly behind COMMAND, or NETAMINITY_CLUSTER says otherwise.`;

class UsageError extends Error {}

async function main(argv: readonly string[]): Promise<number> {
  const [command = "help", ...rest] = argv;
  const hasName = rest[0] === "--name";
  const name = (hasName ? rest[1] : process.env.NETAMINITY_CLUSTER) ?? defaultName;
  const args = hasName ? rest.slice(2) : rest;
  switch (command) {
    case "up":
      return up(name, args);
    case "down":
      return down(name, args);
    case "kubectl":
      return tool(name, [(await binaries()).kube, "kubectl"], args);
    case "helm":
      return tool(name, [(await binaries()).clustertools, "helm"], args);
    case "load":
      return load(name, args);
    case "list":
      return list();
    case "help":
    case "--help":
    case "-h":
      console.log(usage);
      return 0;
    default:
      throw new UsageError(`unknown command ${JSON.stringify(command)}`);
  }
}

async function up(defaultedName: string, args: readonly string[]): Promise<number> {
  const { values } = parse(args, { nodes: { type: "string" }, private: { type: "string" }, name: { type: "string" } });
  const name = values.name ?? defaultedName;
  const cloudNodes = count("--nodes", values.nodes ?? "2");
  const privateNodes = count("--private", values.private ?? (cloudNodes === 0 ? "0" : "1"));
  if (cloudNodes === 0 && privateNodes > 0) throw new UsageError("--private needs at least one other node: --nodes 1");
  const old = await findRun(name);
  if (old !== undefined) await sweepRun(old);
  const options = { name, persistent: true };
  const cluster: ControlPlane =
    cloudNodes === 0
      ? await startControlPlane({ ...options, controllerManager: true })
      : await startCluster({ ...options, cloudNodes, privateNodes });
  console.log(`cluster ${name} is up: ${cloudNodes} nodes, ${privateNodes} private nodes, ${cluster.url}`);
  console.log(`export KUBECONFIG=${cluster.kubeconfig}`);
  return 0;
}

async function down(defaultedName: string, args: readonly string[]): Promise<number> {
  const { values } = parse(args, { all: { type: "boolean" }, name: { type: "string" } });
  await sweepAbandoned();
  const name = values.name ?? defaultedName;
  const runs = (await listRuns()).filter((run) => (values.all === true ? run.owner === undefined : run.name === name));
  for (const run of runs) {
    await sweepRun(run);
    console.log(`cluster ${run.name} is gone`);
  }
  if (runs.length === 0) console.log(values.all === true ? "there is no cluster" : `there is no cluster ${name}`);
  return 0;
}

async function tool(name: string, command: readonly string[], args: readonly string[]): Promise<number> {
  const run = await existing(name);
  const child = Bun.spawn([...command, "--kubeconfig", join(run.folder, "kubeconfig"), ...args], {
    stdio: ["inherit", "inherit", "inherit"],
  });
  return child.exited;
}

async function load(name: string, args: readonly string[]): Promise<number> {
  const [archive] = args;
  if (archive === undefined || args.length !== 1) throw new UsageError("load takes one file");
  const folder = join((await existing(name)).folder, "nodes");
  const nodes = await readdir(folder).catch(() => []);
  await Promise.all(nodes.map((node) => ctr(join(folder, node, "run/containerd.sock"), ["images", "import", archive])));
  return 0;
}

async function list(): Promise<number> {
  for (const run of await listRuns()) {
    const owner = run.owner === undefined ? "until taken down" : `until process ${run.owner.pid} ends`;
    console.log(`${run.name}\t${run.folder}\t${owner}`);
  }
  return 0;
}

async function existing(name: string): Promise<Run> {
  const run = await findRun(name);
  if (run === undefined) throw new UsageError(`there is no cluster ${name}: scripts/cluster up --name ${name}`);
  return run;
}

type FlagTypes = Record<string, { type: "string" | "boolean" }>;

function parse<T extends FlagTypes>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function count(flag: string, value: string): number {
  if (!/^\d{1,2}$/.test(value) || Number(value) > maxNodes) {
    throw new UsageError(`${flag}: ${JSON.stringify(value)} is not a whole number from 0 to ${maxNodes}`);
  }
  return Number(value);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`scripts/cluster: ${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
