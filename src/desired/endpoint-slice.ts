import type { V1EndpointSlice } from "@kubernetes/client-node";
import type { ProxyResource } from "../api/proxy.ts";
import { apiGroup, rendezvousPort } from "../names.ts";
import { appProtocol } from "./app-protocol.ts";
import type { DesiredObject } from "./desired.ts";
import { proxyLabels } from "./labels.ts";
import { childMetadata } from "./metadata.ts";
import { endpointSliceName, rendezvousServiceName } from "./names.ts";
import { rendezvousPortName } from "./rendezvous-service.ts";

export type AddressFamily = "IPv4" | "IPv6";

/** Annotation of a slice: the container that was running when its pod was chosen. Another id means that the agent restarted. */
export const activeContainerAnnotation = `${apiGroup}/active-container`;

/** Annotation of a slice: what is remembered of the newest revision's attempts to serve; empty when there is nothing. */
export const attemptAnnotation = `${apiGroup}/attempt`;

/** The proxy pod to which the rendezvous leads. */
export interface ActiveEndpoint {
  pod: { name: string; uid: string };
  /** Id of its running agent container, as the container runtime gives it. */
  containerId: string;
  /** Value of {@link attemptAnnotation}; undefined: it need not be there. */
  attempt: string | undefined;
  nodeName: string | undefined;
  /** Its addresses, at most one per family. */
  addresses: readonly { family: AddressFamily; address: string }[];
}

/** One slice per address family of the active pod, each with this one pod; none without an active pod. */
export function endpointSlices(
  proxy: ProxyResource,
  active: ActiveEndpoint | undefined,
): (V1EndpointSlice & DesiredObject)[] {
  if (active === undefined) return [];
  return active.addresses.map(({ family, address }) => endpointSlice(proxy, active, family, address));
}

function endpointSlice(
  proxy: ProxyResource,
  { pod, containerId, attempt, nodeName }: ActiveEndpoint,
  family: AddressFamily,
  address: string,
): V1EndpointSlice & DesiredObject {
  const { name, namespace } = proxy.metadata;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...childMetadata(proxy, endpointSliceName(name, family), {
        ...proxyLabels(proxy),
        "kubernetes.io/service-name": rendezvousServiceName(name),
        // Not the value of the built-in controllers: they leave the slices of others alone.
        "endpointslice.kubernetes.io/managed-by": apiGroup,
      }),
      annotations: {
        [activeContainerAnnotation]: containerId,
        ...(attempt !== undefined && { [attemptAnnotation]: attempt }),
      },
    },
    addressType: family,
    endpoints: [
      {
        addresses: [address],
        // Ready for the rendezvous, whatever the pod's own readiness says: that follows the session, which needs this first.
        conditions: { ready: true, serving: true, terminating: false },
        ...(nodeName !== undefined && { nodeName }),
        targetRef: { kind: "Pod", namespace, name: pod.name, uid: pod.uid },
      },
    ],
    ports: [{ name: rendezvousPortName, protocol: "TCP", appProtocol, port: rendezvousPort }],
  };
}
