import { describe, expect, test } from "bun:test";
import { RefusedError } from "../../../src/kube/errors.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import type { CachedObject, Caches } from "../../../src/operator/caches.ts";
import { createChildWriter } from "../../../src/operator/child.ts";
import type { DesiredObject } from "../../../src/plan/plan.ts";

const owner = { metadata: { uid: "owner" } };
const ownerReferences = [{ apiVersion: "v1", kind: "Proxy", name: "db", uid: "owner", controller: true }];
const metadata = { name: "db", namespace: "demo", ownerReferences };
const ports = [{ name: "consumers", port: 80 }];
const wanted = { apiVersion: "v1", kind: "Service", metadata, spec: { type: "ClusterIP", ports } } as DesiredObject;
const theirPorts = [{ name: "consumers", port: 8080 }];

/** A writer over an API server that refuses the first applies with these messages: a real one has its own mind about what is wrong. */
function rig(refusals: string[], livePorts: object[]) {
  const calls: unknown[] = [];
  const live = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, uid: "u", resourceVersion: "1" },
    spec: { type: "NodePort", ports: livePorts },
  } as CachedObject;
  const kube = {
    apply: async () => {
      calls.push("apply");
      const message = refusals.shift();
      if (message !== undefined) throw new RefusedError(422, { message }, "apply");
      return live;
    },
    mergePatch: async ({ body }: { body: unknown }) => {
      calls.push(body);
      return live;
    },
  } as unknown as Kube;
  const caches = { storeOf: () => ({ get: () => live, put: () => {} }), trim: (object: CachedObject) => object };
  const writer = createChildWriter(kube, caches as unknown as Caches);
  return { calls, apply: () => writer.apply(owner, wanted, new AbortController().signal) };
}

const written = { metadata: { uid: "u" }, spec: { ports } };
const failure = (message: string) => ({
  kind: "invalid" as const,
  object: { apiVersion: "v1", kind: "Service", name: "db" },
  message,
});

describe("an apply that is refused", () => {
  test("is tried again after the lists that somebody has changed are put back, and nothing but them", async () => {
    const { calls, apply } = rig(["Duplicate value"], theirPorts);
    expect(await apply()).toBeUndefined();
    expect(calls).toEqual(["apply", written, "apply"]);
  });

  test("is told of when it was not for the lists, though they were put back", async () => {
    const { calls, apply } = rig(["Duplicate value", "quota"], theirPorts);
    expect(await apply()).toEqual(failure("quota"));
    expect(calls).toEqual(["apply", written, "apply"]);
  });

  test("is told of at once when the lists are as wanted", async () => {
    const { calls, apply } = rig(["quota"], ports);
    expect(await apply()).toEqual(failure("quota"));
    expect(calls).toEqual(["apply"]);
  });
});
