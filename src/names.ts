/** Names that other programs, clusters and people see. Each stands here once. */

export const apiGroup = "netaminity.exeteres.net";
export const apiVersion = "v1";
export const groupVersion = `${apiGroup}/${apiVersion}`;

/** Field manager of every server-side apply (and `status` writes). */
export const fieldManager = "netaminity";

/** TCP port of the rendezvous (control and data connections of targets); the one that bore uses too. */
export const rendezvousPort = 7835;
/** TCP port inside a proxy pod on which consumers arrive. */
export const consumerPort = 30080;
/** TCP port of `/healthz`, `/readyz` and `/metrics` in every role. */
export const healthPort = 8080;

/** Keys of the Secret that both sides share. `previous-secret` is optional: it stays valid during a rotation. */
export const secretKey = "secret";
export const previousSecretKey = "previous-secret";
/** Folder in agent pods where that Secret is mounted, one file per key. */
export const secretMountPath = "/var/run/secrets/netaminity";

export const labels = {
  /** Always `netaminity`. */
  name: "app.kubernetes.io/name",
  /** Always `netaminity`. */
  managedBy: "app.kubernetes.io/managed-by",
  /** `operator`, `proxy` or `target`. */
  component: "app.kubernetes.io/component",
  /** Name of the Tunnel that a pair or a pod belongs to. */
  tunnel: `${apiGroup}/tunnel`,
  /** Name of the Proxy that a pod, Service or EndpointSlice belongs to. */
  proxy: `${apiGroup}/proxy`,
  /** Name of the Target that a pod belongs to. */
  target: `${apiGroup}/target`,
  /** Zero-based index of the pair inside its Tunnel. */
  index: `${apiGroup}/index`,
} as const;
