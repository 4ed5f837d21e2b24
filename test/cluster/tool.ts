import { parseAllDocuments } from "yaml";
import { executable } from "../support/tunnel-compiled.ts";
import type { Site } from "./site.ts";

export interface Answer {
  code: number | null;
  out: string;
  errors: string;
}

/** Runs the compiled executable as a person would, in the namespace of the site. */
export function start(site: Site, args: readonly string[], kubeconfig = site.plane.kubeconfig) {
  return Bun.spawn([executable(), ...args, "-n", site.namespace], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", KUBECONFIG: kubeconfig },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
}

export async function run(site: Site, args: readonly string[], kubeconfig?: string): Promise<Answer> {
  const child = start(site, args, kubeconfig);
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited.then(() => child.exitCode), out, errors };
}

export const documentsIn = (yaml: string) => parseAllDocuments(yaml).map((document) => document.toJS());

export const backend = ["--backend", "private-api.private.svc:8080"];
