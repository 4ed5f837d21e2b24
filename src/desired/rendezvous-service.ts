import type { V1Service } from "@kubernetes/client-node";
import type { ProxyResource } from "../api/proxy.ts";
import { rendezvousPort } from "../names.ts";
import { appProtocol } from "./app-protocol.ts";
import type { DesiredObject } from "./desired.ts";
import { proxyLabels } from "./labels.ts";
import { childMetadata } from "./metadata.ts";
import { rendezvousServiceName } from "./names.ts";

/** Name of the port in the Service and in its EndpointSlices; they are matched by it. */
export const rendezvousPortName = "rendezvous";

/**
 * The Service through which the Target reaches the active proxy pod. Without a selector: a Target that reached any pod but the
 * active one would make a session where no consumer arrives, so we manage its EndpointSlices ourselves.
 */
export function rendezvousService(proxy: ProxyResource): V1Service & DesiredObject {
  const { type, nodePort, annotations, loadBalancerClass, loadBalancerSourceRanges, externalTrafficPolicy } =
    proxy.spec.proxyService;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...childMetadata(proxy, rendezvousServiceName(proxy.metadata.name), proxyLabels(proxy)),
      ...(annotations !== undefined && { annotations }),
    },
    spec: {
      type,
      ipFamilyPolicy: "PreferDualStack",
      ports: [
        {
          name: rendezvousPortName,
          protocol: "TCP",
          appProtocol,
          port: rendezvousPort,
          targetPort: rendezvousPort,
          ...(nodePort !== undefined && { nodePort }),
        },
      ],
      ...(loadBalancerClass ? { loadBalancerClass } : {}),
      ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
      ...(loadBalancerSourceRanges !== undefined &&
        loadBalancerSourceRanges.length > 0 && { loadBalancerSourceRanges }),
    },
  };
}
