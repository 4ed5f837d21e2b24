/** Names of all children. Deterministic; the name rules of the CRDs keep every one of them within 63 characters. */

/** Pair `index` of a Tunnel: the name of its Proxy and of its Target. */
export const pairName = (tunnel: string, index: number) => `${tunnel}-${index}`;
/** The index in the name of a pair; NaN in another name. */
export const indexOf = (pair: string) => Number(/-(\d+)$/.exec(pair)?.[1]);
export const tunnelSecretName = (tunnel: string) => `${tunnel}-secret`;
/** The Secret that is made for a Proxy that names none. */
export const proxySecretName = (proxy: string) => `${proxy}-proxy-secret`;
/** The Secret that a Proxy or Target uses. */
export const secretNameOf = ({
  metadata,
  spec,
}: {
  metadata: { name: string };
  spec: { secretRef?: { name: string } };
}) => spec.secretRef?.name ?? proxySecretName(metadata.name);
export const proxyDeploymentName = (proxy: string) => `${proxy}-proxy`;
export const targetDeploymentName = (target: string) => `${target}-target`;
export const networkPolicyName = (proxy: string) => `${proxy}-proxy`;
export const rendezvousServiceName = (proxy: string) => `${proxy}-rendezvous`;
export const endpointSliceName = (proxy: string, family: "IPv4" | "IPv6") =>
  `${rendezvousServiceName(proxy)}-${family.toLowerCase()}`;
