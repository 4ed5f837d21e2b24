import type { Resource } from "../../src/kube/resources.ts";
import { resourcePath } from "../../src/kube/resources.ts";
import { groupVersion } from "../../src/names.ts";
import { ApiError, type ControlPlane } from "../support/cluster/index.ts";

/** An object as tests look at it: whatever the API server answers. */
// biome-ignore lint/suspicious/noExplicitAny: tests read paths of many kinds and fail plainly where one is absent.
export type Anything = any;

export interface Live {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
    deletionTimestamp?: string;
    generation?: number;
  };
  spec: Anything;
  status?: Anything;
  data?: Record<string, string>;
  endpoints?: { addresses: string[]; targetRef?: { name: string } }[];
}

/** Objects of one namespace, read and changed as an administrator. */
export interface Objects {
  get(resource: Resource, name: string): Promise<Live | undefined>;
  list(resource: Resource, labelSelector?: string): Promise<Live[]>;
  names(resource: Resource): Promise<string[]>;
  create(object: object): Promise<Live>;
  /** JSON merge patch: null removes a field. */
  patch(resource: Resource, name: string, change: object, subresource?: string): Promise<Live>;
  remove(resource: Resource, name: string, gracePeriodSeconds?: number): Promise<void>;
}

export function objectsOf(plane: ControlPlane, namespace: string): Objects {
  const path = (resource: Resource, name?: string, subresource?: string) =>
    resourcePath(resource, {
      namespace,
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
    });
  const orAbsent = async <T>(request: Promise<T>): Promise<T | undefined> => {
    try {
      return await request;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        return undefined;
      }
      throw error;
    }
  };
  const list = async (resource: Resource, labelSelector = "") => {
    const query = labelSelector === "" ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
    const { items } = await plane.api.request<{ items: Live[] }>(`${path(resource)}${query}`);
    return items.map((item) => ({ ...item, apiVersion: resource.apiVersion, kind: resource.kind }));
  };
  return {
    get: (resource, name) => orAbsent(plane.api.request<Live>(path(resource, name))),
    list,
    names: async (resource) => (await list(resource)).map((object) => object.metadata.name).sort(),
    create: async (object) => {
      const { kind, apiVersion } = object as Live;
      const resource = (await import("../../src/operator/resources.ts")).resourceOf({ kind, apiVersion });
      return plane.api.request<Live>(path(resource), { body: object });
    },
    patch: (resource, name, change, subresource) =>
      plane.api.request<Live>(path(resource, name, subresource), { method: "PATCH", body: change }),
    remove: async (resource, name, gracePeriodSeconds) => {
      const body = gracePeriodSeconds === undefined ? {} : { body: { gracePeriodSeconds } };
      await orAbsent(plane.api.request(path(resource, name), { method: "DELETE", ...body }));
    },
  };
}

/** A Tunnel that is valid; fields of `spec` replace those of the same name. */
export function makeTunnel(name: string, spec: object = {}) {
  return {
    apiVersion: groupVersion,
    kind: "Tunnel",
    metadata: { name },
    spec: { service: { name, port: 8000 }, target: { endpoint: "backend.demo.svc:8080" }, ...spec },
  };
}

export function makeProxy(name: string, spec: object = {}) {
  return {
    apiVersion: groupVersion,
    kind: "Proxy",
    metadata: { name },
    spec: { secretRef: { name: `${name}-key` }, service: { name, port: 8000 }, ...spec },
  };
}

export function makeTarget(name: string, spec: object = {}) {
  return {
    apiVersion: groupVersion,
    kind: "Target",
    metadata: { name },
    spec: {
      secretRef: { name: `${name}-key` },
      endpoint: "backend.demo.svc:8080",
      proxyEndpoint: "proxy.example.net:7835",
      ...spec,
    },
  };
}

export function makeSecret(name: string, data: Record<string, string> = { secret: "correct horse battery staple" }) {
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: data };
}

/** Whether an operator has written a status; before that the API server shows one of generation 0. */
export const isLookedAt = (object: Live | undefined): boolean => (object?.status?.observedGeneration ?? 0) > 0;

/** The condition of a type as `status reason`, for comparison as a whole. */
export function conditionOf(object: Live | undefined, type = "Ready"): string {
  const conditions: { type: string; status: string; reason: string }[] = object?.status?.conditions ?? [];
  const found = conditions.find((condition) => condition.type === type);
  return found === undefined ? "absent" : `${found.status} ${found.reason}`;
}
