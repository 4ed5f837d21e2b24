/** What the operator's settings say for all agents: read whole, or refused with one line that names the field. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { readNetworkPolicy, readPodTemplate } from "../../src/commands/agent-defaults.ts";
import { operatorRole } from "../../src/config/operator.ts";
import { readSettings } from "../../src/config/read.ts";
import { UsageError } from "../../src/errors.ts";

const refusal = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return "accepted";
};

test("the documented podTemplate is accepted, without what is said on each object", async () => {
  const file = new URL("../fixtures/pod-template.yaml", import.meta.url);
  const { podTemplate } = parse(await Bun.file(file).text());
  const { hostNetwork: _network, healthPort: _port, distributeByNodes: _distribute, ...given } = podTemplate;
  expect(Object.keys(given).length).toBeGreaterThan(8);
  expect(readPodTemplate(given)).toEqual(given);
});

const wrongTemplates: Record<string, [given: Record<string, unknown>, line: string]> = {
  "a misspelled field": [{ toleration: [] }, "agent-pod-template: unknown field toleration"],
  "a field of each object": [
    { hostNetwork: true },
    "agent-pod-template: unknown field hostNetwork; hostNetwork, healthPort, distributeByNodes are set on each object",
  ],
  "a misspelled field further down": [
    { affinity: { nodeAfinity: {} } },
    "agent-pod-template: affinity: unknown field nodeAfinity",
  ],
  "an effect that is none": [
    { tolerations: [{ key: "a" }, { effect: "Never" }] },
    'agent-pod-template: tolerations[1].effect: Invalid option: expected one of "NoSchedule"|"PreferNoSchedule"|"NoExecute"',
  ],
  "a label of ours": [
    { labels: { "netaminity.exeteres.net/tunnel": "a" } },
    "agent-pod-template: labels: netaminity.exeteres.net/tunnel is set by the operator: consumers are led by it",
  ],
  "a label's value that is none": [
    { labels: { team: "a b" } },
    "agent-pod-template: labels.team: \"a b\" is no value of a label; accepted: letters, digits, '-', '_' and '.'",
  ],
  "a key that is none": [
    { nodeSelector: { "a/b/c": "x" } },
    'agent-pod-template: nodeSelector: "a/b/c" is no key that Kubernetes accepts',
  ],
  "an annotation's key that is none": [
    { annotations: { "": "x" } },
    'agent-pod-template: annotations: "" is no key that Kubernetes accepts',
  ],
  "a quantity that is none": [
    { resources: { requests: { cpu: "1 core" } } },
    'agent-pod-template: resources.requests.cpu: "1 core" is no quantity; accepted: for example 10m, 0.5 or 32Mi',
  ],
  "a number where text belongs": [
    { nodeSelector: { zone: 7 } },
    "agent-pod-template: nodeSelector.zone: Invalid input: expected string, received number",
  ],
};

const wrongPolicies: Record<string, [given: Record<string, unknown>, line: string]> = {
  nobody: [{ from: [] }, "agent-network-policy: from: "],
  "no peers at all": [{}, "agent-network-policy: from: "],
  "a peer that is nothing": [{ from: [{}] }, "agent-network-policy: from[0]: must have either an ipBlock"],
  "a peer that is two things": [
    { from: [{ podSelector: {} }, { podSelector: {}, ipBlock: { cidr: "192.0.2.0/24" } }] },
    "agent-network-policy: from[1]: must have either an ipBlock",
  ],
  "a range that is none": [
    { from: [{ ipBlock: { cidr: "192.0.2.0/33" } }] },
    "agent-network-policy: from[0].ipBlock.cidr: must be a range of addresses, for example 192.0.2.0/24",
  ],
  "an exception that is as large as the whole": [
    { from: [{ ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.0/24"] } }] },
    "agent-network-policy: from[0].ipBlock.except: 192.0.2.0/24 is no range of addresses that lies within 192.0.2.0/24",
  ],
  "an exception elsewhere": [
    { from: [{ ipBlock: { cidr: "2001:db8::/32", except: ["192.0.2.0/25"] } }] },
    "agent-network-policy: from[0].ipBlock.except: 192.0.2.0/25 is no range of addresses that lies within 2001:db8::/32",
  ],
};

describe("refused for all agents is", () => {
  for (const [title, [given, line]] of Object.entries(wrongTemplates)) {
    test(title, () => expect(refusal(() => readPodTemplate(given))).toBe(line));
  }
  for (const [title, [given, line]] of Object.entries(wrongPolicies)) {
    test(title, () => expect(refusal(() => readNetworkPolicy(given))).toStartWith(line));
  }
});

test("peers of every form may consume", () => {
  const from = [
    { podSelector: { matchLabels: { app: "web" } }, namespaceSelector: {} },
    { ipBlock: { cidr: "2001:db8::/32", except: ["2001:db8:1::/48"] } },
  ];
  expect(readNetworkPolicy({ from })).toEqual({ from });
});

describe("the settings that carry it", () => {
  const template = { nodeSelector: { pool: "edge" }, tolerations: [{ operator: "Exists" }] };
  const read = (args: string[], environment: Record<string, string> = {}) =>
    readSettings(operatorRole, { args, environment }).values.agentPodTemplate;

  test("are JSON in a variable or a flag", () => {
    const text = JSON.stringify(template);
    expect(read([], { NETAMINITY_AGENT_POD_TEMPLATE: text })).toEqual(template);
    expect(read(["--agent-pod-template", text])).toEqual(template);
    expect(read([])).toBeUndefined();
  });

  test.each(["[]", "null", "7", "{", "nodeSelector"])("are nothing else, as %s", (text) => {
    expect(refusal(() => read([], { NETAMINITY_AGENT_POD_TEMPLATE: text }))).toBe(
      `agent-pod-template was given ${JSON.stringify(text)} by the variable NETAMINITY_AGENT_POD_TEMPLATE; accepted: a JSON object (in a config file a mapping)`,
    );
  });

  test("are a mapping in a config file, which no other setting may be", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-config-"));
    const file = join(folder.path, "netaminity.yaml");
    const fromFile = (content: string) => {
      writeFileSync(file, content);
      return read(["--config", file]);
    };
    expect(
      fromFile("agentPodTemplate:\n  nodeSelector: {pool: edge}\n  tolerations:\n    - operator: Exists\n"),
    ).toEqual(template);
    expect(refusal(() => fromFile("agentPodTemplate: [a]"))).toContain(
      "agentPodTemplate was given [a]; accepted: a JSON",
    );
    expect(refusal(() => fromFile("proxyHost: {a: b}"))).toContain("proxyHost was given {a: b}; accepted: a name");
  });
});
