/** What the doctor finds out by hand, from the proxies that a target may meet. */
import { expect, test } from "bun:test";
import { examineByHand } from "../../src/doctor/examine-by-hand.ts";
import type { HostPort } from "../../src/endpoint.ts";
import { startBoreServer } from "../support/bore.ts";
import { goodSecret } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";

/** What the steps gave, or `failed`. */
async function stepsAt(proxyEndpoint: HostPort, secret: string) {
  const { proxy } = await examineByHand({ proxyEndpoint, endpoint: undefined, secret });
  const steps = [proxy?.tcp, proxy?.protocol, proxy?.secret];
  return steps.slice(1).map((step) => (step === undefined ? "not tried" : "gave" in step ? step.gave : step.failed));
}

test("a stock bore server is known, and its secret tried, without asking it for a port", async () => {
  await using server = await startBoreServer();
  expect(await stepsAt(server.rendezvous, goodSecret)).toEqual(["bore", { objection: undefined }]);
  expect(await stepsAt(server.rendezvous, "another")).toEqual(["bore", { objection: "invalid secret" }]);
  expect(server.process.log.text()).not.toContain("new client");
});

test("both secrets of a rotation are accepted by a proxy that has both", async () => {
  await using proxy = await compiled.startProxy({ secrets: ["new", "old"] });
  expect(await stepsAt(proxy.rendezvous, "new")).toEqual(["netaminity", { objection: undefined }]);
  expect(await stepsAt(proxy.rendezvous, "old")).toEqual(["netaminity", { objection: undefined }]);
  expect(await stepsAt(proxy.rendezvous, "older")).toEqual(["netaminity", { objection: "invalid secret" }]);
});

test("a server that accepts and says nothing is given up within the handshake's deadline", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  expect(await stepsAt({ host: "127.0.0.1", port: silent.port }, goodSecret)).toEqual([
    "the proxy did not answer in time",
    "not tried",
  ]);
});
