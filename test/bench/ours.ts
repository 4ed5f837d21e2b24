import { parseHostPort } from "../../src/endpoint.ts";
import { startRelay } from "../support/relay.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { loopbackSite } from "./link.ts";
import { ProgramError, runToEnd, start } from "./process.ts";
import { type Endpoints, log, type Product, secret } from "./products.ts";
import type { Place, Site } from "./site.ts";

/** An executable of ours, and the environment it runs in. */
export interface Build {
  name: string;
  executable: string;
  environment: Record<string, string>;
}

/** Milliseconds until the pair that is looked into has to carry something. */
const patience = 10_000;

/** A build of ours; the encrypted one has the name with `-tls`, and does not start before it has been seen to encrypt. */
export function netaminity(build: Build, encrypted: boolean): Product {
  const product = { name: encrypted ? `${build.name}-tls` : build.name, encrypted, ours: true };
  if (!encrypted) return { ...product, start: (site) => startPair(product.name, build, site, []) };
  let proof: Promise<void> | undefined;
  return {
    ...product,
    async start(site) {
      proof ??= proveEncryption(build, site.folder);
      await proof;
      return await startPair(product.name, build, site, ["--encryption", "required"]);
    },
  };
}

/** Whether both roles of an executable can be told to encrypt. */
export async function knowsEncryption(executable: string): Promise<boolean> {
  const helps = await Promise.all(["proxy", "target"].map((role) => runToEnd([executable, role, "--help"], 30)));
  return helps.every((help) => /^\s*--encryption\b/m.test(help));
}

/** Addresses of a pair; `through` leads to `rendezvous`. */
interface Addresses {
  rendezvous: string;
  through: string;
  consumers: string;
}

async function startPair(name: string, build: Build, site: Site, flags: readonly string[]): Promise<Endpoints> {
  const addresses = await chooseAddresses(site);
  return runPair(name, build, site, flags, { ...addresses, through: addresses.rendezvous });
}

async function chooseAddresses({ server, port }: Site): Promise<Omit<Addresses, "through">> {
  const free = async () => `${server.address}:${await port(server)}`;
  return { rendezvous: await free(), consumers: await free() };
}

function runPair(
  name: string,
  { executable, environment }: Build,
  { server, client, backend, folder }: Site,
  flags: readonly string[],
  { rendezvous, through, consumers }: Addresses,
) {
  const settings = { ...environment, NETAMINITY_SECRET: secret };
  const run = (side: string, { enter, address }: Place, role: readonly string[]) =>
    start(
      `${name} ${side}`,
      [...enter, executable, ...role, "--health-listen", `${address}:0`, ...flags],
      log(folder, `${name}-${side}`),
      settings,
    );
  return {
    consumers,
    between: rendezvous,
    server: run("proxy", server, ["proxy", "--listen", rendezvous, "--consumer-listen", consumers]),
    client: run("target", client, ["target", "--proxy-endpoint", through, "--endpoint", backend]),
  };
}

/**
 * Sends a word through a pair on loopback and looks for it between proxy and target: numbers of a tunnel that only says that it
 * encrypts would be worth nothing. Rejects with ProgramError when it is there, or when the build cannot be told to encrypt.
 */
async function proveEncryption(build: Build, folder: string): Promise<void> {
  if (!(await knowsEncryption(build.executable))) throw new ProgramError("this build has no --encryption");
  await using backend = await listenEcho();
  const site = { ...(await loopbackSite("127.0.0.1", folder)), backend: `127.0.0.1:${backend.port}` };
  const addresses = await chooseAddresses(site);
  await using relay = await startRelay(hostPort(addresses.rendezvous));
  const heard: Record<string, Buffer[]> = {};
  relay.tap = (link, direction, chunk) => {
    const way = `${relay.links.indexOf(link)} ${direction}`;
    heard[way] = [...(heard[way] ?? []), Buffer.from(chunk)];
  };
  const through = `${relay.host}:${relay.port}`;
  const pair = runPair(`${build.name}-proof`, build, site, ["--encryption", "required"], { ...addresses, through });
  await using _proxy = pair.server;
  await using _target = pair.client;
  const word = crypto.randomUUID();
  await sendThrough(hostPort(addresses.consumers).port, word);
  const readable = Object.values(heard).some((chunks) => Buffer.concat(chunks).includes(word));
  if (readable) throw new ProgramError("this build does not encrypt: a stream could be read between proxy and target");
}

/** Sends a word to the echo behind a tunnel, as soon as the tunnel carries it: consumers that come before are reset. */
async function sendThrough(port: number, word: string): Promise<void> {
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    await using consumer = await connectTcp(port).catch(() => undefined);
    await consumer?.send(word).catch(() => {});
    await consumer?.until((one) => one.closed || one.received >= word.length, "the word comes back", patience);
    if ((consumer?.received ?? 0) >= word.length) return;
    await Bun.sleep(100);
  }
  throw new ProgramError("the encrypted pair carries nothing");
}

function hostPort(text: string): { host: string; port: number } {
  const address = parseHostPort(text);
  if (address === undefined) throw new ProgramError(`no address: ${text}`);
  return address;
}
