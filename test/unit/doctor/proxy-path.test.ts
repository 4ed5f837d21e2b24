import { describe, expect, test } from "bun:test";
import { diagnose } from "../../../src/doctor/check.ts";
import type { ProxyFacts } from "../../../src/doctor/facts.ts";
import { proxyPath } from "../../../src/doctor/paths.ts";
import { reasons } from "../../../src/plan/reasons.ts";
import { makeNode, makePod, makeProxy, makeSecret, now } from "../../support/objects.ts";
import { absent, agent, condition, denied, finding, outcomes, proxyFacts, proxyStatus } from "./facts.ts";

const proxyWith = (given: Parameters<typeof proxyStatus>[0], spec = {}) => ({
  found: makeProxy({ service: { name: "edge", port: 80 }, ...spec }, { status: proxyStatus(given) }),
});

describe("a Proxy", () => {
  test("that works is healthy, and every link says what was seen", () => {
    const checks = proxyPath(proxyFacts(), undefined);
    expect(diagnose("it", checks).verdict).toBe("healthy");
    expect(checks.map(({ link, outcome, evidence }) => [link, outcome, evidence])).toEqual([
      ["object", "ok", "it exists, and the operator has seen generation 3"],
      ["secret", "ok", "Secret shared has the key secret"],
      ["pods", "ok", "p on n1 runs"],
      ["nodes", "ok", "n1 ready"],
      ["rendezvous", "ok", "edge-rendezvous.demo.svc:7835 leads to p"],
      ["session", "ok", "p carries 1 session, 2 streams open"],
      ["encryption", "ok", "p: the session is plain: whoever carries the packets can read and change them"],
      ["service", "ok", "Service edge leads to p"],
    ]);
  });

  const running = makePod("p");
  test.each<[string, Partial<ProxyFacts>, string, string, string]>([
    [
      "that does not exist",
      { object: absent },
      "object",
      "Proxy edge does not exist in this namespace",
      "Check the name, and the namespace (-n); netaminity status -A lists all.",
    ],
    [
      "in a cluster without netaminity",
      { object: { absent: "kind" } },
      "object",
      "this cluster does not know the kinds of netaminity",
      "Install the chart, or choose the right cluster with --context.",
    ],
    [
      "that is being deleted",
      { object: { found: makeProxy({}, { status: proxyStatus(), deletionTimestamp: now }) } },
      "object",
      `it is being deleted since ${now}`,
      "Make it again once it is gone.",
    ],
    [
      "that no operator serves",
      { object: { found: makeProxy() } },
      "object",
      "it has no status: no operator has looked at it",
      "Check that the operator runs and serves this namespace (chart value config.watchNamespaces), and read its log.",
    ],
    [
      "that no operator serves, of which the API server says as much",
      { object: proxyWith({ observedGeneration: 0 }) },
      "object",
      "it has no status: no operator has looked at it",
      "Check that the operator runs and serves this namespace (chart value config.watchNamespaces), and read its log.",
    ],
    [
      "whose port is taken",
      { object: proxyWith({ conditions: [condition("Ready", "False", "PortConflict", "31035 is taken")] }) },
      "object",
      "PortConflict: 31035 is taken",
      reasons.PortConflict.todo,
    ],
    [
      "that works, but whose change gets no session",
      {
        object: proxyWith({
          conditions: [
            condition("Ready", "True", "Available"),
            condition("Connected", "True", "SessionUp"),
            condition("Updated", "False", "NoSessionAfterChange", "the newest pods got no session"),
          ],
        }),
      },
      "change",
      "NoSessionAfterChange: the newest pods got no session",
      reasons.NoSessionAfterChange.todo,
    ],
    [
      "without its Secret",
      { secret: absent },
      "secret",
      "Secret shared does not exist; create it with the key secret",
      reasons.SecretMissing.todo,
    ],
    [
      "with an empty Secret",
      { secret: { found: makeSecret({ secret: "" }) } },
      "secret",
      "Secret shared, key secret: it is empty",
      reasons.SecretInvalid.todo,
    ],
    [
      "whose Secret may not be read, but the operator says it is missing",
      {
        secret: denied,
        object: proxyWith({ conditions: [condition("Ready", "False", "SecretMissing", "Secret shared is gone")] }),
      },
      "secret",
      "Secret shared is gone",
      reasons.SecretMissing.todo,
    ],
    [
      "whose image cannot be pulled",
      { pods: { found: [makePod("p", { state: { waiting: { reason: "ErrImagePull", message: "no such image" } } })] } },
      "pods",
      "pod p: ImagePullBackOff: no such image",
      reasons.PodsFailing.todo,
    ],
    [
      "without a pod",
      { pods: { found: [] }, deployment: absent },
      "pods",
      "there is no Deployment and no pod",
      "Read the events: kubectl describe the Deployment and its ReplicaSet.",
    ],
    [
      "on a lost node",
      { nodes: { found: [makeNode("n1", "Unknown")] } },
      "nodes",
      "n1: not ready",
      reasons.NodeNotReady.todo,
    ],
    [
      "whose nodes have no name for Targets",
      {
        object: proxyWith({
          proxyEndpoint: undefined as never,
          conditions: [condition("Ready", "False", "ProxyHostMissing", "set config.proxyHost")],
        }),
      },
      "rendezvous",
      "set config.proxyHost",
      reasons.ProxyHostMissing.todo,
    ],
    [
      "whose rendezvous leads nowhere",
      { rendezvous: { found: [] } },
      "rendezvous",
      "edge-rendezvous.demo.svc:7835: Service edge-rendezvous leads to no pod",
      "The operator puts a live proxy pod there: see pods (Deployment edge-proxy), and that the operator runs.",
    ],
    [
      "without a Target",
      {
        pods: { found: [running] },
        agents: [agent("p", "netaminity_sessions 0\n")],
        object: proxyWith({ conditions: [condition("Connected", "False", "WaitingForTarget", "nobody came")] }),
      },
      "session",
      "nobody came",
      reasons.WaitingForTarget.todo,
    ],
    [
      "whose Target has another secret",
      {
        pods: { found: [running] },
        agents: [agent("p", "", { warnings: { found: ["authentication failed peer=10.0.0.9:4711"] } })],
      },
      "session",
      "no target is attached; a proxy pod logged: authentication failed peer=10.0.0.9:4711",
      "The secrets of both ends differ: set the key secret to the same value on both sides.",
    ],
    [
      "whose Service has only endpoints that are not ready",
      { consumers: { found: [{ endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: false } }] }] } },
      "service",
      "Service edge has no ready endpoint, so consumers are refused",
      "It gets one as soon as a proxy pod carries a session: see the links before.",
    ],
  ])("%s is broken there", (_, given, link, evidence, next) => {
    expect(finding(proxyPath(proxyFacts(given), undefined))).toEqual(["broken", link, evidence, next]);
  });

  test("is healthy when only the session could be seen: it proves the links before it", () => {
    const given = { secret: denied, nodes: denied, rendezvous: denied, agents: [agent("p", "", { samples: denied })] };
    const checks = proxyPath(proxyFacts(given), undefined);
    expect(diagnose("it", checks).verdict).toBe("healthy");
    expect(outcomes(checks)).toEqual([
      ...["object ok", "secret unknown", "pods ok", "nodes unknown", "rendezvous unknown", "session ok"],
      ...["encryption unknown", "service ok"],
    ]);
  });

  test("of which nothing can be read is neither healthy nor broken", () => {
    expect(finding(proxyPath(proxyFacts({ object: { unknown: "no answer" } }), undefined))[0]).toBe("unknown");
    expect(finding(proxyPath(proxyFacts({ pods: denied, agents: [] }), undefined))[0]).toBe("unknown");
  });

  test("whose latest change nobody has looked at says so, and is judged by its session", () => {
    const checks = proxyPath(proxyFacts({ object: proxyWith({ observedGeneration: 2 }) }), undefined);
    expect([checks[0]?.outcome, diagnose("it", checks).verdict]).toEqual(["unknown", "healthy"]);
  });

  test("a standby on a lost node breaks nothing", () => {
    const pods = { found: [makePod("p", { ready: true }), makePod("q", { node: "n2" })] };
    const checks = proxyPath(
      proxyFacts({ pods, nodes: { found: [makeNode("n1"), makeNode("n2", "False")] } }),
      undefined,
    );
    expect(checks.find(({ link }) => link === "nodes")).toEqual({
      link: "nodes",
      outcome: "ok",
      evidence: "n1 ready; n2 not ready",
    });
  });
});

test("a change that waits because somebody wants it to is told, and breaks nothing", () => {
  const held = condition("Updated", "False", "Paused", "spec.paused is set");
  const conditions = [condition("Ready", "True", "Available"), condition("Connected", "True", "SessionUp"), held];
  const checks = proxyPath(proxyFacts({ object: proxyWith({ conditions }) }), undefined);
  expect(checks.find(({ link }) => link === "change")).toEqual({
    ...{ link: "change", outcome: "ok", evidence: "Paused: spec.paused is set", next: reasons.Paused.todo },
  });
  expect(diagnose("it", checks).verdict).toBe("healthy");
});
