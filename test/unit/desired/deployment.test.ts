import { describe, expect, test } from "bun:test";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import { targetDeployment } from "../../../src/desired/target-deployment.ts";
import { agent, environment, lostNode, ownPreference, selector } from "../../support/agent-pods.ts";
import { controllerReference, makeProxy, makeTarget, ourLabels } from "../../support/objects.ts";

/** What it was made from; `pace` has the test of what follows from a difference. */
const hashes = {
  "netaminity.exeteres.net/wish": expect.any(String),
  "netaminity.exeteres.net/pods": expect.any(String),
};

test("the Deployment of a Proxy, whole", () => {
  const proxy = makeProxy({ replicas: 3 });
  expect(proxyDeployment(proxy, agent)).toEqual({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "edge-proxy",
      namespace: "demo",
      labels: { ...ourLabels, ...selector },
      ownerReferences: [controllerReference(proxy)],
      annotations: hashes,
    },
    spec: {
      replicas: 3,
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 2147483647,
      selector: { matchLabels: selector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 2 } },
      template: {
        metadata: {
          labels: { ...ourLabels, ...selector },
          annotations: { "netaminity.exeteres.net/health-port": "8080" },
        },
        spec: {
          tolerations: lostNode,
          affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [ownPreference] } },
          dnsPolicy: "ClusterFirst",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            seccompProfile: { type: "RuntimeDefault" },
          },
          terminationGracePeriodSeconds: 53,
          containers: [
            {
              name: "agent",
              image: "netaminity:test",
              imagePullPolicy: "IfNotPresent",
              args: ["proxy"],
              env: environment({
                NETAMINITY_LISTEN: "[::]:7835",
                NETAMINITY_CONSUMER_LISTEN: "[::]:30080",
                NETAMINITY_ACCEPT_PROXY_PROTOCOL: "false",
                NETAMINITY_HEALTH_LISTEN: "[::]:8080",
                NETAMINITY_SECRET_FILE: "/var/run/secrets/netaminity/secret",
                NETAMINITY_PREVIOUS_SECRET_FILE: "/var/run/secrets/netaminity/previous-secret",
                NETAMINITY_DRAIN_TIMEOUT: "30s",
                NETAMINITY_LOG_LEVEL: "info",
                NETAMINITY_LOG_FORMAT: "json",
              }),
              ports: [
                { name: "rendezvous", containerPort: 7835, protocol: "TCP" },
                { name: "consumers", containerPort: 30080, protocol: "TCP" },
                { name: "health", containerPort: 8080, protocol: "TCP" },
              ],
              resources: { requests: { cpu: "10m", memory: "32Mi" } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] },
              },
              livenessProbe: {
                httpGet: { path: "/healthz", port: "health" },
                periodSeconds: 10,
                timeoutSeconds: 5,
                failureThreshold: 3,
              },
              startupProbe: {
                httpGet: { path: "/readyz?wait=3600", port: "health" },
                periodSeconds: 1,
                timeoutSeconds: 3660,
                failureThreshold: 2147483647,
              },
              readinessProbe: {
                httpGet: { path: "/readyz", port: "health" },
                periodSeconds: 1,
                timeoutSeconds: 2,
                failureThreshold: 2,
              },
              lifecycle: { preStop: { sleep: { seconds: 8 } } },
              terminationMessagePolicy: "FallbackToLogsOnError",
              volumeMounts: [{ name: "secret", mountPath: "/var/run/secrets/netaminity", readOnly: true }],
            },
          ],
          volumes: [
            {
              name: "secret",
              projected: {
                defaultMode: 0o444,
                sources: [
                  { secret: { name: "shared", items: [{ key: "secret", path: "secret" }] } },
                  {
                    secret: {
                      name: "shared",
                      items: [{ key: "previous-secret", path: "previous-secret" }],
                      optional: true,
                    },
                  },
                ],
              },
            },
          ],
        },
      },
    },
  });
});

describe("the Deployment of a Target", () => {
  const target = makeTarget({ sendProxyProtocol: "v2", drainTimeout: "5m" });
  const { spec } = targetDeployment(target, agent);
  const container = spec?.template.spec?.containers[0];

  test("runs one pod, which is replaced only when the next one has its session", () => {
    expect(spec).toMatchObject({
      replicas: 1,
      progressDeadlineSeconds: 600,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
  });

  test("tells its pod where to dial, and gives it time to drain", () => {
    expect(container?.args).toEqual(["target"]);
    expect(container?.env?.slice(0, 3)).toEqual(
      environment({
        NETAMINITY_PROXY_ENDPOINT: "proxy.example.net:7835",
        NETAMINITY_ENDPOINT: "backend.private.svc:8080",
        NETAMINITY_SEND_PROXY_PROTOCOL: "v2",
      }),
    );
    expect(container?.env).toContainEqual({ name: "NETAMINITY_DRAIN_TIMEOUT", value: "300s" });
    expect(spec?.template.spec?.terminationGracePeriodSeconds).toBe(323);
    expect(container?.ports?.map(({ name }) => name)).toEqual(["health"]);
  });

  test("on the node's network lets the old pod go first: both would want the same health port", () => {
    const onHost = makeTarget({ podTemplate: { distributeByNodes: true, hostNetwork: true } });
    expect(targetDeployment(onHost, agent).spec?.strategy?.rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  });
});

describe("a rollout of proxies", () => {
  const cases: Record<string, [replicas: number, hostNetwork: boolean, rollingUpdate: object]> = {
    "of none": [0, false, { maxSurge: 1, maxUnavailable: 0 }],
    "of one never goes without it": [1, false, { maxSurge: 1, maxUnavailable: 0 }],
    "of four does not wait for its unready standbys": [4, false, { maxSurge: 1, maxUnavailable: 3 }],
    "of one on the node's network frees its ports first": [1, true, { maxSurge: 0, maxUnavailable: 1 }],
    "of two on the nodes' network keeps the active one": [2, true, { maxSurge: 0, maxUnavailable: 1 }],
  };
  for (const [title, [replicas, hostNetwork, rollingUpdate]] of Object.entries(cases)) {
    test(title, () => {
      const proxy = makeProxy({ replicas, podTemplate: { distributeByNodes: true, hostNetwork } });
      expect(proxyDeployment(proxy, agent).spec?.strategy?.rollingUpdate).toEqual(rollingUpdate);
    });
  }
});
