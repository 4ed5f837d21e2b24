import { describe, expect, test } from "bun:test";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operatorRole } from "../../src/config/operator.ts";
import { proxyRole } from "../../src/config/proxy.ts";
import { readSettings } from "../../src/config/read.ts";
import { allSettingNames } from "../../src/config/roles.ts";
import { targetRole } from "../../src/config/target.ts";
import { UsageError } from "../../src/errors.ts";

const required = ["--proxy-endpoint", "proxy.example.net:7835", "--endpoint", "api:8080"];

function readTarget(args: readonly string[] = [], environment: Record<string, string> = {}) {
  return readSettings(targetRole, { args: [...required, ...args], environment });
}

function readProxy(args: readonly string[] = [], environment: Record<string, string> = {}) {
  return readSettings(proxyRole, { args, environment });
}

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof UsageError) {
      return error.message;
    }
    throw error;
  }
  throw new Error("the settings were accepted");
}

/** A config file in a folder of its own. */
async function configFile(content: string) {
  const folder = await mkdtempDisposable(join(tmpdir(), "netaminity-config-"));
  const path = join(folder.path, "netaminity.yaml");
  await Bun.write(path, content);
  return { path, [Symbol.asyncDispose]: () => folder.remove() };
}

test("without any source every setting has its default", () => {
  expect(readProxy()).toEqual({
    values: {
      listen: { host: "::", port: 7835 },
      consumerListen: { host: "::", port: 30_080 },
      healthListen: { host: "::", port: 8080 },
      secretFile: undefined,
      secret: undefined,
      previousSecretFile: undefined,
      deadline: 6000,
      drainTimeout: 30_000,
      encryption: "optional",
      acceptProxyProtocol: false,
      logLevel: "info",
      logFormat: "pretty",
      config: undefined,
    },
    warnings: [],
  });
});

test("a flag wins over the environment, that over the file, and that over the default", async () => {
  await using file = await configFile("poolMin: 3\npoolMax: 30\nborePort: 300\n");
  const { values } = readTarget(["--config", file.path, "--pool-min=5"], {
    NETAMINITY_POOL_MIN: "4",
    NETAMINITY_POOL_MAX: "40",
  });
  const { poolMin, poolMax, borePort, deadline } = values;
  expect({ poolMin, poolMax, borePort, deadline }).toEqual({ poolMin: 5, poolMax: 40, borePort: 300, deadline: 6000 });
});

test("each role knows its own words of encryption, from every source", async () => {
  const off = await configFile("encryption: off\n");
  const required = await configFile("encryption: required\n");
  await using stack = new AsyncDisposableStack();
  stack.use(off);
  stack.use(required);
  const ofTarget = (...given: Parameters<typeof readTarget>) => readTarget(...given).values.encryption;
  const ofProxy = (...given: Parameters<typeof readProxy>) => readProxy(...given).values.encryption;
  expect([ofTarget(), ofTarget(["--config", off.path]), ofTarget(["--bore-port", "0"])]).toEqual(["off", "off", "off"]);
  expect(ofTarget(["--encryption", "required"])).toBe("required");
  expect(ofTarget(["--config", required.path])).toBe("required");
  expect([ofProxy(), ofProxy(["--encryption=required"])]).toEqual(["optional", "required"]);
  expect(ofProxy([], { NETAMINITY_ENCRYPTION: "required" })).toBe("required");
  expect(refusal(() => readTarget(["--encryption", "optional"]))).toBe(
    'encryption was given "optional" by --encryption; accepted: one of off, required',
  );
  expect(refusal(() => readProxy([], { NETAMINITY_ENCRYPTION: "off" }))).toBe(
    'encryption was given "off" by the variable NETAMINITY_ENCRYPTION; accepted: one of optional, required',
  );
});

test("the file can be named by the environment and gives values of every type", async () => {
  await using file = await configFile(
    'proxyEndpoint: "[::1]:7835"\nendpoint: db:5432\ndeadline: 10s\nsendProxyProtocol: v2\npoolMin: 7\nlogLevel:\n',
  );
  const { values } = readSettings(targetRole, { args: [], environment: { NETAMINITY_CONFIG: file.path } });
  const { proxyEndpoint, endpoint, deadline, sendProxyProtocol, poolMin, logLevel } = values;
  expect({ proxyEndpoint, endpoint, deadline, sendProxyProtocol, poolMin, logLevel }).toEqual({
    proxyEndpoint: { host: "::1", port: 7835 },
    endpoint: { host: "db", port: 5432 },
    deadline: 10_000,
    sendProxyProtocol: "v2",
    poolMin: 7,
    logLevel: "info",
  });
});

test.each([
  [["--accept-proxy-protocol"], true],
  [["--accept-proxy-protocol", "true"], true],
  [["--accept-proxy-protocol=true"], true],
  [["--accept-proxy-protocol", "--no-accept-proxy-protocol"], false],
  [["--accept-proxy-protocol", "false"], false],
  [["--accept-proxy-protocol=false", "--deadline", "9s"], false],
])("the switch %p gives %p", (args, value) => {
  expect(readProxy(args).values.acceptProxyProtocol).toBe(value);
});

test("a list collects repeated flags, commas and YAML lists, and the last of a repeated single flag wins", async () => {
  await using file = await configFile("namespace: [red, green]\n");
  const read = (args: string[]) => readSettings(operatorRole, { args, environment: {} }).values;
  expect(read(["--namespace", "red", "--namespace=green,blue"]).namespace).toEqual(["red", "green", "blue"]);
  expect(read(["--config", file.path]).namespace).toEqual(["red", "green"]);
  expect(read(["--workers", "2", "--workers", "8"]).workers).toBe(8);
});

test("variables of other programs are weaker than every source of ours", async () => {
  await using file = await configFile("leaderElectNamespace: from-file\n");
  const environment = { POD_NAMESPACE: "from-pod", KUBECONFIG: "/home/me/.kube/config" };
  const plain = readSettings(operatorRole, { args: [], environment }).values;
  expect([plain.leaderElectNamespace, plain.kubeconfig]).toEqual(["from-pod", "/home/me/.kube/config"]);
  const withFile = readSettings(operatorRole, { args: ["--config", file.path], environment }).values;
  expect(withFile.leaderElectNamespace).toBe("from-file");
});

test("an empty variable counts as absent", () => {
  expect(readProxy([], { NETAMINITY_LISTEN: "", NETAMINITY_DEADLINE: "" }).values.deadline).toBe(6000);
});

test("an unknown variable is a warning with a suggestion; those that Kubernetes makes for Services are none", () => {
  const { values, warnings } = readSettings(targetRole, {
    args: required,
    environment: {
      NETAMINITY_DRAIN_TIMOUT: "1s",
      NETAMINITY_CONSUMER_LISTEN: "[::]:1",
      NETAMINITY_PORT: "tcp://10.96.1.2:8080",
      NETAMINITY_PORT_8080_TCP_ADDR: "10.96.1.2",
      NETAMINITY_SERVICE_HOST: "10.96.1.2",
      NETAMINITY_SERVICE_PORT_METRICS: "8080",
      NETAMINITY_BORE_PORT: "tcp://10.96.1.3:7835",
      NETAMINITY_COMPLETELY_DIFFERENT: "x",
    },
    otherSettings: allSettingNames(),
  });
  expect(warnings).toEqual([
    "unknown environment variable NETAMINITY_COMPLETELY_DIFFERENT is ignored",
    "unknown environment variable NETAMINITY_DRAIN_TIMOUT is ignored (did you mean NETAMINITY_DRAIN_TIMEOUT?)",
  ]);
  expect(values.borePort).toBeUndefined();
});

describe("a mistake is one line that says which setting, what was given and what is accepted", () => {
  const duration = "a duration from 0s to 24h, such as 500ms, 10s or 2m";
  const mistakes: [string, string[], Record<string, string>, string][] = [
    [
      "a wrong flag",
      ["--drain-timeout", "5"],
      {},
      `drain-timeout was given "5" by --drain-timeout; accepted: ${duration}`,
    ],
    [
      "a wrong variable",
      [],
      { NETAMINITY_DRAIN_TIMEOUT: "soon" },
      `drain-timeout was given "soon" by the variable NETAMINITY_DRAIN_TIMEOUT; accepted: ${duration}`,
    ],
    ["an unknown flag", ["--lisen", "x"], {}, "unknown flag --lisen (did you mean --listen?); see --help"],
    ["an unlike flag", ["--tls"], {}, "unknown flag --tls; see --help"],
    [
      "an argument that is no flag",
      ["7835"],
      {},
      'unexpected argument "7835"; accepted: settings as --name value (see --help)',
    ],
    [
      "a flag at the end without its value",
      ["--deadline"],
      {},
      "--deadline has no value; accepted: a duration from 100ms to 10m, such as 500ms, 10s or 2m",
    ],
    [
      "a flag in place of a value",
      ["--log-level", "--deadline=9s"],
      {},
      "--log-level has no value; accepted: one of debug, info, warn, error",
    ],
    [
      "an empty value",
      ["--log-level="],
      {},
      'log-level was given "" by --log-level; accepted: one of debug, info, warn, error',
    ],
    [
      "a negated switch with a value",
      ["--no-accept-proxy-protocol=true"],
      {},
      "unknown flag --no-accept-proxy-protocol (did you mean --accept-proxy-protocol?); see --help",
    ],
    [
      "a secret as a flag",
      ["--secret=hunter2"],
      {},
      "--secret is not accepted on the command line; accepted: the variable NETAMINITY_SECRET",
    ],
  ];
  test.each(mistakes)("%s", (_, args, environment, line) => {
    expect(refusal(() => readProxy(args, environment))).toBe(line);
  });

  test("a required setting that is missing", () => {
    expect(refusal(() => readSettings(targetRole, { args: ["--endpoint", "a:1"], environment: {} }))).toBe(
      "proxy-endpoint is not given; accepted: HOST:PORT with a name, an IPv4 address or an [IPv6] address, and a port from 1 to 65535, as --proxy-endpoint or NETAMINITY_PROXY_ENDPOINT",
    );
  });

  test("values that do not go together", () => {
    expect(refusal(() => readTarget(["--pool-min", "9", "--pool-max", "8"]))).toBe(
      "pool-min is 9 and pool-max is 8; accepted: pool-min not above pool-max",
    );
    expect(refusal(() => readTarget(["--bore-port", "0"], { NETAMINITY_ENCRYPTION: "required" }))).toBe(
      "encryption is required and bore-port is given, but a bore server cannot encrypt; accepted: one of the two",
    );
  });
});

describe("a mistake in the file names the file", () => {
  const mistakes: [string, string, string][] = [
    ["an unknown key", "poolmin: 3", 'config file FILE: unknown key "poolmin" (did you mean poolMin?); see --help'],
    [
      "the secret",
      "secret: hunter2",
      "config file FILE: secret is not accepted in a file; accepted: the variable NETAMINITY_SECRET",
    ],
    [
      "another file",
      "config: other.yaml",
      "config file FILE: config is not accepted in a file; accepted: the variable NETAMINITY_CONFIG",
    ],
    [
      "a wrong value",
      "poolMin: -1",
      'pool-min was given "-1" by poolMin in config file FILE; accepted: a whole number from 0 to 1024',
    ],
    [
      "a mapping as value",
      "poolMin: {a: 1}",
      "config file FILE: poolMin was given {a: 1}; accepted: a whole number from 0 to 1024",
    ],
    [
      "a list where one value is wanted",
      "poolMin: [1]",
      "config file FILE: poolMin was given [1]; accepted: a whole number from 0 to 1024",
    ],
    ["a list as a whole", "- poolMin", "config file FILE: accepted: a YAML mapping of setting names to values"],
    [
      "text that is no YAML",
      "a: [",
      "config file FILE is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 5",
    ],
    [
      "a key given twice",
      "poolMin: 1\npoolMin: 2",
      "config file FILE is not YAML: Map keys must be unique at line 2, column 1",
    ],
  ];
  test.each(mistakes)("%s", async (_, content, line) => {
    await using file = await configFile(content);
    expect(refusal(() => readTarget(["--config", file.path]))).toBe(line.replace("FILE", file.path));
  });

  test("a file that is not there", () => {
    expect(refusal(() => readTarget(["--config", "/nowhere/netaminity.yaml"]))).toBe(
      'config: "/nowhere/netaminity.yaml" cannot be read; accepted: the path of a YAML file',
    );
  });

  test("an empty file is no mistake", async () => {
    await using file = await configFile("# nothing yet\n");
    expect(readTarget(["--config", file.path]).values.poolMin).toBe(2);
  });
});
