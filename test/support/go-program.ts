import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./cluster/command.ts";

const folder = join(import.meta.dir, "../../.cache/go");
/** Milliseconds. A first `go build` on a busy machine with two cores. */
const buildTimeout = 300_000;

/** Compiles a Go program of the tests (Go's own cache makes a second time cheap). The executable. Throws where there is no Go. */
export async function buildGo(sources: string, name: string): Promise<string> {
  if (Bun.which("go") === null) throw new Error(`these tests need Go (1.25 or newer): ${name} is a Go program`);
  await mkdir(folder, { recursive: true });
  const executable = join(folder, name);
  const build = ["go", "build", "-C", sources, "-trimpath", "-ldflags=-s -w", "-o", executable, "."];
  await run(build, { timeout: buildTimeout, env: { CGO_ENABLED: "0" } });
  return executable;
}
