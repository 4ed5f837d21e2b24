import { expect, test } from "bun:test";
import { parse } from "yaml";
import { homebrewFormula, krewManifest } from "../../scripts/release-manifests.ts";
import { type Target, targets } from "../../scripts/targets.ts";

const assets = (Object.keys(targets) as Target[]).map((target, index) => ({
  target,
  file: `netaminity-${target}.tar.gz`,
  sha256: `${index}`.repeat(64),
}));
const download = "https://github.com/exeteres/netaminity/releases/download/v1.2.3/netaminity-";

test("krew gets each machine once, with the archive and checksum that are its", () => {
  const { apiVersion, kind, metadata, spec } = parse(krewManifest("1.2.3", assets));
  expect([apiVersion, kind, metadata.name, spec.version]).toEqual([
    "krew.googlecontainertools.github.com/v1alpha2",
    "Plugin",
    "netaminity",
    "v1.2.3",
  ]);
  expect(spec.shortDescription.length).toBeLessThanOrEqual(50);
  const platforms = spec.platforms.map(
    ({
      selector,
      uri,
      sha256,
      bin,
    }: {
      selector: { matchLabels: object };
      uri: string;
      sha256: string;
      bin: string;
    }) => [Object.values(selector.matchLabels).join("/"), uri, sha256[0], bin],
  );
  expect(platforms).toEqual([
    ["linux/amd64", `${download}linux-x64.tar.gz`, "0", "netaminity"],
    ["linux/arm64", `${download}linux-arm64.tar.gz`, "1", "netaminity"],
    ["darwin/arm64", `${download}darwin-arm64.tar.gz`, "3", "netaminity"],
    ["darwin/amd64", `${download}darwin-x64.tar.gz`, "4", "netaminity"],
    ["windows/amd64", `${download}windows-x64.tar.gz`, "5", "netaminity.exe"],
  ]);
});

test("Homebrew gets macOS and Linux on both processors", () => {
  const formula = homebrewFormula("1.2.3", assets);
  const pairs = [...formula.matchAll(/url "(.+)"\n +sha256 "(.)/g)].map(([, url, digit]) => [url, digit]);
  expect(pairs).toEqual([
    [`${download}darwin-arm64.tar.gz`, "3"],
    [`${download}darwin-x64.tar.gz`, "4"],
    [`${download}linux-arm64.tar.gz`, "1"],
    [`${download}linux-x64.tar.gz`, "0"],
  ]);
  expect(formula.match(/\bdo$/gm)?.length).toBe(7);
  // Each block is closed: class, two systems, four processors, install and test.
  expect(formula.match(/^ *end$/gm)?.length).toBe(9);
  expect(() => homebrewFormula("1.2.3", assets.slice(1))).toThrow("there is no archive for linux-x64");
});
