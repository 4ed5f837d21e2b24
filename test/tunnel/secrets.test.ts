import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { fingerprintOf } from "../../src/fingerprint.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import {
  ask,
  type Implementation,
  metricsOf,
  type RunningProxy,
  type RunningRole,
  untilMetric,
  untilReady,
} from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";

setDefaultTimeout(60_000);

const [right, wrong] = ["the right secret of this test", "some other secret of this test"];

/** Neither a secret nor anything as long as a digest may appear. */
function expectNothingSecret(...roles: RunningRole[]): void {
  for (const { log } of roles) {
    expect(log.text()).not.toContain(right);
    expect(log.text()).not.toContain(wrong);
    expect(log.text()).not.toMatch(/[0-9a-f]{32}/);
  }
}

function wrongSecrets(implementation: Implementation): void {
  test("a target with a wrong secret says so and stays unready; the proxy logs and counts it without anything secret", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ secrets: [right] });
    await using target = await implementation.startTarget({ secrets: [wrong], proxy: proxy.rendezvous, backend });
    await untilMetric(proxy, "netaminity_auth_failures_total", {}, (count) => count >= 1);
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 1);
    expect(target.log.text()).toMatch(/secret/);
    expect(proxy.log.text()).toMatch(/secret|authenticat/);
    expect({ proxy: (await ask(proxy, "/readyz")).status, target: (await ask(target, "/readyz")).status }).toEqual({
      proxy: 503,
      target: 503,
    });
    expectNothingSecret(proxy, target);
  });

  test.each<["proxy" | "target", string, string]>([
    ["proxy", `\ufeff${right}`, "the secret of this end begins with a byte order mark"],
    ["target", `${right} `, "the secret of this end ends with a blank"],
    ["target", `${right}\n\n`, "the secret of this end ends with a second line break"],
    ["proxy", `${right}\0`, "the secret of this end contains NUL"],
  ])(
    "a refusal names what is odd about the secret of the %s, there and nowhere else (%#)",
    async (side, odd, suspicion) => {
      const nowhere = { host: "127.0.0.1", port: 9 };
      await using proxy = await implementation.startProxy({ secrets: [side === "proxy" ? odd : right] });
      await using target = await implementation.startTarget({
        secrets: [side === "target" ? odd : right],
        proxy: proxy.rendezvous,
        backend: nowhere,
      });
      const refusals = [
        await proxy.log.first("authentication failed"),
        await target.log.first("the proxy refused the session"),
      ];
      expect(refusals.map(({ fields }) => fields.suspicion)).toEqual(
        side === "proxy" ? [suspicion, undefined] : [undefined, suspicion],
      );
      expect((await ask(side === "proxy" ? proxy : target, "/readyz")).body).not.toContain(suspicion);
      expectNothingSecret(proxy, target);
    },
  );

  test("a target whose wrong secret is put right attaches without a restart", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ secrets: [right] });
    await using target = await implementation.startTarget({ secrets: [wrong], proxy: proxy.rendezvous, backend });
    await untilMetric(proxy, "netaminity_auth_failures_total", {}, (count) => count >= 1);
    await target.setSecrets([right]);
    await untilReady(target, 25_000);
    await untilReady(proxy);
    expectNothingSecret(proxy, target);
  });
}

function rotations(implementation: Implementation): void {
  /** Whether a target with these secrets is refused; a proxy reads its files about once a second. */
  async function isRefused(proxy: RunningProxy, secrets: readonly string[]): Promise<boolean> {
    const failures = async () => (await metricsOf(proxy)).sum("netaminity_auth_failures_total");
    const before = await failures();
    const nowhere = { host: "127.0.0.1", port: 9 };
    await using target = await implementation.startTarget({ secrets, proxy: proxy.rendezvous, backend: nowhere });
    const ready = async () => (await ask(target, "/readyz")).status === 200;
    await eventually(async () => (await ready()) || (await failures()) > before, "the target is accepted or refused");
    return !(await ready());
  }

  test("a secret is rotated on both ends without cutting a stream or a session", async () => {
    const [old, next] = ["old secret of this rotation", "next secret of this rotation"];
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ secrets: [old] });
    await using target = await implementation.startTarget({ secrets: [old], proxy: proxy.rendezvous, backend });
    await untilReady(proxy);
    await using running = await connectTcp(proxy.consumers.port);
    await running.send("one");
    await running.untilReceived(3);

    const [was, is] = await Promise.all([old, next].map((secret) => fingerprintOf(secret)));
    const uses = async (role: RunningRole) =>
      (await metricsOf(role)).sum("netaminity_secret_sessions", { fingerprint: is ?? "" });
    const says = (role: RunningRole, use: string, fingerprint = "") =>
      untilMetric(role, "netaminity_secret_info", { use, fingerprint }, (count) => count === 1);
    await Promise.all([proxy, target].map((role) => says(role, "current", was)));
    await untilMetric(proxy, "netaminity_secret_sessions", { fingerprint: was ?? "" }, (count) => count === 1);

    await proxy.setSecrets([next, old]);
    await says(proxy, "previous", was);
    // The target has not heard of it yet.
    expect(await uses(proxy)).toBe(0);
    await target.setSecrets([next, old]);
    for (const role of [proxy, target]) {
      await says(role, "current", is);
      await untilMetric(role, "netaminity_secret_sessions", { fingerprint: is ?? "" }, (count) => count === 1);
      await untilMetric(role, "netaminity_secret_sessions", { fingerprint: was ?? "" }, (count) => count === 0);
    }
    // A target that knows the new secret only can attach when the proxy has read its file.
    await using newcomer = await implementation.startTarget({ secrets: [next], proxy: proxy.rendezvous, backend });
    await untilReady(newcomer, 25_000);
    await proxy.setSecrets([next]);
    await target.setSecrets([next]);
    await eventually(() => isRefused(proxy, ["old secret of this rotation"]), "the old secret is refused", 20_000);

    await running.send("two");
    await running.untilReceived(6);
    expect({ text: running.text(), lost: (await ask(target, "/readyz")).status }).toEqual({
      text: "onetwo",
      lost: 200,
    });
    await using fresh = await connectTcp(proxy.consumers.port);
    await fresh.send("three");
    await fresh.untilReceived(5);
  });

  test("a target that knows only the previous secret still attaches during a rotation", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ secrets: ["next", "old"] });
    await using behind = await implementation.startTarget({ secrets: ["old"], proxy: proxy.rendezvous, backend });
    await untilReady(behind);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
  });

  test("a target that is ahead in a rotation attaches to a proxy that is behind", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ secrets: ["old"] });
    await using ahead = await implementation.startTarget({
      secrets: ["next", "old"],
      proxy: proxy.rendezvous,
      backend,
    });
    await untilReady(ahead, 25_000);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    wrongSecrets(implementation);
    rotations(implementation);
  });
}
