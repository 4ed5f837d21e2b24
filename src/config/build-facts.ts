import { version } from "./version.ts";

/** The commit that was built, and its day, put in by scripts/build.ts. */
declare const BUILD_COMMIT: string | undefined;

/** What `netaminity version` prints: what a person who reports a fault should tell. */
export function buildFacts(): string {
  const commit = typeof BUILD_COMMIT === "undefined" ? "unknown (run from its sources)" : BUILD_COMMIT;
  return [
    `netaminity ${version}`,
    `commit   ${commit}`,
    `runtime  Bun ${Bun.version} for ${process.platform} ${process.arch}${libraryText()}`,
  ].join("\n");
}

/** glibc says its version; musl has none to say. */
function libraryText(): string {
  if (process.platform !== "linux") return "";
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? ", musl" : `, glibc ${header.glibcVersionRuntime}`;
}
