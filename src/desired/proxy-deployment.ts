import type { V1DeploymentSpec } from "@kubernetes/client-node";
import type { PodTemplate } from "../api/pod-template.ts";
import type { ProxyResource } from "../api/proxy.ts";
import { consumerPort, rendezvousPort } from "../names.ts";
import { type AgentSettings, deployment, encryptionSetting } from "./deployment.ts";
import { proxyLabels } from "./labels.ts";
import { proxyDeploymentName, secretNameOf } from "./names.ts";
import { selectorOf } from "./pod-template.ts";

/** The proxy pods of a Proxy. */
export function proxyDeployment(proxy: ProxyResource, agent: AgentSettings) {
  const { name } = proxy.metadata;
  const own: PodTemplate = proxy.spec.podTemplate ?? {};
  const template = { ...agent.podTemplate, ...own };
  const { replicas, drainTimeout, acceptProxyProtocol, encryption } = proxy.spec;
  const secretName = secretNameOf(proxy);
  return deployment(
    {
      owner: proxy,
      name: proxyDeploymentName(name),
      role: "proxy",
      selector: selectorOf("proxy", name),
      labels: proxyLabels(proxy),
      rollout: { replicas, ...rollout(replicas, template.hostNetwork === true ? "one at a time" : "surge") },
      secretName,
      drainTimeout,
      template,
      wish: {
        secretRef: { name: secretName },
        drainTimeout,
        acceptProxyProtocol,
        template: own,
        ...encryptionSetting(encryption),
      },
      ports: [
        { name: "rendezvous", port: rendezvousPort },
        { name: "consumers", port: consumerPort },
      ],
      environment: {
        NETAMINITY_LISTEN: `[::]:${rendezvousPort}`,
        NETAMINITY_CONSUMER_LISTEN: `[::]:${consumerPort}`,
        NETAMINITY_ACCEPT_PROXY_PROTOCOL: `${acceptProxyProtocol}`,
        ...encryptionSetting(encryption),
      },
    },
    agent,
  );
}

/**
 * Standbys are unready by design, so they count as unavailable: all but one may be, and the one that carries the session stays
 * until a pod of the new revision carries it. There is no progress deadline, because such a Deployment never "completes".
 * On the nodes' network a surge pod would wait for ever for the ports of the pod that it replaces, so nothing surges there.
 */
function rollout(replicas: number, room: "surge" | "one at a time"): Omit<V1DeploymentSpec, "selector" | "template"> {
  const standbys = Math.max(replicas - 1, 0);
  return {
    progressDeadlineSeconds: 2147483647,
    strategy: {
      type: "RollingUpdate",
      rollingUpdate:
        room === "surge"
          ? { maxSurge: 1, maxUnavailable: standbys }
          : { maxSurge: 0, maxUnavailable: Math.max(standbys, 1) },
    },
  };
}
