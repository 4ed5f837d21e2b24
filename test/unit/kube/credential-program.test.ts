import { expect, test } from "bun:test";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programCredentials } from "../../../src/kube/credential-program.ts";
import { CredentialsError } from "../../../src/kube/errors.ts";
import { kubeconfigCredentials } from "../../../src/kube/kubeconfig.ts";

const exec = (script: string, env: { name: string; value: string }[] = []) => ({
  apiVersion: "client.authentication.k8s.io/v1",
  command: "sh",
  args: ["-c", script],
  env,
});

test("a program's token is used until it is refused, and the program knows what it is asked for", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-exec-"));
  const calls = join(folder.path, "calls");
  const script = `echo x >> ${calls}; printf '{"status":{"token":"%s-%s-%s"}}' "$WHO" "$(wc -l < ${calls} | tr -d ' ')" "$(printf %s "$KUBERNETES_EXEC_INFO" | grep -c ExecCredential)"`;
  const program = programCredentials(exec(script, [{ name: "WHO", value: "me" }]), "/", {});
  expect([program.token, program.token, program.certificate]).toEqual(["me-1-1", "me-1-1", undefined]);
  program.expire();
  expect(program.token).toBe("me-2-1");
});

test("a program may give a certificate instead", () => {
  const program = programCredentials(
    exec(`echo '{"status":{"clientCertificateData":"c","clientKeyData":"k"}}'`),
    "/",
    {},
  );
  expect([program.token, program.certificate]).toEqual([undefined, { cert: "c", key: "k" }]);
});

test.each<[string, unknown, string]>([
  ["that fails", exec("exit 3"), "kubeconfig: the credential program sh ended with 3"],
  [
    "that prints something else",
    exec("echo hello"),
    "kubeconfig: the credential program sh did not print an ExecCredential",
  ],
  [
    "that does not exist",
    { apiVersion: "v1", command: "/nowhere/login" },
    "kubeconfig: the credential program /nowhere/login cannot be started",
  ],
  ["without a command", { apiVersion: "v1" }, "kubeconfig: exec.command: "],
])("a program %s is an error that names it", (_, given, message) => {
  expect(() => programCredentials(given, "/", {}).token).toThrow(CredentialsError);
  expect(() => programCredentials(given, "/", {}).token).toThrow(message);
});

test("of several kubeconfigs the first that knows a name counts, and a context can be chosen", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-kubeconfig-"));
  const cluster = (name: string, server: string) => ({ name, cluster: { server } });
  const context = (name: string) => ({ name, context: { cluster: name, user: name, namespace: `ns-${name}` } });
  const user = (name: string, given: object) => ({ name, user: given });
  const [first, second] = [join(folder.path, "first"), join(folder.path, "second")];
  await Bun.write(
    first,
    JSON.stringify({
      "current-context": "b",
      contexts: [context("a")],
      clusters: [cluster("a", "https://first")],
      users: [user("a", { token: "t-a" })],
    }),
  );
  await Bun.write(
    second,
    JSON.stringify({
      "current-context": "a",
      contexts: [context("a"), context("b")],
      clusters: [cluster("a", "https://second"), cluster("b", "https://second/")],
      users: [user("b", { exec: exec(`echo '{"status":{"token":"t-b"}}'`) })],
    }),
  );
  const read = (wanted?: string, ...before: string[]) => {
    const { server, namespace, authorization } = kubeconfigCredentials([...before, first, second], {
      context: wanted,
      runProgram: programCredentials,
    });
    return [server, namespace, authorization()];
  };
  expect(read()).toEqual(["https://second", "ns-b", "Bearer t-b"]);
  expect(read("a")).toEqual(["https://first", "ns-a", "Bearer t-a"]);
  // Entries that are not used may be whatever they are.
  await Bun.write(
    join(folder.path, "third"),
    JSON.stringify({ clusters: [{ name: "z", cluster: { server: 7 } }], users: null }),
  );
  expect(read(undefined, join(folder.path, "third"))).toEqual(["https://second", "ns-b", "Bearer t-b"]);
  expect(() => read("c")).toThrow(`kubeconfig ${first}, ${second}: there is no context named "c"`);
});
