import { BlockList, isIP } from "node:net";
import type { z } from "zod";
import { type NetworkPolicy, networkPolicy } from "../api/network-policy.ts";
import { type PodTemplate, podTemplateDefaults } from "../api/pod-template.ts";
import { quantityPattern } from "../api/resources.ts";
import { UsageError } from "../errors.ts";
import { apiGroup } from "../names.ts";

// What the operator's settings say for all agent pods has the schemas of the API. Its rules run in the API server only, which never sees these values, so what they
// and Kubernetes itself say about single values is said here: otherwise every Deployment would be refused, and nobody would be told at the start.

type Given = Readonly<Record<string, unknown>>;
type Complaint = string | undefined;

/** The podTemplate for all agents. Throws UsageError with one line that names the field. */
export function readPodTemplate(given: Given): PodTemplate {
  const template = parsed("agent-pod-template", podTemplateDefaults, given);
  complain("agent-pod-template", [
    ...keysAndValues("nodeSelector", template.nodeSelector),
    ...keysAndValues("labels", template.labels),
    ...Object.keys(template.annotations ?? {}).map((key) => keyComplaint("annotations", key)),
    ...Object.keys(template.labels ?? {}).map((key) =>
      key.startsWith(`${apiGroup}/`) ? `labels: ${key} is set by the operator: consumers are led by it` : undefined,
    ),
    ...quantitiesOf(template),
  ]);
  return template;
}

/** The networkPolicy of Proxies that have none of their own. Throws as above. */
export function readNetworkPolicy(given: Given): NetworkPolicy {
  const policy = parsed("agent-network-policy", networkPolicy, given);
  complain(
    "agent-network-policy",
    policy.from.flatMap(({ ipBlock, podSelector, namespaceSelector }, index) => {
      const place = `from[${index}]`;
      const isSelected = podSelector !== undefined || namespaceSelector !== undefined;
      return [
        (ipBlock !== undefined) === isSelected
          ? `${place}: must have either an ipBlock, or a podSelector, a namespaceSelector or both`
          : undefined,
        ...(ipBlock === undefined ? [] : rangesOf(`${place}.ipBlock`, ipBlock)),
      ];
    }),
  );
  return policy;
}

function parsed<Schema extends z.ZodType>(setting: string, schema: Schema, given: Given): z.output<Schema> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  const place = issue === undefined ? "" : pathText(issue.path);
  const what = issue?.code === "unrecognized_keys" ? unknownField(issue.keys, place) : issue?.message;
  throw new UsageError(`${setting}: ${place === "" ? "" : `${place}: `}${what}`);
}

/** Fields of a podTemplate that are not for all. */
const perObject = ["hostNetwork", "healthPort", "distributeByNodes"];

function unknownField(keys: readonly string[], place: string): string {
  const isPerObject = place === "" && keys.some((key) => perObject.includes(key));
  return `unknown field ${keys.join(", ")}${isPerObject ? `; ${perObject.join(", ")} are set on each object` : ""}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}

function complain(setting: string, complaints: readonly Complaint[]): void {
  const first = complaints.find((each) => each !== undefined);
  if (first !== undefined) throw new UsageError(`${setting}: ${first}`);
}

/** Kubernetes' qualified name: an optional DNS name with a slash, and 63 characters. */
const keyPattern =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valuePattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

function keyComplaint(field: string, key: string): Complaint {
  return keyPattern.test(key) ? undefined : `${field}: ${JSON.stringify(key)} is no key that Kubernetes accepts`;
}

function keysAndValues(field: string, map: Readonly<Record<string, string>> = {}): Complaint[] {
  return Object.entries(map).flatMap(([key, value]) => [
    keyComplaint(field, key),
    valuePattern.test(value)
      ? undefined
      : `${field}.${key}: ${JSON.stringify(value)} is no value of a label; accepted: letters, digits, '-', '_' and '.'`,
  ]);
}

function quantitiesOf({ resources = {} }: PodTemplate): Complaint[] {
  return Object.entries(resources).flatMap(([sort, quantities]) =>
    Object.entries(quantities).map(([name, quantity]) =>
      new RegExp(quantityPattern).test(`${quantity}`)
        ? undefined
        : `resources.${sort}.${name}: ${JSON.stringify(quantity)} is no quantity; accepted: for example 10m, 0.5 or 32Mi`,
    ),
  );
}

function rangesOf(place: string, { cidr, except = [] }: { cidr: string; except?: readonly string[] }): Complaint[] {
  const whole = range(cidr);
  if (whole === undefined) return [`${place}.cidr: must be a range of addresses, for example 192.0.2.0/24`];
  return except.map((each) => {
    const part = range(each);
    const isWithin = part !== undefined && part.bits > whole.bits && whole.list.check(part.address, part.family);
    return isWithin ? undefined : `${place}.except: ${each} is no range of addresses that lies within ${cidr}`;
  });
}

function range(text: string) {
  const [address = "", bits = ""] = text.split("/", 2);
  const version = isIP(address);
  if (version === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (version === 4 ? 32 : 128)) return undefined;
  const family: "ipv4" | "ipv6" = version === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return { address, bits: Number(bits), family, list };
}
