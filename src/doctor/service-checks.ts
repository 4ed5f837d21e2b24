import { families } from "../node/address.ts";
import { readyEndpoints } from "../node/endpoint.ts";
import { askedMode } from "../node/mode.ts";
import { wholeIpAnnotation } from "../node/names.ts";
import type { ObservedService } from "../node/observed.ts";
import { planNode } from "../node/plan.ts";
import { broken, type Check, deciding, ok, remark, skipped, unknown } from "./check.ts";
import { type RoleFacts, type ServiceFacts, settingsOfRole } from "./examine-service.ts";
import { type Found, seen } from "./facts.ts";

const [asks, role, address, pod, mapping, table] = [
  "Service",
  "role node",
  "load balancer address",
  "pod",
  "address to pod",
  "table on the pod's node",
] as const;

/** The checks of a whole-IP Service, in the order in which they depend on each other. */
export function servicePath(name: string, facts: ServiceFacts): Check[] {
  const service = seen(facts.service);
  if (service === undefined) {
    return [
      "absent" in facts.service
        ? broken(asks, `there is no Service ${name}`, "Look at its name and namespace.")
        : unknown(asks, reasonOf(facts.service)),
    ];
  }
  const [daemonSet] = seen(facts.roles) ?? [];
  const first = [asked(service, daemonSet), runs(facts.roles), hasAddress(service)];
  if (first.some(({ outcome }) => outcome === "broken")) {
    return first;
  }
  return [...first, hasPod(facts), leads(service, facts, daemonSet), isInKernel(facts)];
}

function reasonOf(look: Found<unknown>): string {
  return "unknown" in look ? look.unknown : "it cannot be read";
}

function asked(service: ObservedService, daemonSet: RoleFacts | undefined): Check {
  const compat = daemonSet === undefined ? false : settingsOfRole(daemonSet).compatCozystack;
  const mode = askedMode(service, compat);
  if (mode === undefined) {
    const withSwitch = !compat && askedMode(service, true) !== undefined;
    return broken(
      asks,
      withSwitch
        ? "it asks for its whole address in cozy-proxy's words, which are not served here"
        : "it does not ask for its whole address",
      withSwitch ? "Set node.compat.cozystack=true in the chart." : `Annotate it with ${wholeIpAnnotation}: "true".`,
    );
  }
  if ("wrong" in mode) {
    return broken(asks, mode.wrong, "Correct the annotation.");
  }
  const icmp = mode.mode.icmp ? "with ICMP" : "without ICMP echo";
  return ok(asks, mode.mode.ports === "all" ? "it asks for its whole address" : `it asks for its own ports, ${icmp}`);
}

function runs(roles: ServiceFacts["roles"]): Check {
  const found = seen(roles);
  if (found === undefined) {
    return unknown(role, `DaemonSets cannot be read: ${reasonOf(roles)}`);
  }
  const [daemonSet] = found;
  if (daemonSet === undefined) {
    return broken(role, "no DaemonSet of the role node is there", "Set node.enabled=true in the chart.");
  }
  const { metadata, status: { numberReady = 0, desiredNumberScheduled = 0 } = {} } = daemonSet;
  const count = `${numberReady} of ${desiredNumberScheduled} pods of DaemonSet ${metadata.namespace}/${metadata.name} are ready`;
  return numberReady < desiredNumberScheduled
    ? remark(role, count, `See: kubectl get pods -n ${metadata.namespace} -l app.kubernetes.io/component=node -o wide`)
    : ok(role, count);
}

function hasAddress({ status }: ObservedService): Check {
  const ingress = status?.loadBalancer?.ingress ?? [];
  const addresses = ingress.flatMap(({ ip }) => ip ?? []);
  return addresses.length > 0
    ? ok(address, addresses.join(", "))
    : broken(
        address,
        "status.loadBalancer has no address",
        "Something else has to give it one, for example MetalLB: see its Events and log.",
      );
}

function hasPod({ slices }: ServiceFacts): Check {
  const found = seen(slices);
  if (found === undefined) {
    return unknown(pod, `EndpointSlices cannot be read: ${reasonOf(slices)}`);
  }
  const ready = families.flatMap((family) => readyEndpoints(found, family));
  return ready.length === 0
    ? broken(pod, "no endpoint is ready", "See whether its selector finds a pod, and why that is not Ready.")
    : ok(pod, ready.map((each) => `${each.address.text} on ${each.node ?? "no node"}`).join(", "));
}

function leads(service: ObservedService, facts: ServiceFacts, daemonSet: RoleFacts | undefined): Check {
  const [services, slices, nodes] = [seen(facts.services), seen(facts.slices), seen(facts.nodes)];
  if (services === undefined || slices === undefined || nodes === undefined || daemonSet === undefined) {
    return unknown(mapping, "the Services, EndpointSlices, Nodes or DaemonSets of the cluster cannot all be read");
  }
  const { namespace, name, uid } = service.metadata;
  const slicesOf = (of: string, wanted: string) => {
    if (of === namespace && wanted === name) return slices;
    return of === "default" && wanted === "kubernetes" ? (seen(facts.apiServer) ?? []) : [];
  };
  const plan = planNode({ services, slicesOf, nodes }, settingsOfRole(daemonSet));
  const notes = plan.notes.filter((note) => note.service.metadata.uid === uid).map(({ message }) => message);
  const mapped = plan.mappings.filter((each) => each.service === `${namespace}/${name}`);
  const lead = mapped.map((each) => `${each.address.text} leads to ${each.endpoint.text}`).join(", ");
  const next = "docs/node.md explains each reason.";
  if (mapped.length === 0) {
    return broken(mapping, notes.join("; ") || "no address has a pod of its family", next);
  }
  return deciding(notes.length === 0 ? ok(mapping, lead) : remark(mapping, `${lead}; but ${notes.join("; ")}`, next));
}

function isInKernel({ table: asked }: ServiceFacts): Check {
  if (asked === undefined) {
    return skipped(table, "there is nobody to ask");
  }
  const { node, readiness } = asked;
  if ("absent" in readiness) {
    return broken(table, `the role has no pod on ${node}`, "See node.tolerations and node.nodeSelector of the chart.");
  }
  if ("unknown" in readiness) {
    return unknown(table, `its pod on ${node} cannot be asked: ${readiness.unknown}`);
  }
  return readiness.found === "ready"
    ? deciding(ok(table, `the pod of the role on ${node} says that the kernel has it`))
    : broken(table, `the pod of the role on ${node} says: ${readiness.found}`, "See its log.");
}
