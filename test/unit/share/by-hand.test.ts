import { describe, expect, test } from "bun:test";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { composeFile, envFile, systemdScript } from "../../../src/share/by-hand.ts";
import type { OtherSide } from "../../../src/share/other-side.ts";

const side: OtherSide = {
  name: "private-api",
  namespace: undefined,
  proxyEndpoint: { host: "2001:db8::7", port: 7835 },
  backend: { host: "10.0.0.5", port: 5432 },
  encryption: "required",
  secret: "GzWyF1vKqR0h5E9c+/A=",
};
/** What shells, YAML and compose would take for something else. */
const hard = "a$b $(c)\n'\"\\`END`\nEND\n";

const settings = {
  NETAMINITY_PROXY_ENDPOINT: "[2001:db8::7]:7835",
  NETAMINITY_ENDPOINT: "10.0.0.5:5432",
  NETAMINITY_ENCRYPTION: "required",
};

/** Runs a script in a shell without the system's commands and gives what it wrote, by file and mode. */
async function runScript(script: string) {
  await using root = await mkdtempDisposable(join(tmpdir(), "netaminity-systemd-"));
  const moved = script.replaceAll("/etc/", `${root.path}/etc/`).replaceAll("/usr/local/bin/netaminity |", "/bin/sh |");
  const said = join(root.path, "said");
  const fakes = `systemctl() { echo "$@" >> ${said}; }\n`;
  await Bun.$`mkdir -p ${root.path}/etc/systemd/system`.quiet();
  const child = Bun.spawn(["sh", "-s"], { stdin: new Blob([fakes, moved]), stdout: "pipe", stderr: "pipe" });
  const errors = await child.stderr.text();
  const read = async (path: string) => {
    const file = Bun.file(join(root.path, path));
    return { text: await file.text(), mode: ((await file.stat()).mode & 0o777).toString(8) };
  };
  return {
    errors,
    secret: await read("etc/netaminity/private-api.secret"),
    env: await read("etc/netaminity/private-api.env"),
    unit: await read("etc/systemd/system/netaminity-private-api.service"),
    said: await Bun.file(said).text(),
    folder: root.path,
  };
}

describe("a target by hand", () => {
  test("gets a file of variables", () => {
    expect(envFile(side)).toBe(
      "NETAMINITY_PROXY_ENDPOINT=[2001:db8::7]:7835\nNETAMINITY_ENDPOINT=10.0.0.5:5432\nNETAMINITY_ENCRYPTION=required\nNETAMINITY_SECRET=GzWyF1vKqR0h5E9c+/A=\n",
    );
  });

  test.each([hard, "two words", "a#b", 'a"b', "a$b", "ä"])(
    "is refused one for a secret that programs read differently: %j",
    (secret) => {
      expect(() => envFile({ ...side, secret })).toThrow("accepted with --as env: letters, digits and");
    },
  );

  test("gets a file for docker compose, in which dollar signs stand for themselves", () => {
    const { services } = parse(composeFile({ ...side, secret: hard }, "image:1"));
    expect(services).toEqual({
      "private-api": {
        image: "image:1",
        command: ["target"],
        environment: { ...settings, NETAMINITY_SECRET: hard.replaceAll("$", "$$$$") },
        restart: "always",
        stop_grace_period: "45s",
      },
    });
  });

  test("gets a script that sets up the documented unit, with a secret that nobody else reads", async () => {
    const { errors, secret, env, unit, said, folder } = await runScript(systemdScript({ ...side, secret: hard }));
    expect(errors).toBe("");
    expect(secret).toEqual({ text: hard, mode: "600" });
    expect(env).toEqual({
      text: Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(""),
      mode: "600",
    });
    const documented = await Bun.file(join(import.meta.dir, "../../../examples/netaminity-target.service")).text();
    expect(unit).toEqual({
      text: documented
        .replace("/etc/netaminity/target.env", `${folder}/etc/netaminity/private-api.env`)
        .replace("/etc/netaminity/secret", `${folder}/etc/netaminity/private-api.secret`),
      mode: "644",
    });
    expect(said).toBe("daemon-reload\nenable netaminity-private-api\nrestart netaminity-private-api\n");
  });

  test("whose executable is not there gets nothing written", async () => {
    const script = systemdScript(side).replaceAll("/usr/local/bin/netaminity", "/nonexistent/netaminity");
    const child = Bun.spawn(["sh", "-s"], { stdin: new Blob([script]), stdout: "pipe", stderr: "pipe" });
    expect(await child.stderr.text()).toBe("/nonexistent/netaminity is not there\n");
    expect(await child.exited).toBe(1);
  });
});
