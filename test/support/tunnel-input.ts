/** Input of `planTunnel` for a Tunnel at rest: two pairs that carry traffic. */
import type { Condition } from "../../src/api/conditions.ts";
import type { ProxyResource, ProxyStatus } from "../../src/api/proxy.ts";
import type { TargetResource } from "../../src/api/target.ts";
import { withHash } from "../../src/desired/applied.ts";
import { tunnelConsumerService } from "../../src/desired/consumer-service.ts";
import type { DesiredObject } from "../../src/desired/desired.ts";
import { pairProxy, pairTarget } from "../../src/desired/pair.ts";
import type { TunnelInput } from "../../src/plan/observed.ts";
import { earlier, makeProxy, makeSecret, makeService, makeTarget, makeTunnel, now, settings } from "./objects.ts";

export const tunnel = makeTunnel({ replicas: 2 });
export const freshSecret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

export const condition = (
  type: string,
  status: Condition["status"],
  reason: string,
  message = "because",
): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: earlier,
  observedGeneration: 3,
});
export const proxyStatus = (conditions: Condition[], proxyEndpoint?: string): ProxyStatus => ({
  observedGeneration: 3,
  conditions,
  ...(proxyEndpoint !== undefined && { proxyEndpoint }),
  ...{ replicas: 1, liveReplicas: 1, readyReplicas: 1, updatedReplicas: 1 },
});
export const goodProxy = [
  condition("Ready", "True", "Available"),
  condition("Connected", "True", "SessionUp"),
  condition("Updated", "True", "UpToDate"),
];
const goodTarget = [condition("Ready", "True", "SessionUp"), condition("Updated", "True", "UpToDate")];
export const endpointOf = (index: number) => `api-${index}-rendezvous.demo.svc:7835`;
const applied = (desired: DesiredObject) => ({
  owner: tunnel,
  annotations: withHash(desired).metadata.annotations ?? {},
});

export function proxyOf(index: number, status?: ProxyStatus): ProxyResource {
  const wanted = pairProxy(tunnel, index, "optional");
  return makeProxy(wanted.spec, {
    ...applied(wanted),
    name: wanted.metadata.name,
    status: status ?? proxyStatus(goodProxy, endpointOf(index)),
  });
}

export function targetOf(index: number, conditions = goodTarget, endpoint = endpointOf(index)): TargetResource {
  const wanted = pairTarget(tunnel, index, endpoint, "off");
  const status = { observedGeneration: 3, conditions, replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  return makeTarget(wanted.spec, { ...applied(wanted), name: wanted.metadata.name, status });
}

export const makeTunnelInput = (change: Partial<TunnelInput> = {}): TunnelInput => ({
  tunnel,
  settings,
  now,
  failures: [],
  secret: makeSecret(undefined, { name: "api-secret", owner: tunnel }),
  freshSecret,
  services: [makeService("api", applied(tunnelConsumerService(tunnel)))],
  proxies: [proxyOf(0), proxyOf(1)],
  targets: [targetOf(0), targetOf(1)],
  leftPairs: [],
  ...change,
});
