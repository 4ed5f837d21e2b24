#!/usr/bin/env bun
/** The story that `scripts/demo` tells; it fails when something does not happen as told. */

import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatHostPort, type HostPort } from "../src/endpoint.ts";
import { endOfConnection, exchange, openConnection, startEchoBackend } from "./demo-echo.ts";
import {
  type Actor,
  chapter,
  endpointField,
  must,
  readiness,
  samples,
  startActor,
  startWebBackend,
  tell,
} from "./demo-stage.ts";

const started = performance.now();
const secretBytes = 32;
const transferBytes = 32 * 1024 * 1024;

async function main(): Promise<void> {
  await using stage = new AsyncDisposableStack();
  const folder = stage.use(await mkdtempDisposable(join(tmpdir(), "netaminity-demo-")));
  const secretFile = join(folder.path, "secret");
  await Bun.write(secretFile, crypto.getRandomValues(new Uint8Array(secretBytes)).toBase64());

  chapter("Two backends in a network that nobody can enter");
  const web = stage.use(startWebBackend()).endpoint;
  const echo = stage.use(await startEchoBackend()).endpoint;
  tell(`a web server on ${formatHostPort(web)} and a plain TCP echo on ${formatHostPort(echo)}`);

  const startProxy = (name: string) =>
    startActor(name, ["proxy", "--listen", "127.0.0.1:0", "--consumer-listen", "127.0.0.1:0"], secretFile);
  const startTarget = (name: string, rendezvous: HostPort, backend: HostPort) =>
    startActor(
      name,
      ["target", "--proxy-endpoint", formatHostPort(rendezvous), "--endpoint", formatHostPort(backend)],
      secretFile,
    );

  chapter("A proxy, where the consumers are");
  const proxy = stage.use(await startProxy("proxy"));
  const rendezvous = endpointField(proxy.listening, "rendezvous");
  const consumers = endpointField(proxy.listening, "consumers");
  proxy.tellLog();
  await tellReadiness("proxy", proxy, "503 no target is attached");
  tell(`a consumer that comes too early is not kept waiting: its connection is ${await endOfConnection(consumers)}`);

  chapter("A target, where the web server is: it only dials out");
  const target = stage.use(await startTarget("target", rendezvous, web));
  await target.process.log.first("session up");
  await proxy.process.log.first("session up");
  tellLogs(proxy, target);
  await tellReadiness("proxy", proxy, "200 ready");
  await tellReadiness("target", target, "200 ready");

  chapter("Requests through the tunnel");
  for (const path of ["/hello", "/again", "/and-again"]) {
    await request(consumers, path);
  }
  // The proxy's first stream is the consumer that came too early.
  await proxy.process.log.first("stream ended", { stream: 4 });
  await target.process.log.first("stream ended", { stream: 3 });
  tellLogs(proxy, target);

  chapter("A second tunnel: 32 MiB to the echo and back, with a half-close");
  const echoProxy = stage.use(await startProxy("proxy-2"));
  const echoTarget = stage.use(await startTarget("target-2", endpointField(echoProxy.listening, "rendezvous"), echo));
  await echoProxy.process.log.first("session up");
  await transfer(endpointField(echoProxy.listening, "consumers"), echo);
  await echoProxy.process.log.first("stream ended");
  await echoTarget.process.log.first("stream ended");
  tellLogs(echoProxy, echoTarget);

  chapter("The target dies (kill -9) and another one comes");
  const successor = stage.use(await replace(target, proxy, () => startTarget("target", rendezvous, web), consumers));

  chapter("What the proxy counted");
  for (const sample of await samples(proxy, ["netaminity_streams", "netaminity_sessions", "netaminity_stream_bytes"])) {
    tell(sample);
  }

  chapter("A clean end: running streams may finish");
  await drain(echoProxy, endpointField(echoProxy.listening, "consumers"));
  for (const [name, actor] of Object.entries({ successor, proxy, echoTarget })) {
    actor.process.signal("SIGTERM");
    must((await actor.process.exited()) === 0, `${name} did not exit with 0`);
  }
  tell("target, proxy and target-2 got SIGTERM too and exited with 0");
  console.log(`\nAll as told, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

function tellLogs(...actors: readonly Actor[]): void {
  for (const actor of actors) {
    actor.tellLog();
  }
}

async function tellReadiness(name: string, actor: Actor, expected: string): Promise<void> {
  const answer = await readiness(actor);
  tell(`GET /readyz of the ${name}: ${answer}`);
  must(answer === expected, `expected was ${expected}`);
}

async function request(consumers: HostPort, path: string): Promise<void> {
  const begun = performance.now();
  const response = await fetch(`http://${formatHostPort(consumers)}${path}`, { headers: { connection: "close" } });
  const body = await response.text();
  const milliseconds = (performance.now() - begun).toFixed(1);
  tell(`GET http://${formatHostPort(consumers)}${path}: ${response.status} ${body} after ${milliseconds} ms`);
  must(response.status === 200 && body.includes(`"${path}"`), "the answer is not the web server's");
}

async function transfer(consumers: HostPort, echo: HostPort): Promise<void> {
  // A repeated block of a length that is no power of two: a piece in the wrong place would not go unnoticed.
  const bytes = Buffer.alloc(transferBytes, crypto.getRandomValues(new Uint8Array(65_521)));
  const through = await timedExchange(consumers, bytes);
  const direct = await timedExchange(echo, bytes);
  tell("sent 32 MiB, then FIN; after it all of them came back, with the same SHA-256");
  tell(`${through} s through the tunnel, ${direct} s on a direct connection (the echo is slow itself)`);
}

async function timedExchange(endpoint: HostPort, bytes: Uint8Array): Promise<string> {
  const begun = performance.now();
  const back = await exchange(await openConnection(endpoint), bytes);
  const seconds = ((performance.now() - begun) / 1000).toFixed(2);
  const digest = (data: Uint8Array) => Bun.SHA256.hash(data, "hex");
  must(digest(bytes) === digest(back), "the bytes that came back are others");
  return seconds;
}

async function replace<Next extends Actor>(
  target: Actor,
  proxy: Actor,
  start: () => Promise<Next>,
  consumers: HostPort,
): Promise<Next> {
  target.process.signal("SIGKILL");
  await target.process.exited();
  await proxy.process.log.first("session lost");
  proxy.tellLog();
  await tellReadiness("proxy", proxy, "503 no target is attached");
  const begun = performance.now();
  const successor = await start();
  await successor.process.log.first("session up");
  tell(`its session was up ${Math.round(performance.now() - begun)} ms after its start`);
  await request(consumers, "/still-there");
  tellLogs(proxy, successor);
  return successor;
}

async function drain(proxy: Actor, consumers: HostPort): Promise<void> {
  const running = await openConnection(consumers);
  running.write("first half, ");
  await new Promise((resolve) => running.once("data", resolve));
  tell("a consumer of the echo is in the middle of its exchange when proxy-2 gets SIGTERM");
  proxy.process.signal("SIGTERM");
  await proxy.process.log.first("draining");
  await tellReadiness("proxy", proxy, "503 draining");
  const rest = Buffer.from(await exchange(running, Buffer.from("second half"))).toString();
  tell(`the consumer goes on: it sends the rest and gets "${rest}"`);
  must(rest === "second half", "the stream was cut");
  must((await proxy.process.exited()) === 0, "the proxy did not exit with 0");
  proxy.tellLog();
  tell("proxy-2 exited with 0");
}

await main();
