import { expect, test } from "bun:test";
import { join } from "node:path";
import { reportGuarantees } from "../../src/agent/net/guarantees.ts";
import { startProxy } from "../../src/agent/proxy/proxy.ts";
import { startTarget } from "../../src/agent/target/target.ts";
import { createLog } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import { createNodeMetrics } from "../../src/node/metrics.ts";
import { createOperatorMetrics } from "../../src/operator/metrics.ts";
import { createPublishMetrics } from "../../src/publish/metrics.ts";

const root = join(import.meta.dir, "../..");
const page = await Bun.file(join(root, "docs/reference/metrics.md")).text();

/** Rows of the table below a heading: name, type, labels, meaning. */
function rowsBelow(heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return section.split("\n").filter((line) => line.startsWith("| `"));
}

interface Described {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
}

const rowOf = ({ name, type, help, labels }: Described) =>
  `| \`${name}\` | ${type} | ${labels.length === 0 ? "-" : labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;

/** The metrics of our own in an exposition; the labels of those that have no sample yet come from `known`. */
function describedIn(text: string, known: ReadonlyMap<string, readonly string[]>): Described[] {
  return [...text.matchAll(/^# HELP (netaminity_\S+) (.+)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = "", help = "", type = ""]) => ({
      ...{ name, help, type },
      labels: known.get(name) ?? [],
    }),
  );
}

/** prom-client's metrics know their names and labels, though its types keep quiet about it. */
function labelsOf(metrics: object): Map<string, readonly string[]> {
  const all = Object.values(metrics) as { name?: string; labelNames?: readonly string[] }[];
  return new Map(all.flatMap(({ name, labelNames = [] }) => (name === undefined ? [] : [[name, labelNames] as const])));
}

const local = { host: "127.0.0.1", port: 0 };
const secrets = { current: ["a secret"] };
const log = createLog({ level: "error", format: "json", write: () => {} });

async function agentMetrics(): Promise<Described[]> {
  const ofProxy = createMetrics();
  reportGuarantees(log, ofProxy);
  const proxy = await startProxy({
    ...{ listen: local, consumerListen: local, deadline: 1000, acceptProxyProtocol: false, encryption: "optional" },
    secrets,
    log,
    metrics: ofProxy,
  });
  const ofTarget = createMetrics();
  const target = await startTarget({
    ...{
      proxyEndpoint: { host: "127.0.0.1", port: proxy.rendezvousPort },
      endpoint: local,
      deadline: 1000,
      borePort: undefined,
      encryption: "off",
    },
    ...{ poolMin: 0, poolMax: 1, sendProxyProtocol: "off", secrets, log, metrics: ofTarget },
  });
  const texts = await Promise.all([ofProxy, ofTarget].map(async (metrics) => (await metrics.expose()).body));
  target.stop();
  proxy.stop();
  const all = texts.flatMap((text) => describedIn(text, labelsOf(ofProxy)));
  // The help of a gauge that both roles have may say more at one of them; the page has the first.
  return [...new Map(all.toReversed().map((each) => [each.name, each])).values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

test("the page lists every metric of the agents, with type, labels and help", async () => {
  expect(rowsBelow("Proxy and target")).toEqual((await agentMetrics()).map(rowOf));
});

test.each([
  ["Operator", createOperatorMetrics],
  ["Node", createNodeMetrics],
  ["Publish", createPublishMetrics],
] as const)("the page lists every metric of the role %s", (heading, create) => {
  const all = create().registry.getMetricsAsArray() as unknown as (Omit<Described, "labels"> & {
    labelNames: string[];
  })[];
  const rows = all.map((metric) => rowOf({ ...metric, labels: metric.labelNames })).sort();
  expect(rowsBelow(heading)).toEqual(rows);
});

test("the page explains every result of a stream", async () => {
  const source = await Bun.file(join(root, "src/metrics.ts")).text();
  const union = source.split("export type StreamResult =")[1]?.split(";")[0] ?? "";
  const words = [...union.matchAll(/"(\w+)"/g)].map(([, word]) => word);
  expect(words.length).toBeGreaterThan(5);
  expect(rowsBelow("Results of streams").map((row) => row.split("`")[1])).toEqual(words as string[]);
});
