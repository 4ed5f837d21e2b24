/** The objects that the documentation shows, word for word. */

export const tunnelDocument = `
apiVersion: netaminity.exeteres.net/v1
kind: Tunnel
metadata:
  name: private-api
spec:
  replicas: 2
  service:
    name: private-api
    port: 30080
  podTemplate:
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
  proxy:
    replicas: 2
    podTemplate:
      nodeSelector:
        netaminity.exeteres.net/environment: cloud
    proxyService:
      type: NodePort
      nodePort: 31035
  target:
    endpoint: private-api.private.svc:8080
    podTemplate:
      nodeSelector:
        netaminity.exeteres.net/environment: private
`;

export const proxyDocument = `
apiVersion: netaminity.exeteres.net/v1
kind: Proxy
metadata:
  name: private-api
spec:
  replicas: 2
  secretRef:
    name: private-api-tunnel
  service:
    name: private-api
    port: 30080
  proxyService:
    type: LoadBalancer
`;

/** With the endpoint that `kubectl get proxy` printed. */
export const targetDocument = (proxyEndpoint: string): string => `
apiVersion: netaminity.exeteres.net/v1
kind: Target
metadata:
  name: private-api
spec:
  secretRef:
    name: private-api-tunnel
  endpoint: private-api.private.svc:8080
  proxyEndpoint: ${proxyEndpoint}
`;
