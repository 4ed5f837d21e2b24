import { stringify } from "yaml";
import type { ProxyResource } from "../api/proxy.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../endpoint.ts";
import { groupVersion, secretKey } from "../names.ts";

/** What a Target that belongs to a Proxy has to know. */
export interface OtherSide {
  /** Name of the Target, or of the service where it is run by hand. */
  name: string;
  /** Namespace of the Target; undefined: wherever it is applied. */
  namespace: string | undefined;
  proxyEndpoint: HostPort;
  backend: HostPort;
  encryption: "off" | "required";
  secret: string;
}

/** Name of the Secret that belongs to the Target of that name. */
export const otherSecretName = (target: string) => `${target}-tunnel`;

/** YAML as kubectl reads it, which takes words such as off for something else than text. */
export const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object, { compat: "yaml-1.1", lineWidth: 0 })).join("---\n");

export function otherSecret({ name, namespace, secret }: Pick<OtherSide, "name" | "namespace" | "secret">): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: metadata(otherSecretName(name), namespace),
    type: "Opaque",
    data: { [secretKey]: Buffer.from(secret).toString("base64") },
  };
}

/** The Secret and the Target for another cluster. */
export function otherObjects(side: OtherSide): object[] {
  const { name, namespace, proxyEndpoint, backend, encryption } = side;
  const target = {
    apiVersion: groupVersion,
    kind: "Target",
    metadata: metadata(name, namespace),
    spec: {
      secretRef: { name: otherSecretName(name) },
      endpoint: formatHostPort(backend),
      proxyEndpoint: formatHostPort(proxyEndpoint),
      encryption,
    },
  };
  return [otherSecret(side), target];
}

function metadata(name: string, namespace: string | undefined) {
  return { name, ...(namespace !== undefined && { namespace }) };
}

/** Where the other side meets the Proxy; `wait`: it is not known yet; `refusal`: what is known does not do. */
export type Meeting = { endpoint: HostPort } | { wait: string } | { refusal: string };

/** `inCluster`: the other side is in this cluster. */
export function meetingOf(proxy: ProxyResource, { inCluster }: { inCluster: boolean }): Meeting {
  const { metadata, spec, status } = proxy;
  if (spec.proxyService.type === "ClusterIP" && !inCluster) {
    return {
      refusal: `Proxy ${metadata.name} has a rendezvous of type ClusterIP, which only this cluster reaches; set spec.proxyService.type to LoadBalancer or NodePort, or give --in-cluster for a target that runs in this cluster`,
    };
  }
  // Of an earlier generation it may be where the Proxy was reached before.
  const isCurrent = status !== undefined && status.observedGeneration >= (metadata.generation ?? 0);
  const endpoint = isCurrent ? parseHostPort(status.proxyEndpoint ?? "") : undefined;
  if (endpoint !== undefined) return { endpoint };
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  return {
    wait: `Proxy ${metadata.name} has no endpoint yet${isCurrent && ready !== undefined ? ` (${ready.reason}: ${ready.message})` : ""}`,
  };
}
