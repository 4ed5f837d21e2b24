/** etcd, kube-apiserver and, when asked, kube-controller-manager and kube-scheduler as processes of this machine. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { accessOf } from "./access.ts";
import { type Addresses, addressesOf, ports } from "./addresses.ts";
import { type ApiClient, createApiClient } from "./api-client.ts";
import { type Binaries, binaries } from "./binaries.ts";
import {
  type Certificate,
  type CertificateAuthority,
  createCertificateAuthority,
  createSigningKey,
  issueCertificate,
} from "./certificates.ts";
import type { RunOptions } from "./command.ts";
import { apiServerCommand, controllerManagerCommand, etcdCommand, schedulerCommand } from "./control-plane-flags.ts";
import { type Daemon, killProcesses, sendSignal, startDaemon, untilUp } from "./daemon.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { claimRun, type Run } from "./run-folder.ts";
import { sweepAbandoned, sweepRun } from "./sweep.ts";

export interface ControlPlaneOptions {
  /** Default: a name of this process's own. A name that is in use is an error. */
  readonly name?: string;
  /** Start kube-controller-manager: owner deletion, Deployments, EndpointSlices, ServiceAccounts. Default false. */
  readonly controllerManager?: boolean;
  /** Start kube-scheduler. Default false. */
  readonly scheduler?: boolean;
  /** Nodes will join: listen on the bridge's address, which must exist already. Set by startCluster. */
  readonly hasNodes?: boolean;
  /** Keep running after this process: for `scripts/cluster up`. Default false. */
  readonly persistent?: boolean;
  /** Called after the run's number is known and before the API server starts: startCluster makes the bridge here. */
  readonly prepare?: (run: Run) => Promise<void>;
}

export interface ControlPlane extends AsyncDisposable {
  readonly name: string;
  readonly run: Run;
  readonly addresses: Addresses;
  /** Such as `https://127.30.0.1:26443`. */
  readonly url: string;
  /** Certificate of the cluster's authority, PEM. */
  readonly ca: string;
  readonly caFile: string;
  /** Kubeconfig file of a cluster administrator. */
  readonly kubeconfig: string;
  readonly authority: CertificateAuthority;
  /** JSON client of the administrator. */
  readonly api: ApiClient;
  /** Runs `kubectl ARGS` as administrator (or with another kubeconfig) and gives its output. */
  kubectl(args: readonly string[], options?: RunOptions & { readonly kubeconfig?: string }): Promise<string>;
  /** Runs `helm ARGS` as administrator and gives its output. */
  helm(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Server-side applies objects or a YAML text as administrator. */
  apply(manifest: string | readonly object[]): Promise<void>;
  /** Makes a namespace and, where no controller does it, its ServiceAccount `default`, without which no pod can be created. */
  createNamespace(name: string, labels?: Readonly<Record<string, string>>): Promise<void>;
  /** A token of a ServiceAccount (TokenRequest). Seconds: at least 600, default 3600. */
  token(namespace: string, serviceAccount: string, seconds?: number): Promise<string>;
  /** Makes the ServiceAccount when it is missing and writes a kubeconfig that holds a token of it; gives the file. */
  serviceAccountKubeconfig(namespace: string, serviceAccount: string): Promise<string>;
  /** Kills the API server; etcd keeps the data. */
  stopApiServer(): Promise<void>;
  /** Starts it again (same address, same data) and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Freezes the API server: connections stay open and nothing answers. */
  pauseApiServer(): void;
  resumeApiServer(): void;
  /** Starts one of these again after it was stopped, or for the first time. */
  startController(name: ControllerName): Promise<void>;
  stopController(name: ControllerName): Promise<void>;
  /** Output of a process so far: `etcd`, `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`. */
  log(daemon: string): Promise<string>;
  /** Ends everything and removes the run's folder. Also what `await using` calls. */
  stop(): Promise<void>;
}

export type ControllerName = "kube-controller-manager" | "kube-scheduler";

let started = 0;

/** A name that no other process uses. */
function ownName(): string {
  started += 1;
  return `run-${process.pid}-${started}`;
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  await sweepAbandoned();
  const programs = await binaries();
  const run = await claimRun(options.name ?? ownName(), { persistent: options.persistent ?? false });
  try {
    await options.prepare?.(run);
    const plane = await createPlane(run, programs, options);
    await plane.startApiServer();
    const controllers: ControllerName[] = [];
    if (options.controllerManager) controllers.push("kube-controller-manager");
    if (options.scheduler) controllers.push("kube-scheduler");
    await Promise.all(controllers.map((name) => plane.startController(name)));
    return plane;
  } catch (error) {
    await sweepRun(run);
    throw error;
  }
}

interface Identities {
  readonly authority: CertificateAuthority;
  readonly admin: Certificate;
}

async function createIdentities(run: Run, addresses: Addresses): Promise<Identities> {
  const authority = await createCertificateAuthority(join(run.folder, "pki"));
  const serviceNames = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  const [admin] = await Promise.all([
    issueCertificate(authority, "admin", { commonName: "admin", organization: "system:masters" }),
    issueCertificate(authority, "apiserver", {
      commonName: "kube-apiserver",
      organization: "system:masters",
      names: [
        ...["localhost", ...serviceNames, "kubernetes.default.svc.cluster.local"].map((name) => `DNS:${name}`),
        ...[addresses.apiServer, addresses.kubernetesService, "127.0.0.1"].map((address) => `IP:${address}`),
      ],
    }),
    createSigningKey(authority.folder),
  ]);
  return { authority, admin };
}

async function createPlane(run: Run, programs: Binaries, options: ControlPlaneOptions): Promise<ControlPlane> {
  const addresses = addressesOf(run.index, options.hasNodes ?? false);
  const url = `https://${addresses.apiServer}:${ports.apiServer}`;
  const daemons = new Map<string, Daemon>();
  const start = async (name: string, command: readonly string[]): Promise<Daemon> => {
    const daemon = await startDaemon(run, name, command);
    daemons.set(name, daemon);
    return daemon;
  };
  await mkdir(join(run.folder, "kubeconfigs"), { recursive: true });
  await start("etcd", etcdCommand(programs, run, addresses));
  const { authority, admin } = await createIdentities(run, addresses);
  const kubeconfig = await writeKubeconfig(join(run.folder, "kubeconfig"), {
    url,
    ca: authority.certificate,
    user: admin,
    contextName: run.name,
  });
  const api = createApiClient(url, authority.certificate, admin);
  const pidOf = (name: string): number => {
    const daemon = daemons.get(name);
    if (daemon === undefined) throw new Error(`${name} is not running`);
    return daemon.pid;
  };
  const stopDaemon = async (name: string): Promise<void> => {
    await killProcesses([pidOf(name)]);
    daemons.delete(name);
  };

  const plane: ControlPlane = {
    ...{ name: run.name, run, addresses, url, kubeconfig, authority, api },
    ...{ ca: authority.certificate, caFile: authority.certificateFile },
    ...accessOf({
      run,
      programs,
      url,
      kubeconfig,
      api,
      authority,
      controllerManager: options.controllerManager ?? false,
    }),
    async startApiServer() {
      const daemon = await start("kube-apiserver", apiServerCommand(programs, run, addresses, options));
      await untilUp("kube-apiserver ready", daemon, async () => {
        await api.request("/readyz");
        // A hook of the API server makes it, and readyz does not wait for that.
        await api.request("/api/v1/namespaces/default");
      });
    },
    stopApiServer: () => stopDaemon("kube-apiserver"),
    pauseApiServer: () => sendSignal(pidOf("kube-apiserver"), "SIGSTOP"),
    resumeApiServer: () => sendSignal(pidOf("kube-apiserver"), "SIGCONT"),
    async startController(name) {
      const command = name === "kube-scheduler" ? schedulerCommand : controllerManagerCommand;
      await start(name, command(programs, run, addresses, kubeconfig));
    },
    stopController: stopDaemon,
    log: (name) => readFile(join(run.folder, "logs", `${name}.log`), "utf8"),
    stop: () => sweepRun(run),
    [Symbol.asyncDispose]: () => sweepRun(run),
  };
  return plane;
}
