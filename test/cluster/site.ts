import { kubeconfigCredentials } from "../../src/kube/kubeconfig.ts";
import { createLog } from "../../src/log.ts";
import { clusterGuard, type PolicyRule, rbac } from "../../src/operator/rbac.ts";
import { type Operator, type OperatorOptions, startOperator } from "../../src/operator/run.ts";
import type { PlanSettings } from "../../src/plan/observed.ts";
import { type ControlPlane, waitFor } from "../support/cluster/index.ts";
import { type Objects, objectsOf } from "./objects.ts";
import { sharedPlane } from "./plane.ts";

/** A namespace with an operator that may do there exactly what the chart's rules say. */
export interface Site extends AsyncDisposable {
  plane: ControlPlane;
  namespace: string;
  objects: Objects;
  operator: Operator;
  settings: PlanSettings;
  /** Kubeconfig file of the operator's ServiceAccount. */
  kubeconfig: string;
  /** Stops the operator and starts it anew, as a rollout does. */
  restart(options?: Partial<OperatorOptions>): Promise<void>;
  /** One more replica of the operator, which waits for the lease. */
  startReplica(options?: Partial<OperatorOptions>): AsyncDisposable & { operator: Operator };
  /** Requests that wrote something other than the Lease, by `verb resource code`. */
  writes(): Promise<Record<string, number>>;
  /** All requests, by `verb resource code`. */
  requests(): Promise<Record<string, number>>;
  /** Lines that the operator logged. */
  log: Record<string, unknown>[];
  until<T>(what: string, probe: () => Promise<T | undefined | false>, deadline?: number): Promise<T>;
}

export interface SiteOptions {
  /** Rules to grant instead of the chart's. */
  rules?: PolicyRule[];
  settings?: Partial<PlanSettings>;
  /** Rules about what is in no namespace to grant instead of the chart's. */
  clusterRules?: PolicyRule[];
  /** Rules to grant in the operator's own namespace instead of the chart's. */
  leaderRules?: PolicyRule[];
  /** Serve all namespaces with a ClusterRole. Default: the site's own with a Role. */
  clusterWide?: boolean;
  operator?: Partial<OperatorOptions>;
}

const leaderTiming = { duration: 3000, renewDeadline: 2000, retry: 200 };
const settings: PlanSettings = {
  agent: {
    image: "netaminity:test",
    pullPolicy: "Never",
    pullSecrets: [],
    drainTimeout: 30,
    logLevel: "info",
    logFormat: "json",
  },
};

let sites = 0;

export async function startSite(name: string, options: SiteOptions = {}): Promise<Site> {
  const plane = await sharedPlane();
  sites += 1;
  const namespace = `${name}-${sites}`;
  await plane.createNamespace(namespace);
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, "operator");
  await grant(plane, namespace, options);
  const log: Record<string, unknown>[] = [];
  const start = (more: Partial<OperatorOptions> = {}) =>
    startOperator({
      credentials: kubeconfigCredentials(kubeconfig),
      settings: { ...settings, ...options.settings },
      namespaces: options.clusterWide === true ? [] : [namespace],
      workers: 4,
      leaseNamespace: namespace,
      version: "test",
      log: createLog({ level: "debug", format: "json", write: (line) => log.push(JSON.parse(line)) }),
      timing: { leader: leaderTiming, watch: { firstBackoff: 50, maxBackoff: 500 } },
      ...options.operator,
      ...more,
    });
  const site: Site = {
    ...{ plane, namespace, kubeconfig, log, settings: { ...settings, ...options.settings } },
    objects: objectsOf(plane, namespace),
    operator: start(),
    async restart(more) {
      await site.operator.stop();
      site.operator = start(more);
    },
    startReplica(more) {
      const operator = start(more);
      return { operator, [Symbol.asyncDispose]: () => operator.stop() };
    },
    requests: () => requestsOf(site.operator),
    async writes() {
      const all = Object.entries(await requestsOf(site.operator));
      return Object.fromEntries(all.filter(([call]) => !/^(get|list|watch) | leases /.test(call)));
    },
    async until(what, probe, deadline = 30_000) {
      try {
        return await waitFor(what, { deadline, interval: 100 }, probe);
      } catch (error) {
        // The operator's last words are what one wants to read then.
        throw new Error(
          `operator: ${log
            .slice(-5)
            .map((line) => JSON.stringify(line))
            .join("\n")}`,
          { cause: error },
        );
      }
    },
    async [Symbol.asyncDispose]() {
      await site.operator.stop();
      await plane.api.request(`/api/v1/namespaces/${namespace}`, { method: "DELETE" });
      if (options.clusterWide === true) {
        await plane.kubectl(["delete", "clusterrole,clusterrolebinding", namespace, "--wait=false"]);
        await plane.kubectl(["delete", "role,rolebinding", namespace, "-n", clusterGuard.namespace, "--wait=false"]);
      }
    },
  };
  return site;
}

/** Binds the rules to the site's ServiceAccount, with the names that the chart would use. */
async function grant(
  plane: ControlPlane,
  namespace: string,
  {
    leaderRules = rbac.leaderElection,
    clusterRules = rbac.cluster,
    clusterWide,
    rules = clusterWide === true ? rbac.namespaced : [...rbac.namespaced, ...rbac.guard],
  }: SiteOptions,
): Promise<void> {
  const subject = { kind: "ServiceAccount", name: "operator", namespace };
  const group = "rbac.authorization.k8s.io";
  const binding = (kind: string, role: string, name: string) => ({
    apiVersion: `${group}/v1`,
    kind: `${kind}Binding`,
    metadata: { name, ...(kind === "Role" ? { namespace } : {}) },
    roleRef: { apiGroup: group, kind, name: role },
    subjects: [subject],
  });
  const role = (kind: string, name: string, granted: PolicyRule[]) => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, ...(kind === "Role" ? { namespace } : {}) },
    rules: granted,
  });
  const main =
    clusterWide === true
      ? [role("ClusterRole", namespace, [...rules, ...clusterRules]), binding("ClusterRole", namespace, namespace)]
      : [role("Role", "operator", rules), binding("Role", "operator", "operator")];
  await plane.apply([...main, role("Role", "leader", leaderRules), binding("Role", "leader", "leader")]);
  if (clusterWide === true) {
    const inSystem = (object: { metadata: object }) => ({
      ...object,
      metadata: { ...object.metadata, name: namespace, namespace: clusterGuard.namespace },
    });
    await plane.apply([
      inSystem(role("Role", namespace, rbac.clusterGuard)),
      inSystem(binding("Role", namespace, namespace)),
    ]);
  }
}

/** Whether this replica holds the lease now. */
export async function leads(operator: Operator): Promise<boolean> {
  return (await operator.metrics.leader.get()).values[0]?.value === 1;
}

async function requestsOf(operator: Operator): Promise<Record<string, number>> {
  const { values } = await operator.metrics.apiRequests.get();
  return Object.fromEntries(
    values.map(({ labels: { verb, resource, code }, value }) => [`${verb} ${resource} ${code}`, value]),
  );
}

/** Waits until the operator has nothing to do: no write and no reconcile for a while. */
export async function untilAtRest(site: Site): Promise<void> {
  let last = "";
  let since = performance.now();
  await site.until("operator at rest", async () => {
    const { values } = await site.operator.metrics.reconciles.get();
    const now = JSON.stringify([await site.writes(), values.map(({ value }) => value)]);
    if (now !== last) {
      last = now;
      since = performance.now();
    }
    return performance.now() - since > 400;
  });
}
