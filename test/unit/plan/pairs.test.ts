import { describe, expect, test } from "bun:test";
import type { ProxyResource } from "../../../src/api/proxy.ts";
import type { TargetResource } from "../../../src/api/target.ts";
import type { TunnelInput } from "../../../src/plan/observed.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import {
  condition,
  endpointOf,
  goodProxy,
  makeTunnelInput,
  proxyOf,
  proxyStatus,
  targetOf,
  tunnel,
} from "../../support/tunnel-input.ts";

function verdict(input: TunnelInput) {
  const found = planTunnel(input).status.conditions.find((each) => each.type === "Ready");
  return [found?.status, found?.reason, found?.message];
}

describe("a pair waits", () => {
  const notReady = (reason: string) => [condition("Ready", "False", reason)];
  const cases: Record<string, [proxy: ProxyResource, targets: TargetResource[], message: string, reason: string]> = {
    "for a Proxy that was just made": [proxyOf(0, proxyStatus([])), [], "Proxy api-0 was just made", "PairsWaiting"],
    "for the load balancer of its Proxy": [
      proxyOf(0, proxyStatus(notReady("EndpointPending"))),
      [],
      "Proxy api-0: EndpointPending: because",
      "PairsWaiting",
    ],
    "for a Proxy with a problem": [
      proxyOf(0, proxyStatus(notReady("ProxyHostMissing"))),
      [],
      "Proxy api-0: ProxyHostMissing: because",
      "PairsNotReady",
    ],
    "for its Target to be made": [proxyOf(0), [], "its Target is being made", "PairsWaiting"],
    "for its Target to connect": [
      proxyOf(0),
      [targetOf(0, notReady("Connecting"))],
      "Target api-0: Connecting: because",
      "PairsWaiting",
    ],
    "for a Target with a problem": [
      proxyOf(0),
      [targetOf(0, notReady("PodsFailing"))],
      "Target api-0: PodsFailing: because",
      "PairsNotReady",
    ],
    "for its Proxy to see the session": [
      proxyOf(
        0,
        proxyStatus([...goodProxy.slice(0, 1), condition("Connected", "False", "WaitingForTarget")], endpointOf(0)),
      ),
      [targetOf(0)],
      "Proxy api-0: WaitingForTarget: because",
      "PairsWaiting",
    ],
  };
  for (const [title, [proxy, targets, message, reason]] of Object.entries(cases)) {
    test(title, () => {
      const input = makeTunnelInput({
        tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } },
        proxies: [proxy],
        targets,
      });
      expect(planTunnel(input).status.replicasStatus[0]).toMatchObject({ ready: false, message });
      expect(verdict(input)).toEqual(["False", reason, `0 of 1 pair carries traffic; pair 0: ${message}`]);
    });
  }
});
