import { describe, expect, test } from "bun:test";
import manifest from "../../package.json" with { type: "json" };
import { type Import, importsOf, loadedWith, sourceImports } from "./imports.ts";
import { textOf } from "./sources.ts";

const imports = await sourceImports();
const all = [...imports.values()].flat();

/** Parts of the program and what each may import beside itself; a name with a dot is a file of src. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  agent: ["endpoint.ts", "errors.ts", "fingerprint.ts", "log.ts", "metrics.ts", "names.ts", "secret.ts", "via.ts"],
  api: ["endpoint.ts", "errors.ts", "names.ts"],
  desired: ["api", "endpoint.ts", "names.ts"],
  plan: ["api", "desired", "endpoint.ts", "names.ts", "secret-text.ts"],
  // Knows Kubernetes, and nothing of our kinds.
  kube: ["errors.ts", "log.ts"],
  // An optional role: nothing but its command loads it.
  node: ["errors.ts", "kube", "log.ts", "metrics.ts", "names.ts"],
  operator: [
    "api",
    "desired",
    "endpoint.ts",
    "errors.ts",
    "fingerprint.ts",
    "kube",
    "log.ts",
    "metrics.ts",
    "names.ts",
    "plan",
    "secret-text.ts",
  ],
  publish: ["errors.ts", "kube", "log.ts", "metrics.ts", "names.ts"],
  // Its own I/O is in examine-by-hand.ts and prove-secret.ts (agent) and cluster.ts (kube): see below.
  doctor: [
    "agent",
    "api",
    "config",
    "desired",
    "endpoint.ts",
    "errors.ts",
    "kube",
    "names.ts",
    // The pure plan of a node's tables: what it says of a Service.
    "node",
    "plan",
    "secret-text.ts",
    "via.ts",
  ],
  // What the page loads of it is nothing but types.
  dashboard: ["api", "doctor", "errors.ts", "names.ts", "plan"],
  // What the other side is given, and how both sides change it: pure.
  share: ["api", "desired", "doctor", "endpoint.ts", "names.ts", "plan", "secret-text.ts"],
  config: ["endpoint.ts", "errors.ts", "log.ts", "names.ts", "via.ts"],
  commands: [
    "agent",
    "api",
    "config",
    "dashboard",
    "desired",
    "doctor",
    "endpoint.ts",
    "errors.ts",
    "fingerprint.ts",
    "health.ts",
    "kube",
    "log.ts",
    "metrics.ts",
    "names.ts",
  ].concat(["node", "operator", "plan", "publish", "secret-text.ts", "secret.ts", "share", "via.ts"]),
};

/** `src/agent/pipe.ts` -> `agent`, `src/log.ts` -> `log.ts`. */
function partOf(path: string): string {
  return path.split("/")[1] ?? path;
}

const describeImport = ({ from, to }: Import) => `${from} imports ${to}`;

test("the page of the dashboard loads nothing of the program, and the program nothing of the page", () => {
  const isPage = (path: string) => path.startsWith("src/dashboard/page/");
  const inward = all.filter(
    ({ from, to, typeOnly }) => isPage(from) && !isPage(to) && to.startsWith("src/") && !typeOnly,
  );
  const outward = all.filter(({ from, to }) => !isPage(from) && isPage(to));
  expect([...inward, ...outward].map(describeImport)).toEqual([]);
});

describe.each(Object.entries(allowed))("src/%s", (part, others) => {
  test("imports only the parts that it may", () => {
    const own = all.filter(
      ({ from, to }) => partOf(from) === part && from.split("/").length > 2 && to.startsWith("src/"),
    );
    const wrong = own.filter(({ to }) => partOf(to) !== part && !others.includes(partOf(to)));
    expect(wrong.map(describeImport)).toEqual([]);
  });
});

test("files directly in src import only each other, except the entry", () => {
  const wrong = all.filter(
    ({ from, to }) => from.split("/").length === 2 && to.split("/").length > 2 && to.startsWith("src/"),
  );
  expect(wrong.map(describeImport)).toEqual(["src/main.ts imports src/commands/root.ts"]);
});

test("the doctor asks agents in two files and the API server in another; all that decides is pure", () => {
  const inputs = all.filter(({ from, to }) => partOf(from) === "doctor" && ["agent", "kube"].includes(partOf(to)));
  expect([...new Set(inputs.map(({ from, to }) => `${from}: ${partOf(to)}`))]).toEqual([
    "src/doctor/cluster.ts: kube",
    "src/doctor/examine-by-hand.ts: agent",
    "src/doctor/prove-secret.ts: agent",
  ]);
});

test("what publishes decides without I/O", () => {
  const pure = ["kube-node", "prefix", "netmaker-hosts", "netmaker-plan", "netmaker-rules"].map(
    (name) => `src/publish/${name}.ts`,
  );
  const loaded = pure.flatMap((path) => [...loadedWith(path, imports).keys()]);
  expect([...new Set(loaded)].filter((path) => !pure.includes(path)).sort()).toEqual(["node:net", "src/names.ts"]);
});

test("every part of src has a rule", () => {
  const parts = new Set([...imports.keys()].filter((path) => path.split("/").length > 2).map(partOf));
  expect([...parts].filter((part) => !(part in allowed))).toEqual([]);
});

test("relative imports lead to files that are there, with their suffix", () => {
  const missing = all.filter(({ to }) => to.startsWith("src/") && !imports.has(to));
  expect(missing.map(describeImport)).toEqual([]);
});

test("of packages that are needed only for development, types alone are imported", () => {
  const packages = Object.keys(manifest.devDependencies);
  const wrong = all.filter(({ to, typeOnly }) => !typeOnly && packages.some((name) => `${to}/`.startsWith(`${name}/`)));
  expect(wrong.filter(({ to }) => to !== "bun").map(describeImport)).toEqual([]);
  expect(all.some(({ to, typeOnly }) => typeOnly && to === "@kubernetes/client-node")).toBe(true);
});

test("kube knows nothing of our kinds", async () => {
  const files = [...imports.keys()].filter((path) => partOf(path) === "kube");
  expect(files.length).toBeGreaterThan(10);
  const texts = await Promise.all(files.map(async (path) => [path, await textOf(path)] as const));
  // The word is also that of subresources, `pods/proxy`, so not Proxy.
  expect(texts.filter(([, text]) => /netaminity|tunnel/i.test(text)).map(([path]) => path)).toEqual([]);
});

test.each(["src/main.ts", "src/commands/root.ts", "src/commands/proxy.ts", "src/commands/target.ts"])(
  "%s loads neither a Kubernetes client nor the operator nor the doctor",
  (entry) => {
    const loaded = loadedWith(entry, imports);
    expect(loaded.size).toBeGreaterThan(1);
    const heavy = ["api", "kube", "operator", "doctor"];
    const wrong = [...loaded].filter(([path]) => path.startsWith("@kubernetes/") || heavy.includes(partOf(path)));
    expect(wrong.map(([path, by]) => `${path} by ${by}`)).toEqual([]);
  },
);

test.each([
  "main",
  "commands/root",
  "commands/operator",
  "commands/proxy",
  "commands/target",
  "commands/doctor",
  "commands/status",
  "commands/dashboard",
])("src/%s.ts loads nothing of the optional role publish", (entry) => {
  const loaded = loadedWith(`src/${entry}.ts`, imports);
  expect([...loaded.keys()].filter((path) => partOf(path) === "publish")).toEqual([]);
});

test("the check itself sees what is loaded: the operator's command reaches the client of the API server", () => {
  expect([...loadedWith("src/commands/operator.ts", imports).keys()]).toContain("src/kube/kube.ts");
});

test("packages are those of package.json, and each of them is used", () => {
  const packages = all
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ to }) => /^(@[^/]+\/[^/]+|[^./@][^/]*)/.exec(to)?.[0])
    .filter(
      (name) =>
        name !== undefined &&
        !["src", "bun", "dist", "examples", "package.json"].includes(name) &&
        !/^(node|bun):/.test(name),
    );
  expect([...new Set(packages)].sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

test("imports are told apart by when they load", () => {
  const text = `
    import { a } from "../log.ts";
    import type { B } from "./b.ts";
    import "node:fs";
    console.log(a);
    const c = await import("./c.ts");
  `;
  expect(importsOf("src/agent/x.ts", text)).toEqual([
    { from: "src/agent/x.ts", to: "src/log.ts", static: true, typeOnly: false },
    { from: "src/agent/x.ts", to: "node:fs", static: true, typeOnly: false },
    { from: "src/agent/x.ts", to: "src/agent/c.ts", static: false, typeOnly: false },
    { from: "src/agent/x.ts", to: "src/agent/b.ts", static: true, typeOnly: true },
  ]);
});
