import { describe, expect, test } from "bun:test";
import type { Change, Origin } from "../../../src/kube/store.ts";
import { groupVersion, labels } from "../../../src/names.ts";
import type { CachedObject, Caches } from "../../../src/operator/caches.ts";
import { keysOf } from "../../../src/operator/watches.ts";

type Rest = {
  apiVersion?: string;
  labels?: Record<string, string>;
  owner?: string;
  version?: string;
  [field: string]: unknown;
};

function make(
  kind: string,
  name: string,
  { apiVersion = "v1", labels: own = {}, owner, version = "1", ...rest }: Rest = {},
): CachedObject {
  const [ownerKind = "", ownerName = ""] = owner?.split("/") ?? [];
  const reference = { apiVersion: groupVersion, kind: ownerKind, name: ownerName, uid: "owner", controller: true };
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace: "demo", uid: name, resourceVersion: version, labels: own },
      ...(owner === undefined ? {} : { ownerReferences: [reference] }),
    },
    ...rest,
  } as CachedObject;
}

const own = (kind: string, name: string, rest: Rest = {}) => make(kind, name, { apiVersion: groupVersion, ...rest });

/** Two users of the Secret `key`, and a pod of Proxy `db` on node `n1`. */
const caches = {
  proxies: { indexed: (key: string) => (key === "secret:demo/key" ? [own("Proxy", "db")] : []) },
  targets: { indexed: (key: string) => (key === "secret:demo/key" ? [own("Target", "web")] : []) },
  pods: {
    indexed: (key: string) => (key === "node:n1" ? [make("Pod", "p", { labels: { [labels.proxy]: "db" } })] : []),
  },
} as unknown as Caches;

const ready = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });

const cases: Record<string, [change: Change<CachedObject>, keys: string[], origin?: Origin]> = {
  "a new Tunnel: itself": [{ after: own("Tunnel", "t") }, ["Tunnel/demo/t"]],
  "a Proxy of a Tunnel: itself and the Tunnel": [
    { after: own("Proxy", "t-0", { owner: "Tunnel/t" }) },
    ["Proxy/demo/t-0", "Tunnel/demo/t"],
  ],
  "a user's Target that goes: itself and the Tunnel that may want its name": [
    { before: own("Target", "t-12") },
    ["Target/demo/t-12", "Tunnel/demo/t"],
  ],
  "our own status write: only who owns it": [
    {
      before: own("Proxy", "t-0", { owner: "Tunnel/t", status: {} }),
      after: own("Proxy", "t-0", { owner: "Tunnel/t", status: { replicas: 1 }, version: "2" }),
    },
    ["Tunnel/demo/t"],
    "write",
  ],
  "a status that somebody else wrote: itself": [
    {
      before: own("Tunnel", "t", { status: {} }),
      after: own("Tunnel", "t", { status: { replicas: 1 }, version: "2" }),
    },
    ["Tunnel/demo/t"],
  ],
  "nothing but another version: nobody": [
    { before: own("Tunnel", "t"), after: own("Tunnel", "t", { version: "2" }) },
    [],
  ],
  "a Service that loses its owner: the one that it had": [
    { before: make("Service", "s", { owner: "Proxy/db" }), after: make("Service", "s", { version: "2" }) },
    ["Proxy/demo/db"],
  ],
  "a Deployment of a stranger: nobody": [{ after: make("Deployment", "d", { apiVersion: "apps/v1" }) }, []],
  "a pod: the Proxy or Target of its labels": [
    { after: make("Pod", "p", { labels: { [labels.target]: "web" } }) },
    ["Target/demo/web"],
  ],
  "a Secret: all that use it, and the Tunnel that made it": [
    { after: make("Secret", "key", { owner: "Tunnel/t" }) },
    ["Tunnel/demo/t", "Proxy/demo/db", "Target/demo/web"],
  ],
  "a node that is lost: the Proxies with pods on it": [
    { before: make("Node", "n1", ready("True")), after: make("Node", "n1", { ...ready("Unknown"), version: "2" }) },
    ["Proxy/demo/db"],
  ],
  "a node that says again that it is well: nobody": [
    {
      before: make("Node", "n1", ready("True")),
      after: make("Node", "n1", { ...ready("True"), version: "2", spec: {} }),
    },
    [],
  ],
};

describe("a change makes them look again:", () => {
  for (const [name, [change, keys, origin = "watch"]] of Object.entries(cases)) {
    test(name, () => {
      expect(keysOf(change, origin, caches)).toEqual(keys);
    });
  }
});
