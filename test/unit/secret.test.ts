import { describe, expect, test } from "bun:test";
import { mkdir, mkdtempDisposable, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorText, UsageError } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { openSecrets, type SecretSource, suspicionAbout } from "../../src/secret.ts";
import { eventually } from "../support/tcp-wait.ts";

/** A folder, a log that is kept, and secrets that look at their files every few milliseconds. */
async function workplace() {
  const folder = await mkdtempDisposable(join(tmpdir(), "netaminity-secret-"));
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    write: (line) => {
      const { time: _, ...rest } = JSON.parse(line);
      lines.push(rest);
    },
  });
  return {
    path: (name: string) => join(folder.path, name),
    lines,
    open: (source: Omit<SecretSource, "log">) => openSecrets({ ...source, log, interval: 5 }),
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}

async function refusal(opening: Promise<AsyncDisposable>): Promise<string> {
  try {
    await using _ = await opening;
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return errorText(error);
  }
  throw new Error("the secret was accepted");
}

describe("one trailing newline is no part of a secret", () => {
  test.each([
    ["plain", "plain"],
    ["plain\n", "plain"],
    ["plain\r\n", "plain"],
    ["two\n\n", "two\n"],
    [" spaces ", " spaces "],
    ["\ufeffmark", "\ufeffmark"],
  ])("%j becomes %j", async (content, secret) => {
    await using place = await workplace();
    await Bun.write(place.path("secret"), content);
    await using fromFile = await place.open({ file: place.path("secret") });
    await using fromValue = await place.open({ value: content });
    expect([fromFile.current, fromValue.current]).toEqual([[secret], [secret]]);
  });
});

describe("a secret that cannot be used is refused at the start", () => {
  test.each<[string, string | Uint8Array, string]>([
    ["an empty file", "", "it is empty"],
    ["a newline alone", "\n", "it is empty"],
    ["bytes that are no text", new Uint8Array([0xff, 0xfe]), "it is not UTF-8 text"],
    ["what a lossy conversion leaves", "a\ufffdb", "it is not UTF-8 text, or has lost some of it"],
    ["a file of 64 KiB and a byte", "x".repeat(65_537), "the file is larger than 65536 bytes"],
  ])("%s", async (_, content, reason) => {
    await using place = await workplace();
    await Bun.write(place.path("secret"), content);
    const line = await refusal(place.open({ file: place.path("secret") }));
    expect(line.startsWith(`secret-file: "${place.path("secret")}" cannot be used: ${reason}`)).toBeTrue();
    expect(line).not.toContain("xxx");
  });

  test("a file that is not there", async () => {
    expect(
      await refusal(openSecrets({ file: "/nowhere/secret", log: createLog({ level: "error", format: "json" }) })),
    ).toBe(`secret-file: "/nowhere/secret" cannot be used: ENOENT: no such file or directory, open '/nowhere/secret'`);
  });

  test("none, both, and values that no file may have either", async () => {
    await using place = await workplace();
    expect([
      await refusal(place.open({})),
      await refusal(place.open({ value: "a", file: place.path("secret") })),
      await refusal(place.open({ value: "" })),
      await refusal(place.open({ value: "x".repeat(65_537) })),
      await refusal(place.open({ value: "a\ufffdb" })),
    ]).toEqual([
      "no secret is given; accepted: --secret-file FILE or the environment variable NETAMINITY_SECRET",
      "both NETAMINITY_SECRET and secret-file are given; accepted: exactly one of the two",
      "NETAMINITY_SECRET cannot be used: it is empty",
      "NETAMINITY_SECRET cannot be used: it is larger than 65536 bytes",
      "NETAMINITY_SECRET cannot be used: it is not UTF-8 text, or has lost some of it (U+FFFD stands where bytes were)",
    ]);
  });
});

describe("a secret that may not be what was meant is used, and a warning says what is odd about it", () => {
  test.each<[string, string | undefined]>([
    ["fine", undefined],
    ["two words", undefined],
    ["tab\tinside", undefined],
    ["fine\n", undefined],
    ["fine\r\n", undefined],
    ["\ufeffmark", "begins with a byte order mark"],
    [" before", "begins with a blank"],
    ["after\t", "ends with a blank"],
    ["after\u00a0", "ends with a blank"],
    ["\ufeff both ", "begins with a byte order mark and begins with a blank and ends with a blank"],
    ["two\n\n", "ends with a second line break"],
    ["two\r\n\r\n", "ends with a second line break"],
    ["first\nsecond", "has a line break inside"],
    ["\nsecond", "has a line break inside"],
    ["cut\0off", "contains NUL"],
    ['"quoted"', "is in quotation marks"],
    ['one " sign', undefined],
    ["zero\u200bwidth", "contains an invisible character"],
    ["esc\u001b[0m", "contains an invisible character"],
  ])("%j", async (content, suspicion) => {
    await using place = await workplace();
    const path = place.path("secret");
    const warning = (source: string) => ({
      level: "warn",
      message: "the secret may not be what was meant",
      source,
      suspicion: `it ${suspicion}`,
    });
    await Bun.write(path, content);
    await using fromFile = await place.open({ file: path });
    await using fromValue = await place.open({ value: content });
    expect(place.lines).toEqual(suspicion === undefined ? [] : [warning(path), warning("NETAMINITY_SECRET")]);
    const about = suspicion === undefined ? undefined : `the secret of this end ${suspicion}`;
    expect([suspicionAbout(fromFile), suspicionAbout(fromValue)]).toEqual([about, about]);
  });

  test("also when it comes with a rotation, as the previous one too", async () => {
    await using place = await workplace();
    const [path, previous] = [place.path("secret"), place.path("previous")];
    await Bun.write(path, "fine");
    await using secrets = await place.open({ file: path, previousFile: previous });
    await Bun.write(previous, "fine ");
    await eventually(() => secrets.current.length === 2, "the previous secret is seen");
    await Bun.write(place.path("fresh"), '"better"');
    await rename(place.path("fresh"), path);
    await eventually(() => secrets.current[0] === '"better"', "the new secret is seen");
    expect(
      place.lines.filter(({ level }) => level === "warn").map(({ source, suspicion }) => [source, suspicion]),
    ).toEqual([
      [previous, "it ends with a blank"],
      [path, "it is in quotation marks"],
    ]);
    expect(suspicionAbout(secrets)).toBe(
      "the secret of this end is in quotation marks; the previous secret of this end ends with a blank",
    );
  });
});

test("a rotation as Kubernetes does it, by swapping a symbolic link, is noticed", async () => {
  await using place = await workplace();
  const publish = async (version: string, files: Record<string, string>) => {
    await mkdir(place.path(version));
    for (const [name, content] of Object.entries(files)) {
      await Bun.write(join(place.path(version), name), content);
    }
    await symlink(version, place.path("..data_tmp"));
    await rename(place.path("..data_tmp"), place.path("..data"));
  };
  await publish("v1", { secret: "old" });
  await using secrets = await place.open({
    file: place.path("..data/secret"),
    previousFile: place.path("..data/previous-secret"),
  });
  expect(secrets.current).toEqual(["old"]);

  await publish("v2", { secret: "new", "previous-secret": "old" });
  await eventually(() => secrets.current.length === 2, "both secrets are accepted");
  expect(secrets.current).toEqual(["new", "old"]);

  await publish("v3", { secret: "new" });
  await eventually(() => secrets.current.length === 1, "the old secret is forgotten");
  expect(secrets.current).toEqual(["new"]);
  expect(place.lines).toEqual([{ level: "info", message: "secret changed", file: place.path("..data/secret") }]);
});

test("a previous secret that equals the current one is not listed twice", async () => {
  await using place = await workplace();
  await Bun.write(place.path("secret"), "same");
  await using secrets = await place.open({ file: place.path("secret"), previousFile: place.path("secret") });
  expect(secrets.current).toEqual(["same"]);
});

test("while the file is unusable the last good secret stays, with one warning, and the next good one is taken", async () => {
  await using place = await workplace();
  const path = place.path("secret");
  await Bun.write(path, "good");
  await using secrets = await place.open({ file: path });
  await Bun.write(path, "");
  await eventually(() => place.lines.length > 0, "the empty file is noticed");
  await rm(path);
  await eventually(() => place.lines.length > 1, "the missing file is noticed");
  await Bun.write(path, new Uint8Array([0xff, 0xfe]));
  await eventually(() => place.lines.length > 2, "the bytes are noticed");
  await Bun.write(path, "x".repeat(65_537));
  await eventually(() => place.lines.length > 3, "the length is noticed");
  expect(secrets.current).toEqual(["good"]);
  await Bun.write(place.path("fresh"), "better\n");
  await rename(place.path("fresh"), path);
  await eventually(() => secrets.current[0] === "better", "the next secret is taken");
  expect(place.lines).toEqual([
    { level: "warn", message: "secret kept, file is unusable", file: path, reason: "it is empty" },
    {
      level: "warn",
      message: "secret kept, file is unusable",
      file: path,
      reason: `ENOENT: no such file or directory, open '${path}'`,
    },
    { level: "warn", message: "secret kept, file is unusable", file: path, reason: "it is not UTF-8 text" },
    {
      level: "warn",
      message: "secret kept, file is unusable",
      file: path,
      reason: "the file is larger than 65536 bytes",
    },
    { level: "info", message: "secret changed", file: path },
  ]);
});
