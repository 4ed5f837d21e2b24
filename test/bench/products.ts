import { join } from "node:path";
import { ProgramError, type Running, start } from "./process.ts";
import type { Described } from "./rows.ts";
import type { Site } from "./site.ts";

/** Something that carries a consumer's connection to the backend. */
export interface Product extends Described {
  /** Starts both sides; they may not be ready yet. */
  start(site: Site): Promise<Endpoints>;
}

export interface Endpoints {
  /** Where consumers connect. */
  consumers: string;
  /** Where one side connects to the other; absent where nobody has to know it. */
  between?: string;
  /** The programs of the two sides; none for the direct connection. */
  server?: Running;
  client?: Running;
}

/** Both sides know it in every product that has authentication, because ours never runs without. */
export const secret = "0123456789abcdef0123456789abcdef";

export const direct: Product = {
  name: "direct",
  encrypted: false,
  ours: false,
  start: async (site) => ({ consumers: site.backend }),
};

export function bore(executable: string): Product {
  return {
    name: "bore",
    encrypted: false,
    ours: false,
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

/** Waits until a log file holds `text`. */
async function logged(file: string, text: string): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await Bun.file(file).text()).includes(text)) {
    if (Date.now() > deadline) throw new ProgramError(`"${text}" did not appear in ${file}`);
    await Bun.sleep(20);
  }
}

export function log(folder: string, name: string): string {
  return join(folder, `${name}.log`);
}

function splitAddress(address: string): [host: string, port: string] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon), address.slice(colon + 1)];
}
