/** The pods of agents as tests look at them. */
import type { PodTemplate } from "../../src/api/pod-template.ts";
import { proxyDeployment } from "../../src/desired/proxy-deployment.ts";
import { makeProxy, settings } from "./objects.ts";

export const group = "netaminity.exeteres.net";
export const { agent } = settings;

export const podSpecOf = (podTemplate: PodTemplate) =>
  proxyDeployment(makeProxy({ podTemplate: { distributeByNodes: true, hostNetwork: false, ...podTemplate } }), agent)
    .spec?.template.spec;
export const containerOf = (podTemplate: PodTemplate) => podSpecOf(podTemplate)?.containers[0];
export const environment = (pairs: Record<string, string>) =>
  Object.entries(pairs).map(([name, value]) => ({ name, value }));

export const selector = { "app.kubernetes.io/component": "proxy", [`${group}/proxy`]: "edge" };
export const ownPreference = {
  weight: 100,
  podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: selector } },
};

/** An agent pod leaves a node that is not heard of after 15 s. */
export const leave = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 15 });
export const [notReady, unreachable] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] as const;
export const lostNode = [leave(notReady), leave(unreachable)];
