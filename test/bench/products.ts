import { join } from "node:path";
import { ProgramError, type Running, start } from "./process.ts";
import type { Site } from "./site.ts";

/** Something that carries a consumer's connection to the backend. */
export interface Product {
  name: string;
  /** Starts both sides; they may not be ready yet. */
  start(site: Site): Promise<Endpoints>;
}

export interface Endpoints {
  /** Where consumers connect. */
  consumers: string;
  /** The programs of the two sides; none for the direct connection. */
  server?: Running;
  client?: Running;
}

/** Both sides know it in every product that has authentication, because ours never runs without. */
const secret = "0123456789abcdef0123456789abcdef";

export const direct: Product = { name: "direct", start: async (site) => ({ consumers: site.backend }) };

export function bore(executable: string): Product {
  return {
    name: "bore",
    async start({ server, client, backend, folder, port }) {
      const consumerPort = await port(server);
      const environment = { BORE_SECRET: secret };
      const [host, backendPort] = splitAddress(backend);
      const bind = ["--bind-addr", server.address, "--bind-tunnels", server.address];
      const listening = start(
        "bore server",
        [...server.enter, executable, "server", ...bind],
        log(folder, "bore-server"),
        environment,
      );
      const local = [
        executable,
        "local",
        backendPort,
        "--local-host",
        host,
        "--to",
        server.address,
        "--port",
        String(consumerPort),
      ];
      // bore local ends when nobody listens yet.
      await logged(log(folder, "bore-server"), "server listening");
      const dialing = start("bore local", [...client.enter, ...local], log(folder, "bore-local"), environment);
      return { consumers: `${server.address}:${consumerPort}`, server: listening, client: dialing };
    },
  };
}

export function rathole(executable: string): Product {
  return {
    name: "rathole",
    async start({ server, client, backend, folder, port }) {
      const rendezvous = `${server.address}:${await port(server)}`;
      const consumers = `${server.address}:${await port(server)}`;
      const serverFile = join(folder, "rathole-server.toml");
      const clientFile = join(folder, "rathole-client.toml");
      await Bun.write(
        serverFile,
        `[server]\nbind_addr = "${rendezvous}"\ndefault_token = "${secret}"\n[server.services.bench]\nbind_addr = "${consumers}"\n`,
      );
      await Bun.write(
        clientFile,
        `[client]\nremote_addr = "${rendezvous}"\ndefault_token = "${secret}"\n[client.services.bench]\nlocal_addr = "${backend}"\n`,
      );
      return {
        consumers,
        server: start(
          "rathole --server",
          [...server.enter, executable, "--server", serverFile],
          log(folder, "rathole-server"),
        ),
        client: start(
          "rathole --client",
          [...client.enter, executable, "--client", clientFile],
          log(folder, "rathole-client"),
        ),
      };
    },
  };
}

/** Two plain TCP relays in a row; no tunnel, but the best that relaying twice through user space can be. */
export function haproxy(executable: string): Product {
  return {
    name: "haproxy",
    async start({ server, client, backend, folder, port }) {
      const consumers = `${server.address}:${await port(server)}`;
      const middle = `${client.address}:${await port(client)}`;
      const relay = async (name: string, enter: readonly string[], from: string, to: string) => {
        const file = join(folder, `${name}.cfg`);
        await Bun.write(file, haproxyConfig(from, to));
        return start(name, [...enter, executable, "-db", "-f", file], log(folder, name));
      };
      return {
        consumers,
        server: await relay("haproxy-server", server.enter, consumers, middle),
        client: await relay("haproxy-client", client.enter, middle, backend),
      };
    },
  };
}

function haproxyConfig(from: string, to: string): string {
  return `global
  maxconn 4000
defaults
  mode tcp
  timeout connect 5s
  timeout client 10m
  timeout server 10m
listen bench
  bind ${from}
  server next ${to}
`;
}

export function netaminity(name: string, executable: string, environment: Record<string, string> = {}): Product {
  return {
    name,
    async start({ server, client, backend, folder, port }) {
      const settings = { ...environment, NETAMINITY_SECRET: secret };
      const rendezvous = `${server.address}:${await port(server)}`;
      const consumers = `${server.address}:${await port(server)}`;
      const proxy = [
        executable,
        "proxy",
        "--listen",
        rendezvous,
        "--consumer-listen",
        consumers,
        "--health-listen",
        `${server.address}:0`,
      ];
      const target = [
        executable,
        "target",
        "--proxy-endpoint",
        rendezvous,
        "--endpoint",
        backend,
        "--health-listen",
        `${client.address}:0`,
      ];
      return {
        consumers,
        server: start(`${name} proxy`, [...server.enter, ...proxy], log(folder, `${name}-proxy`), settings),
        client: start(`${name} target`, [...client.enter, ...target], log(folder, `${name}-target`), settings),
      };
    },
  };
}

/** Waits until a log file holds `text`. */
async function logged(file: string, text: string): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await Bun.file(file).text()).includes(text)) {
    if (Date.now() > deadline) throw new ProgramError(`"${text}" did not appear in ${file}`);
    await Bun.sleep(20);
  }
}

function log(folder: string, name: string): string {
  return join(folder, `${name}.log`);
}

function splitAddress(address: string): [host: string, port: string] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon), address.slice(colon + 1)];
}
