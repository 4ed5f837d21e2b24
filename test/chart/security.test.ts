import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { V1Deployment, V1PodSpec, V1ServiceAccount } from "@kubernetes/client-node";
import { only, type Rendered, render } from "./helm.ts";
import { restrictedViolations } from "./restricted.ts";

setDefaultTimeout(60_000);

function podsOf(objects: readonly Rendered[]): V1PodSpec[] {
  return objects.flatMap((object) => {
    const pod = (object as V1Deployment).spec?.template?.spec;
    return object.kind === "Deployment" && pod ? [pod] : [];
  });
}

describe("Pod Security", () => {
  test("restricted is met by every pod of the chart, and the root file system is read-only", async () => {
    const pods = podsOf(await render());
    expect(pods.map(restrictedViolations)).toEqual([[]]);
    const containers = pods.flatMap((pod) => pod.containers);
    expect(containers.map(({ securityContext }) => securityContext?.readOnlyRootFilesystem)).toEqual([true]);
  });

  test("restricted is broken by values that break it, so that the check above can fail", async () => {
    const pods = podsOf(
      await render({
        operator: {
          podSecurityContext: { runAsNonRoot: false, seccompProfile: null },
          securityContext: { allowPrivilegeEscalation: true, capabilities: { drop: [], add: ["NET_ADMIN"] } },
        },
      }),
    );
    expect(pods.map(restrictedViolations)).toEqual([
      [
        "operator: runAsNonRoot",
        "operator: allowPrivilegeEscalation",
        "operator: drop ALL",
        "operator: added capabilities",
        "operator: seccompProfile",
      ],
    ]);
  });

  test("leaves the user to the image or the platform, and takes null for the same", async () => {
    const nobody = { runAsUser: null, runAsGroup: null };
    for (const values of [
      {},
      { operator: { podSecurityContext: { ...nobody, fsGroup: null }, securityContext: nobody } },
    ]) {
      const pods = podsOf(await render(values));
      expect(pods.map(restrictedViolations)).toEqual([[]]);
      const contexts = pods.flatMap((pod) => [
        pod.securityContext,
        ...pod.containers.map((each) => each.securityContext),
      ]);
      expect(contexts.map((context) => [context?.runAsUser ?? null, context?.runAsGroup ?? null])).toEqual([
        [null, null],
        [null, null],
      ]);
    }
  });

  test("only the operator's pods get the service account's token", async () => {
    const objects = await render();
    expect(only<V1ServiceAccount>(objects, "ServiceAccount").automountServiceAccountToken).toBe(false);
    expect(podsOf(objects).map((pod) => pod.automountServiceAccountToken)).toEqual([true]);
  });
});

describe("the NetworkPolicy", () => {
  test("is off by default", async () => {
    expect((await render()).filter(({ kind }) => kind === "NetworkPolicy")).toEqual([]);
  });

  test("lets in the metrics port and out what the operator needs", async () => {
    const metricsFrom = [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }];
    const extraEgress = [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }];
    const policy = only<{ spec: unknown }>(
      await render({
        networkPolicy: {
          enabled: true,
          apiServerPorts: [6443],
          agentHealthPorts: [8080, 8081],
          metricsFrom,
          extraEgress,
        },
      }),
      "NetworkPolicy",
    );
    expect(policy.spec).toEqual({
      podSelector: {
        matchLabels: {
          "app.kubernetes.io/name": "netaminity",
          "app.kubernetes.io/instance": "netaminity",
          "app.kubernetes.io/component": "operator",
        },
      },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ ports: [{ port: "health", protocol: "TCP" }], from: metricsFrom }],
      egress: [
        {
          ports: [
            { port: 53, protocol: "UDP" },
            { port: 53, protocol: "TCP" },
          ],
        },
        { ports: [{ port: 6443, protocol: "TCP" }] },
        {
          ports: [
            { port: 8080, protocol: "TCP" },
            { port: 8081, protocol: "TCP" },
          ],
        },
        ...extraEgress,
      ],
    });
  });
});
