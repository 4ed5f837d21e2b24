import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operatorRole } from "../../src/config/operator.ts";
import { readSettings } from "../../src/config/read.ts";
import { UsageError } from "../../src/errors.ts";

setDefaultTimeout(60_000);

/** The values that an operator reads from a file with this content, or the one line that refuses it. */
async function read(
  content: string | Uint8Array,
  file?: string,
): Promise<{ values?: ReturnType<typeof valuesIn>; refusal?: string }> {
  if (file === undefined) {
    await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-config-"));
    return await read(content, join(folder.path, "netaminity.yaml"));
  }
  writeFileSync(file, content);
  try {
    return { values: valuesIn(file) };
  } catch (error) {
    // Whoever starts the program sees one line without a stack for this class alone, and exit code 2.
    if (!(error instanceof UsageError)) throw error;
    return { refusal: error.message.replaceAll(file, "FILE") };
  }
}

const valuesIn = (file: string) => readSettings(operatorRole, { args: ["--config", file], environment: {} }).values;

const operatorValues = async (content: string) => (await read(content)).values;

describe("a value is what is written", () => {
  test.each([
    ["namespace: 007", ["007"]],
    ["namespace: 0x1f", ["0x1f"]],
    ["namespace: 1e3", ["1e3"]],
    ["namespace: [007, 'a', \"b\", true, 10]", ["007", "a", "b", "true", "10"]],
    ["namespace:\n  - 0o17\n  - no", ["0o17", "no"]],
    ["namespace: 12345678901234567890123", ["12345678901234567890123"]],
    ["%YAML 1.1\n---\nnamespace: 0777", ["0777"]],
    ["\ufeffnamespace: red", ["red"]],
    ["---\nnamespace: red\n...\n", ["red"]],
    ['{"namespace": ["007", "red"]}', ["007", "red"]],
    ["namespace: >-\n  red", ["red"]],
  ])("%j", async (content, namespace) => {
    expect((await operatorValues(content))?.namespace).toEqual(namespace);
  });

  test("also where the text is a number, a duration, a version or a truth to YAML", async () => {
    const values = await operatorValues(
      ["agentImage: 1.10", "workers: 4", "drainTimeout: 1m30s", "leaderElect: False", "proxyHost: 192.0.2.1"].join(
        "\n",
      ),
    );
    const { agentImage, workers, drainTimeout, leaderElect, proxyHost } = values ?? {};
    expect([agentImage, workers, drainTimeout, leaderElect, proxyHost] as unknown[]).toEqual([
      "1.10",
      4,
      90_000,
      false,
      "192.0.2.1",
    ]);
  });

  test.each(["namespace:", "namespace: ~", "namespace: null", "", "---", "null", "# nothing"])(
    "nothing is given by %j",
    async (content) => {
      expect((await operatorValues(content))?.namespace).toBe(undefined as never);
    },
  );
});

describe("what is more than plain values is refused in one line", () => {
  const plain = "accepted: plain values, without anchors, aliases and tags";
  test.each([
    ["an alias", "logLevel: &a info\nlogFormat: *a", `config file FILE: an anchor at line 1; ${plain}`],
    [
      "an alias to nowhere",
      "logLevel: *a",
      "config file FILE: an alias at line 1; accepted: plain values, without anchors, aliases and tags",
    ],
    ["an anchor of the whole", "&a\nlogLevel: info", `config file FILE: an anchor at line 2; ${plain}`],
    ["an alias to itself", "logLevel: &a [*a]", `config file FILE: an anchor at line 1; ${plain}`],
    ["a tag", "workers: !!str 4", `config file FILE: a tag at line 1; ${plain}`],
    ["a tag of somebody", "workers: !mine 4", `config file FILE: a tag at line 1; ${plain}`],
    ["a merge", "<<: {logLevel: info}", 'config file FILE: unknown key "<<"; see --help'],
    [
      "a key given twice",
      "workers: 1\nworkers: 2",
      "config file FILE is not YAML: Map keys must be unique at line 2, column 1",
    ],
    [
      "two documents",
      "workers: 1\n---\nworkers: 2",
      "config file FILE holds more than one document; accepted: one YAML mapping",
    ],
    ["a list as key", "? [a, b]\n: 1", 'config file FILE: unknown key "[a, b]"; see --help'],
    ["a key of objects", "__proto__: {logLevel: info}", 'config file FILE: unknown key "__proto__"; see --help'],
    [
      "a list in a list",
      "namespace: [[a]]",
      "config file FILE: namespace was given [[a]]; accepted: the name of a namespace; several are separated by commas",
    ],
    ["an open quotation", 'namespace: "a', 'config file FILE is not YAML: Missing closing "quote at line 1, column 14'],
    [
      "a value that is long",
      `workers: [${"[1, 2], ".repeat(40)}]`,
      `config file FILE: workers was given ${`[${"[1, 2], ".repeat(40)}`.slice(0, 80)}...; accepted: a whole number from 1 to 64`,
    ],
    ["a text alone", "namespace", "config file FILE: accepted: a YAML mapping of setting names to values"],
  ])("%s", async (_, content, refusal) => {
    expect(await read(content)).toEqual({ refusal });
  });

  test("bytes that are no text, a file that is too large, and one that has no end", async () => {
    expect((await read(new Uint8Array([0x61, 0x3a, 0xff]))).refusal).toBe("config file FILE is not UTF-8 text");
    expect((await read("#".repeat(1_048_577))).refusal).toBe("config file FILE is larger than 1048576 bytes");
    expect(() => valuesIn("/dev/zero")).toThrow("config file /dev/zero is larger than 1048576 bytes");
    expect(() => valuesIn("/")).toThrow('config: "/" cannot be read; accepted: the path of a YAML file');
  });

  test("a nesting too deep for any parser", async () => {
    for (const content of [
      "[".repeat(30_000),
      `namespace: ${"[".repeat(20_000)}${"]".repeat(20_000)}`,
      `${"- ".repeat(30_000)}a`,
    ]) {
      const { refusal } = await read(content);
      expect(refusal).toStartWith("config file FILE");
      expect(refusal?.includes("\n")).toBeFalse();
    }
  });
});

/** A generator of numbers below `limit` that gives the same ones for a seed (constants of Numerical Recipes). */
function numbers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const fragments = [
  ...[
    "namespace",
    "workers",
    "logLevel",
    "listen",
    "acceptProxyProtocol",
    "leaderElect",
    "proxyHost",
    "<<",
    "__proto__",
  ],
  ...[
    ": ",
    ":\n",
    "\n",
    "\n  ",
    "- ",
    "? ",
    ", ",
    "[",
    "]",
    "{",
    "}",
    "|\n",
    ">-\n",
    "#",
    "'",
    '"',
    "\\x",
    "\t",
    "\r",
    "\0",
  ],
  ...["&a ", "*a", "!!str ", "!!map ", "!!binary ", "!x ", "! ", "%YAML 1.1\n", "%TAG ! x\n", "---\n", "...\n"],
  ...[
    "007",
    "1.10",
    ".inf",
    "~",
    "null",
    "True",
    "yes",
    "0x1",
    "2001-01-01",
    "info",
    "[::]:1",
    "\ufeff",
    "\ufffd",
    "é",
  ],
];

test("any text is read or refused in one line", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-config-"));
  const random = numbers(20_260_101);
  for (let round = 0; round < 600; round += 1) {
    const content = Array.from({ length: 1 + random(14) }, () => fragments[random(fragments.length)]).join("");
    const { refusal } = await read(content, join(folder.path, "netaminity.yaml")).catch((cause) => {
      throw new Error(`round ${round}: ${JSON.stringify(content)}`, { cause });
    });
    expect(refusal ?? "", JSON.stringify(content)).not.toMatch(/[\r\n]/);
  }
});
