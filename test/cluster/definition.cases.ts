/** What the API server itself accepts and refuses of the three kinds: schemas, defaults and rules are only as good as it says. */
import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { groupVersion } from "../../src/names.ts";
import { ApiError } from "../support/cluster/index.ts";
import { sharedPlane } from "./plane.ts";

type Fields = Record<string, unknown>;

const plurals: Record<string, string> = { Tunnel: "tunnels", Proxy: "proxies", Target: "targets" };

/** What the API server would store, or its refusal. Nothing is stored. */
async function tryToCreate(object: { kind?: unknown }): Promise<{ spec: Fields } | { refused: string }> {
  const plane = await sharedPlane();
  const path = `/apis/${groupVersion}/namespaces/default/${plurals[String(object.kind)]}?dryRun=All&fieldValidation=Strict`;
  try {
    return await plane.api.request<{ spec: Fields }>(path, { body: object });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { refused: (JSON.parse(error.body) as { message: string }).message };
  }
}

async function refusalOf(object: object): Promise<string> {
  const answer = await tryToCreate(object);
  return "refused" in answer ? answer.refused : "accepted";
}

const object = (kind: string, name: string, spec: Fields) => ({
  apiVersion: groupVersion,
  kind,
  metadata: { name },
  spec,
});
const secretRef = { name: "shared" };
const tunnel = (spec: Fields, name = "demo") =>
  object("Tunnel", name, { service: { name: "api" }, target: { endpoint: "api.private.svc:8080" }, ...spec });
const proxy = (spec: Fields, name = "demo") => object("Proxy", name, { secretRef, ...spec });
const target = (spec: Fields, name = "demo") =>
  object("Target", name, { secretRef, endpoint: "api:8080", proxyEndpoint: "proxy.example.net:7835", ...spec });
const name = (length: number) => "a".repeat(length);

const accepted: Record<string, object> = {
  "a Tunnel with the least that it needs": tunnel({}),
  "a Tunnel of no pairs": tunnel({ replicas: 0 }),
  "a node port outside of the usual range": proxy({ proxyService: { type: "NodePort", nodePort: 8080 } }),
  "a user that is left to the platform": proxy({ podTemplate: { securityContext: { runAsUser: null } } }),
  "a Tunnel of 64 pairs whose last port is the last node port": tunnel({
    replicas: 64,
    proxy: { proxyService: { type: "NodePort", nodePort: 32704 } },
  }),
  "the longest name of a Tunnel": tunnel({}, name(49)),
  "the longest name of a Proxy": proxy({}, name(52)),
  "an endpoint with an IPv4 address": target({ endpoint: "10.0.0.7:80" }),
  "an endpoint with an IPv6 address": target({ endpoint: "[fd00::7]:80" }),
  "an endpoint with a name of one label": target({ endpoint: "db:65535" }),
  "an endpoint with a label that starts with a digit": target({ endpoint: "3com.example:1" }),
  "a name that ends with a dot": target({ endpoint: "db.example.net.:5432" }),
  "a drain timeout of a day": target({ drainTimeout: "24h" }),
  "no drain at all": target({ drainTimeout: "0s" }),
  "quantities as numbers and as text": proxy({ podTemplate: { resources: { limits: { cpu: 2, memory: "1.5Gi" } } } }),
};

const hostPort = "must be host:port with a port from 1 to 65535";
const nameRule = "metadata.name must be lower-case letters, digits and '-', start with a letter";
const serviceName = "must be a Service name: lower-case letters";
const duration = "must be a whole number of s, m or h, at most 24h, for example 30s or 5m";

const refused: Record<string, [object: object, ...messages: string[]]> = {
  "65 pairs": [tunnel({ replicas: 65 }), "spec.replicas", "less than or equal to 64"],
  "a negative number of pods": [proxy({ replicas: -1 }), "spec.replicas", "greater than or equal to 0"],
  "port 0": [tunnel({ service: { name: "api", port: 0 } }), "spec.service.port", "greater than or equal to 1"],
  "port 65536": [tunnel({ service: { name: "api", port: 65536 } }), "spec.service.port", "65535"],
  "node port 0": [
    proxy({ proxyService: { type: "NodePort", nodePort: 0 } }),
    "spec.proxyService.nodePort",
    "greater than or equal to 1",
  ],
  "node ports that run out of all numbers": [
    tunnel({ replicas: 2, proxy: { proxyService: { type: "NodePort", nodePort: 65535 } } }),
    "proxy.proxyService.nodePort + replicas - 1 must not exceed 65535: pair i uses nodePort + i",
  ],
  "a label by which another tunnel's consumers are led": [
    proxy({ podTemplate: { labels: { "netaminity.exeteres.net/tunnel": "w" } } }),
    "spec.podTemplate.labels",
    "labels that begin with netaminity.exeteres.net/ are set by the operator: consumers are led by them",
  ],
  "such a label for one side of a Tunnel": [
    tunnel({ target: { endpoint: "a:1", podTemplate: { labels: { "netaminity.exeteres.net/tunnel": "w" } } } }),
    "spec.target.podTemplate.labels",
    "labels that begin with netaminity.exeteres.net/ are set by the operator: consumers are led by them",
  ],
  "a node port without the type": [
    proxy({ proxyService: { nodePort: 31035 } }),
    "spec.proxyService.nodePort",
    "nodePort can only be set with type NodePort",
  ],
  "a load balancer class without the type": [
    proxy({ proxyService: { loadBalancerClass: "example.net/lb" } }),
    "loadBalancerClass and loadBalancerSourceRanges can only be set with type LoadBalancer",
  ],
  "a name of a Tunnel that is too long for its children": [tunnel({}, name(50)), nameRule, "at most 49 characters"],
  "a name of a Proxy that is too long for its Service": [proxy({}, name(53)), nameRule, "at most 52 characters"],
  "a name with a dot": [tunnel({}, "a.b"), nameRule],
  "a name that starts with a digit": [target({}, "1a"), nameRule],
  "a Service name that no Service can have": [tunnel({ service: { name: "Api" } }), "spec.service.name", serviceName],
  "a consumer Service with the name of the rendezvous Service": [
    proxy({ service: { name: "demo-rendezvous" } }),
    "spec.service.name must not be <name>-rendezvous",
  ],
  "an endpoint without a port": [target({ endpoint: "db.example.net" }), "spec.endpoint", hostPort],
  "an endpoint with port 0": [target({ endpoint: "db:0" }), "spec.endpoint", hostPort],
  "an endpoint with port 65536": [target({ endpoint: "db:65536" }), "spec.endpoint", hostPort],
  "an endpoint with an address that is none": [target({ endpoint: "10.0.0.300:80" }), "spec.endpoint", hostPort],
  "an IPv6 address without brackets": [target({ endpoint: "fd00::7:80" }), "spec.endpoint", hostPort],
  "brackets around no address": [target({ endpoint: "[fd00:::7]:80" }), "spec.endpoint", hostPort],
  "an endpoint with a scheme": [target({ proxyEndpoint: "tcp://proxy:7835" }), "spec.proxyEndpoint", hostPort],
  "a drain timeout without a unit": [target({ drainTimeout: "30" }), "spec.drainTimeout", duration],
  "a drain timeout above a day": [tunnel({ drainTimeout: "25h" }), "spec.drainTimeout", duration],
  "a quantity that is none": [proxy({ podTemplate: { resources: { limits: { cpu: "lots" } } } }), "limits.cpu"],
  "a misspelled field deep in an affinity": [
    tunnel({ proxy: { podTemplate: { affinity: { nodeAfinity: {} } } } }),
    'unknown field "spec.proxy.podTemplate.affinity.nodeAfinity"',
  ],
  "a misspelled taint effect": [
    proxy({ podTemplate: { tolerations: [{ effect: "NoScheduling" }] } }),
    "spec.podTemplate.tolerations[0].effect",
    "NoSchedule",
  ],
  "a health port that proxy pods use otherwise": [
    tunnel({ proxy: { podTemplate: { healthPort: 7835 } } }),
    "spec.proxy.podTemplate",
    "healthPort must not be 7835 or 30080: proxy pods listen there",
  ],
  "an unknown type of Service": [proxy({ proxyService: { type: "ExternalName" } }), "spec.proxyService.type"],
  "an unknown version of the PROXY protocol": [target({ sendProxyProtocol: "v3" }), "spec.sendProxyProtocol"],
  "an encryption of a Target that only a Proxy knows": [
    target({ encryption: "optional" }),
    'spec.encryption: Unsupported value: "optional": supported values: "off", "required"',
  ],
  "an encryption of a Proxy that only a Target knows": [
    proxy({ encryption: "off" }),
    'spec.encryption: Unsupported value: "off": supported values: "optional", "required"',
  ],
  "an encryption that is none": [
    tunnel({ encryption: "tls" }),
    'spec.encryption: Unsupported value: "tls": supported values: "off", "required"',
  ],
  "an off without quotes, which YAML reads as false": [
    tunnel({ encryption: false }),
    'spec.encryption: Unsupported value: false: supported values: "off", "required"',
  ],
  "a Target without a backend": [object("Target", "demo", { secretRef, proxyEndpoint: "a:1" }), "spec.endpoint"],
};

describe("the API server accepts", () => {
  for (const [title, candidate] of Object.entries(accepted)) {
    test(title, async () => {
      expect(await refusalOf(candidate)).toBe("accepted");
    });
  }

  test("the documented objects as written, with the whole podTemplate in every place", async () => {
    const read = async (file: string) =>
      parse(await Bun.file(new URL(`../fixtures/${file}.yaml`, import.meta.url)).text());
    const [documentedTunnel, documentedProxy, documentedTarget, template] = await Promise.all(
      ["tunnel", "proxy", "target", "pod-template"].map(read),
    );
    const everywhere = tunnel({
      ...template,
      proxy: template,
      target: { endpoint: "api:80", ...template },
    });
    const objects = [
      documentedTunnel,
      documentedProxy,
      documentedTarget,
      everywhere,
      proxy(template),
      target(template),
    ];
    expect(await Promise.all(objects.map(refusalOf))).toEqual(objects.map(() => "accepted"));
  });
});

describe("the API server refuses", () => {
  for (const [title, [candidate, ...messages]] of Object.entries(refused)) {
    test(title, async () => {
      const message = await refusalOf(candidate);
      for (const expected of messages) expect(message).toContain(expected);
    });
  }
});

describe("the API server fills in", () => {
  const defaults: Record<string, [object: { kind: string }, spec: Fields]> = {
    "a Tunnel": [
      tunnel({}),
      {
        replicas: 1,
        service: { name: "api", port: 30080 },
        encryption: "off",
        proxy: { replicas: 1, acceptProxyProtocol: false, proxyService: { type: "ClusterIP" } },
        target: { replicas: 1, endpoint: "api.private.svc:8080", sendProxyProtocol: "off" },
      },
    ],
    "a Proxy": [
      proxy({ podTemplate: {} }),
      {
        replicas: 1,
        secretRef,
        encryption: "optional",
        acceptProxyProtocol: false,
        proxyService: { type: "ClusterIP" },
        podTemplate: { distributeByNodes: true, hostNetwork: false },
      },
    ],
    "a Target": [
      target({}),
      {
        replicas: 1,
        secretRef,
        endpoint: "api:8080",
        proxyEndpoint: "proxy.example.net:7835",
        encryption: "off",
        sendProxyProtocol: "off",
      },
    ],
    "one side's podTemplate with nothing, so that the shared one shows through": [
      tunnel({ podTemplate: { hostNetwork: true }, proxy: { podTemplate: {} } }),
      {
        replicas: 1,
        service: { name: "api", port: 30080 },
        encryption: "off",
        podTemplate: { distributeByNodes: true, hostNetwork: true },
        proxy: { replicas: 1, acceptProxyProtocol: false, proxyService: { type: "ClusterIP" }, podTemplate: {} },
        target: { replicas: 1, endpoint: "api.private.svc:8080", sendProxyProtocol: "off" },
      },
    ],
  };
  for (const [title, [candidate, spec]] of Object.entries(defaults)) {
    test(title, async () => {
      expect(await tryToCreate(candidate)).toMatchObject({ spec });
      expect(((await tryToCreate(candidate)) as { spec: Fields }).spec).toEqual(spec);
    });
  }
});
