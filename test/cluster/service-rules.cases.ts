/** What the API server itself refuses of the two Services and of who may consume, each with a sentence that says what is accepted. */
import { describe, expect, test } from "bun:test";
import type { Resource } from "../../src/kube/resources.ts";
import { groupVersion } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { ApiError } from "../support/cluster/index.ts";
import { sharedPlane } from "./plane.ts";

type Fields = Record<string, unknown>;

const object = (kind: string, spec: Fields) => ({ apiVersion: groupVersion, kind, metadata: { name: "demo" }, spec });
const proxy = (spec: Fields) => object("Proxy", { secretRef: { name: "shared" }, ...spec });
const tunnel = (spec: Fields) => object("Tunnel", { service: { name: "api" }, target: { endpoint: "a:1" }, ...spec });
const withService = (service: Fields) => [
  proxy({ service: { name: "api", ...service } }),
  tunnel({ service: { name: "api", ...service } }),
];
const withRendezvous = (proxyService: Fields) => [proxy({ proxyService }), tunnel({ proxy: { proxyService } })];

const networkPolicy = { from: [{ podSelector: {} }] };
const withPolicy = (peer: Fields) => [
  proxy({ networkPolicy: { from: [peer] } }),
  tunnel({ networkPolicy: { from: [peer] } }),
];

const refused: Record<string, [objects: object[], message: string]> = {
  "a port of the nodes of a Service that only the cluster reaches": [
    withService({ nodePort: 31000 }),
    "nodePort can only be set with type NodePort or LoadBalancer",
  ],
  "a policy for traffic that never comes": [
    withService({ externalTrafficPolicy: "Local" }),
    "externalTrafficPolicy can only be set with type NodePort or LoadBalancer",
  ],
  "a class without a load balancer": [
    withService({ type: "NodePort", loadBalancerClass: "example.net/lb" }),
    "loadBalancerClass can only be set with type LoadBalancer",
  ],
  "a label by which the operator finds its own": [
    withService({ labels: { "app.kubernetes.io/managed-by": "me" } }),
    "labels that begin with netaminity.exeteres.net/ are set by the operator, which finds the Service by them",
  ],
  "a label that leads others astray": [
    withService({ labels: { "netaminity.exeteres.net/tunnel": "web" } }),
    "labels that begin with netaminity.exeteres.net/ are set by the operator, which finds the Service by them",
  ],
  "an unknown affinity": [withService({ sessionAffinity: "Cookie" }), 'supported values: "None", "ClientIP"'],
  "a policy of a rendezvous that only the cluster reaches": [
    withRendezvous({ externalTrafficPolicy: "Local" }),
    "externalTrafficPolicy can only be set with type NodePort or LoadBalancer",
  ],
  "a host of a rendezvous that only the cluster reaches": [
    withRendezvous({ externalHost: "a.example.net" }),
    "externalHost can only be set with type NodePort or LoadBalancer",
  ],
  "a host with a port": [
    withRendezvous({ type: "NodePort", externalHost: "a.example.net:31000" }),
    "must be a name or an address without a port, for example tunnel.example.net, 192.0.2.7 or 2001:db8::7",
  ],
  "a host with an address that is none": [
    withRendezvous({ type: "NodePort", externalHost: "10.0.0.300" }),
    "must be a name or an address without a port",
  ],
  "an empty host": [withRendezvous({ type: "NodePort", externalHost: "" }), "must be a name or an address"],
  "one port of the nodes for both Services": [
    [
      proxy({
        service: { name: "api", type: "NodePort", nodePort: 31000 },
        proxyService: { type: "NodePort", nodePort: 31000 },
      }),
    ],
    "spec.service.nodePort and spec.proxyService.nodePort must differ",
  ],
  "a port of the nodes that a pair needs": [
    [
      tunnel({
        replicas: 3,
        service: { name: "api", type: "NodePort", nodePort: 31002 },
        proxy: { proxyService: { type: "NodePort", nodePort: 31000 } },
      }),
    ],
    "service.nodePort must not be one of proxy.proxyService.nodePort to proxy.proxyService.nodePort + replicas - 1",
  ],
  "one name in front of several load balancers": [
    [tunnel({ replicas: 2, proxy: { proxyService: { type: "LoadBalancer", externalHost: "a.example.net" } } })],
    "proxy.proxyService.externalHost with type LoadBalancer needs replicas of 1",
  ],
  "a policy that lets in nobody, or everybody": [[proxy({ networkPolicy: { from: [] } })], "networkPolicy.from"],
  "a peer that is two things": [
    withPolicy({ podSelector: {}, ipBlock: { cidr: "192.0.2.0/24" } }),
    "must have either an ipBlock, or a podSelector, a namespaceSelector or both",
  ],
  "a peer that is nothing": [withPolicy({}), "must have either an ipBlock, or a podSelector"],
  "a range that is none": [
    withPolicy({ ipBlock: { cidr: "192.0.2.7" } }),
    "cidr must be a range of addresses, for example 192.0.2.0/24 or 2001:db8::/32",
  ],
  "an exception outside of its range": [
    withPolicy({ ipBlock: { cidr: "192.0.2.0/24", except: ["198.51.100.0/25"] } }),
    "except must hold ranges of addresses that lie within cidr",
  ],
  "an exception as large as its range": [
    withPolicy({ ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.0/24"] } }),
    "except must hold ranges of addresses that lie within cidr",
  ],
  "an exception of the other family": [
    withPolicy({ ipBlock: { cidr: "::/0", except: ["192.0.2.0/24"] } }),
    "except must hold ranges of addresses that lie within cidr",
  ],
  "a policy for pods on the nodes' network": [
    [
      proxy({ networkPolicy, podTemplate: { hostNetwork: true } }),
      tunnel({ networkPolicy, podTemplate: { hostNetwork: true } }),
      tunnel({ networkPolicy, proxy: { podTemplate: { hostNetwork: true } } }),
    ],
    "networkPolicy has no effect on pods with hostNetwork",
  ],
};

const accepted: Record<string, object[]> = {
  "hosts of every form": ["a", "a.example.net.", "192.0.2.7", "2001:db8::7"].flatMap((externalHost) =>
    withRendezvous({ type: "NodePort", externalHost }),
  ),
  "a port of the nodes just behind those of the pairs": [
    tunnel({
      replicas: 2,
      service: { name: "api", type: "NodePort", nodePort: 31002 },
      proxy: { proxyService: { type: "NodePort", nodePort: 31000, externalHost: "a.example.net" } },
    }),
  ],
  "peers of every form": [
    { podSelector: {} },
    { podSelector: { matchLabels: { app: "web" } }, namespaceSelector: { matchLabels: { team: "red" } } },
    { ipBlock: { cidr: "2001:db8::/32", except: ["2001:db8:1::/48"] } },
  ].flatMap(withPolicy),
  "a policy for proxy pods on a network of their own, whatever the other side has": [
    tunnel({
      networkPolicy,
      podTemplate: { hostNetwork: true },
      proxy: { podTemplate: { hostNetwork: false } },
    }),
  ],
  "an empty class, which is none": withService({ loadBalancerClass: "" }),
};

async function answerTo(resource: Resource, candidate: object, name?: string): Promise<string> {
  const plane = await sharedPlane();
  const place = `/apis/${groupVersion}/namespaces/default/${resource.plural}${name === undefined ? "" : `/${name}`}`;
  try {
    const method = name === undefined ? "POST" : "PATCH";
    await plane.api.request(`${place}?dryRun=All&fieldValidation=Strict`, { method, body: candidate });
    return "accepted";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return (JSON.parse(error.body) as { message: string }).message;
  }
}

const resourceOf = (candidate: object) =>
  (candidate as { kind: string }).kind === "Proxy" ? resources.proxy : resources.tunnel;

describe("of Services and policies the API server", () => {
  for (const [title, [objects, message]] of Object.entries(refused)) {
    test(`refuses ${title}`, async () => {
      for (const each of objects) expect(await answerTo(resourceOf(each), each)).toContain(message);
    });
  }

  for (const [title, objects] of Object.entries(accepted)) {
    test(`accepts ${title}`, async () => {
      for (const each of objects) expect(await answerTo(resourceOf(each), each)).toBe("accepted");
    });
  }

  test("lets nobody change the class of a load balancer, unless the type changes or it is another Service", async () => {
    const plane = await sharedPlane();
    const balanced = { type: "LoadBalancer", loadBalancerClass: "example.net/a" };
    const candidate = { ...proxy({ service: { name: "api", ...balanced }, proxyService: balanced }) };
    const path = `/apis/${groupVersion}/namespaces/default/proxies`;
    const name = "fixed-class";
    await plane.api.request(path, { body: { ...candidate, metadata: { name } } });
    const update = (spec: Fields) => answerTo(resources.proxy, { spec }, name);
    const fixed = "loadBalancerClass cannot change while type is LoadBalancer: Kubernetes fixes it";
    for (const field of ["service", "proxyService"]) {
      expect(await update({ [field]: { loadBalancerClass: "example.net/b" } })).toContain(fixed);
      expect(await update({ [field]: { loadBalancerClass: null } })).toContain(fixed);
      expect(await update({ [field]: { type: "ClusterIP", loadBalancerClass: null } })).toBe("accepted");
      expect(await update({ [field]: { annotations: { a: "b" } } })).toBe("accepted");
    }
    expect(await update({ service: { name: "web", loadBalancerClass: "example.net/b" } })).toBe("accepted");
    expect(await update({ service: null })).toBe("accepted");
    await plane.api.request(`${path}/${name}`, { method: "DELETE" });
  });
});
