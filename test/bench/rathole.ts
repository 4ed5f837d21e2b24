import { join } from "node:path";
import { makeCertificate } from "./certificate.ts";
import { ProgramError, runToEnd, start } from "./process.ts";
import { log, type Product, secret } from "./products.ts";

/** Tables of rathole's configuration for the two sides, in TOML. */
interface Transport {
  server: string;
  client: string;
}

/** rathole without encryption. */
export function rathole(executable: string): Product {
  return ratholeWith("rathole", executable, async () => ({ server: "", client: "" }));
}

/** rathole with TLS; `openssl` makes its certificate. */
export function ratholeTls(executable: string, openssl: string): Product {
  return ratholeWith("rathole-tls", executable, async (folder) => {
    const { name, certificate, archive, password } = await makeCertificate(openssl, folder);
    return {
      server: table("server", "tls", { pkcs12: archive, pkcs12_password: password }),
      client: table("client", "tls", { trusted_root: certificate, hostname: name }),
    };
  });
}

/** rathole with the Noise protocol; the client knows the server's public key. */
export function ratholeNoise(executable: string): Product {
  return ratholeWith("rathole-noise", executable, async () => {
    const keys = noiseKeys(await runToEnd([executable, "--genkey"], 30));
    return {
      server: table("server", "noise", { local_private_key: keys.secret }),
      client: table("client", "noise", { remote_public_key: keys.known }),
    };
  });
}

function table(side: string, type: string, entries: Record<string, string>): string {
  const settings = Object.entries(entries).map(([key, value]) => `${key} = "${value}"\n`);
  return `[${side}.transport]\ntype = "${type}"\n[${side}.transport.${type}]\n${settings.join("")}`;
}

/** The key pair in what `rathole --genkey` prints. Throws ProgramError when it is not there. */
export function noiseKeys(text: string): { secret: string; known: string } {
  const [secret, known] = ["Private", "Public"].map(
    (kind) => new RegExp(`^${kind} Key:\\s*(\\S+)$`, "m").exec(text)?.[1],
  );
  if (secret === undefined || known === undefined) throw new ProgramError("rathole --genkey printed no key pair");
  return { secret, known };
}

function ratholeWith(name: string, executable: string, transport: (folder: string) => Promise<Transport>): Product {
  return {
    name,
    encrypted: name !== "rathole",
    ours: false,
    async start({ server, client, backend, folder, port }) {
      const rendezvous = `${server.address}:${await port(server)}`;
      const consumers = `${server.address}:${await port(server)}`;
      const tables = await transport(folder);
      const run = async (side: "server" | "client", enter: readonly string[], text: string) => {
        const file = join(folder, `${name}-${side}.toml`);
        await Bun.write(file, text);
        return start(`${name} --${side}`, [...enter, executable, `--${side}`, file], log(folder, `${name}-${side}`));
      };
      const token = `default_token = "${secret}"\n`;
      return {
        consumers,
        between: rendezvous,
        server: await run(
          "server",
          server.enter,
          `[server]\nbind_addr = "${rendezvous}"\n${token}${tables.server}[server.services.bench]\nbind_addr = "${consumers}"\n`,
        ),
        client: await run(
          "client",
          client.enter,
          `[client]\nremote_addr = "${rendezvous}"\n${token}${tables.client}[client.services.bench]\nlocal_addr = "${backend}"\n`,
        ),
      };
    },
  };
}
