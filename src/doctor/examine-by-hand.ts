import { connectFirst, dialTimeout } from "../agent/net/dial.ts";
import { resolve } from "../agent/net/names.ts";
import { wayOut } from "../agent/net/way.ts";
import { offeredEncryption } from "../agent/protocol/challenge.ts";
import { type Greeting, greet, instanceOf } from "../agent/target/attach.ts";
import { formatHostPort, type HostPort } from "../endpoint.ts";
import { errorText } from "../errors.ts";
import { suspicionOf } from "../secret-text.ts";
import { type Via, viaText } from "../via.ts";
import type { ByHandFacts, SecretAnswer, Step } from "./by-hand-checks.ts";
import { objectionToSecret } from "./prove-secret.ts";

/** Tries what a target run by hand would do, step by step; each has the deadline that it has there. Opens no session. */
export async function examineByHand(options: {
  proxyEndpoint: HostPort | undefined;
  /** The HTTP proxy that leads there. */
  via?: Via | undefined;
  /** The variable that names an HTTP proxy which other programs would use. */
  variable?: string | undefined;
  endpoint: HostPort | undefined;
  secret: string | undefined;
  /** What the target is set to. */
  encryption?: "off" | "required";
}): Promise<ByHandFacts> {
  const { proxyEndpoint, via, variable, endpoint, secret, encryption = "off" } = options;
  const [proxy, backend] = await Promise.all([
    proxyEndpoint && examineProxy(proxyEndpoint, via, secret),
    endpoint && examineBackend(endpoint),
  ]);
  const detour = { ...(via !== undefined && { via: viaText(via) }), ...(variable !== undefined && { variable }) };
  return {
    ...(proxy !== undefined && { proxy: { ...proxy, ...detour, encryption } }),
    ...(backend !== undefined && { backend }),
  };
}

async function examineProxy(
  to: HostPort,
  via: Via | undefined,
  secret: string | undefined,
): Promise<Omit<NonNullable<ByHandFacts["proxy"]>, "encryption">> {
  const endpoint = formatHostPort(to);
  const way = wayOut(via);
  const name = await step(() => way.resolve(to.host, dialTimeout));
  if ("failed" in name) return { endpoint, name };
  const wire = await step(() => connectFirst(name.gave, to.port, dialTimeout, way));
  if ("failed" in wire) return { endpoint, name, tcp: wire };
  const tcp: Step<string> = { gave: formatHostPort(wire.gave.remote) };
  const greeting = await step(() => greet(wire.gave));
  if ("failed" in greeting) return { endpoint, name, tcp, protocol: greeting };
  const protocol = await step(async () => void instanceOf(greeting.gave));
  if ("failed" in protocol) {
    greeting.gave.wire.reset();
    return { endpoint, name, tcp, protocol };
  }
  const offered = offeredEncryption(greeting.gave.challenge);
  if (secret === undefined) {
    greeting.gave.wire.reset();
    return { endpoint, name, tcp, protocol, offered };
  }
  return { endpoint, name, tcp, protocol, offered, secret: await showSecret(greeting.gave, secret) };
}

function showSecret(greeting: Greeting, secret: string): Promise<Step<SecretAnswer>> {
  return step(async () => {
    const answer = await objectionToSecret(greeting, secret);
    return answer === "not offered" ? answer : { ...answer, suspicion: suspicionOf(secret) };
  });
}

async function examineBackend(to: HostPort): Promise<NonNullable<ByHandFacts["backend"]>> {
  const endpoint = formatHostPort(to);
  const name = await step(() => resolve(to.host, dialTimeout));
  if ("failed" in name) return { endpoint, name };
  const wire = await step(() => connectFirst(name.gave, to.port, dialTimeout));
  if ("failed" in wire) return { endpoint, name, tcp: wire };
  const address = formatHostPort(wire.gave.remote);
  // An orderly end: a backend that logs resets has nothing to log.
  wire.gave.finish();
  return { endpoint, name, tcp: { gave: address } };
}

async function step<T>(attempt: () => Promise<T>): Promise<Step<T>> {
  try {
    return { gave: await attempt() };
  } catch (cause) {
    return { failed: errorText(cause) };
  }
}
