import { join } from "node:path";
import { makeCertificate } from "./certificate.ts";
import { start } from "./process.ts";
import { log, type Product } from "./products.ts";

/** Words of HAProxy's configuration that are added where the first one connects and where the second one listens. */
interface Wrapping {
  connect: string;
  listen: string;
}

/** Two plain TCP relays in a row; no tunnel, but the best that relaying twice through user space can be. */
export function haproxy(executable: string): Product {
  return relays("haproxy", executable, async () => ({ connect: "", listen: "" }));
}

/** The same with TLS between the two; `openssl` makes the certificate, and the first one checks it. */
export function haproxyTls(executable: string, openssl: string): Product {
  return relays("haproxy-tls", executable, async (folder) => {
    const { name, certificate, bundle } = await makeCertificate(openssl, folder);
    return {
      connect: ` ssl verify required ca-file ${certificate} verifyhost ${name} sni str(${name})`,
      listen: ` ssl crt ${bundle}`,
    };
  });
}

function relays(name: string, executable: string, wrap: (folder: string) => Promise<Wrapping>): Product {
  return {
    name,
    encrypted: name !== "haproxy",
    ours: false,
    async start({ server, client, backend, folder, port }) {
      const consumers = `${server.address}:${await port(server)}`;
      const middle = `${client.address}:${await port(client)}`;
      const wrapping = await wrap(folder);
      const relay = async (side: string, enter: readonly string[], from: string, to: string) => {
        const file = join(folder, `${name}-${side}.cfg`);
        await Bun.write(file, configuration(from, to));
        return start(`${name}-${side}`, [...enter, executable, "-db", "-f", file], log(folder, `${name}-${side}`));
      };
      return {
        consumers,
        between: middle,
        server: await relay("server", server.enter, consumers, middle + wrapping.connect),
        client: await relay("client", client.enter, middle + wrapping.listen, backend),
      };
    },
  };
}

function configuration(from: string, to: string): string {
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
