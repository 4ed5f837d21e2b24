import type { PodTemplate } from "../api/pod-template.ts";
import type { TargetResource } from "../api/target.ts";
import { type AgentSettings, deployment, encryptionSetting } from "./deployment.ts";
import { targetLabels } from "./labels.ts";
import { targetDeploymentName } from "./names.ts";
import { selectorOf } from "./pod-template.ts";

/**
 * The target pods of a Target. A new pod makes its session before an old one goes; on the node's network, where the two
 * could not share the health port, the old one goes first.
 */
export function targetDeployment(target: TargetResource, agent: AgentSettings) {
  const { name } = target.metadata;
  const own: PodTemplate = target.spec.podTemplate ?? {};
  const template = { ...agent.podTemplate, ...own };
  const { replicas, secretRef, endpoint, proxyEndpoint, sendProxyProtocol, encryption, drainTimeout } = target.spec;
  return deployment(
    {
      owner: target,
      name: targetDeploymentName(name),
      role: "target",
      selector: selectorOf("target", name),
      labels: targetLabels(target),
      rollout: {
        replicas,
        progressDeadlineSeconds: 600,
        strategy: {
          type: "RollingUpdate",
          rollingUpdate: template.hostNetwork ? { maxSurge: 0, maxUnavailable: 1 } : { maxSurge: 1, maxUnavailable: 0 },
        },
      },
      secretName: secretRef.name,
      drainTimeout,
      template,
      wish: {
        secretRef,
        endpoint,
        proxyEndpoint,
        sendProxyProtocol,
        drainTimeout,
        template: own,
        ...encryptionSetting(encryption),
      },
      ports: [],
      environment: {
        NETAMINITY_PROXY_ENDPOINT: proxyEndpoint,
        NETAMINITY_ENDPOINT: endpoint,
        NETAMINITY_SEND_PROXY_PROTOCOL: sendProxyProtocol,
        ...encryptionSetting(encryption),
      },
    },
    agent,
  );
}
