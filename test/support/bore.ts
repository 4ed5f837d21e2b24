import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { HostPort } from "../../src/endpoint.ts";
import { rendezvousPort } from "../../src/names.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { connectTcp } from "./tcp-ends.ts";
import { eventually } from "./tcp-wait.ts";
import { goodSecret, type Implementation, type TunnelKind, untilReady } from "./tunnel.ts";

const root = join(import.meta.dir, "../..");
const boreVersion = "0.6.0";

/** Path of a real bore 0.6.0: cached, else taken from the tools beside the repository, else built by cargo. */
async function findBore(): Promise<string> {
  const cached = join(root, ".cache/bin/bore");
  if (existsSync(cached)) return cached;
  await mkdir(join(root, ".cache/bin"), { recursive: true });
  const shared = join(root, "../shared/bin/bore");
  const copy = `${cached}.${process.pid}`;
  if (existsSync(shared)) {
    await copyFile(shared, copy);
  } else {
    const cargoRoot = join(root, ".cache/cargo");
    const build = startProcess([
      "cargo",
      "install",
      "--locked",
      "--root",
      cargoRoot,
      "--version",
      boreVersion,
      "bore-cli",
    ]);
    const ending = await build.exited(600_000);
    if (ending !== 0) throw new Error(`cargo could not build bore ${boreVersion}:\n${build.log.text()}`);
    await copyFile(join(cargoRoot, "bin/bore"), copy);
  }
  await chmod(copy, 0o755);
  await rename(copy, cached);
  return cached;
}

let lastAddress = 0;

/** A loopback address that nothing else of this machine uses: bore's rendezvous port is fixed, so the address has to differ. */
export function ownLoopbackAddress(): string {
  lastAddress += 1;
  return `127.${64 + (process.pid % 128)}.${(process.pid >> 7) % 256}.${1 + (lastAddress % 250)}`;
}

export interface BoreOptions {
  secret?: string;
}

/** `bore local`: forwards consumers of the server at `proxyHost` (port 7835) to a backend on 127.0.0.1. */
export async function startBoreLocal(
  proxyHost: string,
  backend: HostPort,
  options: BoreOptions = {},
): Promise<RunningProcess> {
  const command = [await findBore(), "local", String(backend.port), "--local-host", backend.host, "--to", proxyHost];
  return startProcess(command, { BORE_SECRET: options.secret ?? goodSecret, NO_COLOR: "1" });
}

export interface BoreServer extends AsyncDisposable {
  readonly rendezvous: HostPort;
  readonly process: RunningProcess;
}

/** `bore server` on its own loopback address. */
export async function startBoreServer(options: BoreOptions = {}, host = ownLoopbackAddress()): Promise<BoreServer> {
  const command = [await findBore(), "server", "--bind-addr", host, "--bind-tunnels", host];
  const server = startProcess(command, { BORE_SECRET: options.secret ?? goodSecret, NO_COLOR: "1" });
  await eventually(
    async () => {
      await using probe = await connectTcp(rendezvousPort, { host }).catch(() => undefined);
      return probe !== undefined;
    },
    () => `bore server listens on ${host}; its log:\n${server.log.text()}`,
  );
  return {
    rendezvous: { host, port: rendezvousPort },
    process: server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A stock bore client at our proxy. */
export function boreClientAt(implementation: Implementation): TunnelKind {
  return {
    name: `bore local at the proxy ${implementation.name}`,
    carriesReset: false,
    open: async (options) => {
      await using stack = new AsyncDisposableStack();
      const host = ownLoopbackAddress();
      const proxy = stack.use(await implementation.startProxy({ ...options, host, rendezvousPort }));
      const secret = options.secrets?.[0] ?? goodSecret;
      stack.use(await startBoreLocal(host, options.backend, { secret }));
      await untilReady(proxy);
      const owned = stack.move();
      return {
        consumers: proxy.consumers,
        rendezvous: proxy.rendezvous,
        proxy,
        target: undefined,
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      };
    },
  };
}

/** Our target at a stock bore server. */
export function boreServerFor(implementation: Implementation): TunnelKind {
  return {
    name: `the target ${implementation.name} at bore server`,
    carriesReset: false,
    open: async (options) => {
      await using stack = new AsyncDisposableStack();
      const server = stack.use(await startBoreServer({ secret: options.secrets?.[0] ?? goodSecret }));
      const target = stack.use(await implementation.startTarget({ ...options, proxy: server.rendezvous, borePort: 0 }));
      await untilReady(target);
      const consumers = { host: server.rendezvous.host, port: await target.boundPort() };
      const owned = stack.move();
      return {
        consumers,
        rendezvous: server.rendezvous,
        proxy: undefined,
        target,
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      };
    },
  };
}
