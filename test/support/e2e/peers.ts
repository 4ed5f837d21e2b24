/** Objects of the backend and the consumers. All of them pass Pod Security `restricted`. */
import { environmentLabel } from "../cluster/node-config.ts";
import { peerImage } from "./images.ts";

export const backendNamespace = "private";
export const tunnelNamespace = "demo";
/** As in the documented Tunnel. */
export const backendEndpoint = `private-api.${backendNamespace}.svc:8080`;

const security = {
  pod: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  container: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
};

const podSpec = (role: string, port: number): object => ({
  securityContext: security.pod,
  terminationGracePeriodSeconds: 1,
  automountServiceAccountToken: false,
  containers: [
    {
      ...{ name: role, image: peerImage, imagePullPolicy: "Never", args: [role] },
      securityContext: security.container,
      readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    },
  ],
});

/** The backend with its Service; `nodeSelector` says which nodes are on the private side. */
export function backendObjects(
  namespace = backendNamespace,
  nodeSelector: Record<string, string> = { [environmentLabel]: "private" },
): object[] {
  const labels = { app: "private-api" };
  return [
    {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "private-api", namespace } },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { ...podSpec("backend", 8080), nodeSelector } },
      },
    },
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "private-api", namespace } },
      spec: { selector: labels, ports: [{ name: "api", port: 8080 }] },
    },
  ];
}

export const consumerLabel = "app=consumer";

/** One consumer per cloud node that stays whatever happens to the node, drains included. */
export function consumerObject(): object {
  const labels = { app: "consumer" };
  return {
    ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "consumer", namespace: tunnelNamespace } },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          ...podSpec("consumer", 8090),
          nodeSelector: { [environmentLabel]: "cloud" },
          tolerations: [{ operator: "Exists" }],
        },
      },
    },
  };
}
