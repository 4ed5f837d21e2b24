import { stringify } from "yaml";
import { programOf, type Target, targets } from "./targets.ts";

export interface Asset {
  target: Target;
  /** Name of the archive. */
  file: string;
  /** In hexadecimal. */
  sha256: string;
}

const repository = "https://github.com/exeteres/netaminity";
const summary = "TCP tunnels through networks that can only be crossed in one direction";
const urlOf = (version: string, { file }: Asset): string => `${repository}/releases/download/v${version}/${file}`;

/** A plugin of kubectl, as krew installs it (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/). */
export function krewManifest(version: string, assets: readonly Asset[]): string {
  // krew knows no C libraries.
  const platforms = assets
    .filter(({ target }) => !target.endsWith("-musl"))
    .map((asset) => {
      const { os, arch } = targets[asset.target];
      const program = programOf(asset.target);
      return {
        selector: { matchLabels: { os, arch } },
        uri: urlOf(version, asset),
        sha256: asset.sha256,
        bin: program,
        files: [program, "LICENSE"].map((from) => ({ from, to: "." })),
      };
    });
  return stringify(
    {
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "netaminity" },
      spec: {
        version: `v${version}`,
        homepage: repository,
        shortDescription: "Examine and watch netaminity's TCP tunnels",
        description: `${summary}: says where the path of a tunnel breaks (doctor), lists sessions and streams (status), and shows all tunnels on a page (dashboard).\nIt needs the netaminity operator in the cluster.\n`,
        platforms,
      },
    },
    { lineWidth: 0 },
  );
}

/** A formula of Homebrew, for macOS and Linux with glibc. */
export function homebrewFormula(version: string, assets: readonly Asset[]): string {
  const source = (target: Target): string[] => {
    const asset = assets.find((each) => each.target === target);
    if (asset === undefined) throw new Error(`there is no archive for ${target}`);
    return [`url "${urlOf(version, asset)}"`, `sha256 "${asset.sha256}"`];
  };
  const on = (system: string, processors: readonly [name: string, target: Target][]): string[] => [
    `  on_${system} do`,
    ...processors.flatMap(([name, target]) => [
      `    on_${name} do`,
      ...source(target).map((line) => `      ${line}`),
      "    end",
    ]),
    "  end",
  ];
  return [
    "class Netaminity < Formula",
    `  desc "${summary}"`,
    `  homepage "${repository}"`,
    `  version "${version}"`,
    '  license "Apache-2.0"',
    "",
    ...on("macos", [
      ["arm", "darwin-arm64"],
      ["intel", "darwin-x64"],
    ]),
    "",
    ...on("linux", [
      ["arm", "linux-arm64"],
      ["intel", "linux-x64"],
    ]),
    "",
    "  def install",
    '    bin.install "netaminity"',
    '    bin.install_symlink "netaminity" => "kubectl-netaminity"',
    '    generate_completions_from_executable(bin/"netaminity", "completion")',
    "  end",
    "",
    "  test do",
    '    assert_match version.to_s, shell_output("#{bin}/netaminity --version")',
    "  end",
    "end",
    "",
  ].join("\n");
}
