import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { binaries } from "../support/cluster/binaries.ts";
import { CommandError, run } from "../support/cluster/command.ts";

export const repository = join(import.meta.dir, "../..");
export const chart = join(repository, "chart");

/** One object as the chart renders it. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
}

export interface RenderOptions {
  release?: string;
  namespace?: string;
}

/** Output of `helm ARGS`; no cluster is asked. */
export async function helm(args: readonly string[]): Promise<string> {
  const { clustertools } = await binaries();
  return await run([clustertools, "helm", ...args]);
}

/** What `helm template` prints for these values. */
export async function renderText(values: object = {}, options: RenderOptions = {}): Promise<string> {
  const { release = "netaminity", namespace = "netaminity-system" } = options;
  const folder = await mkdtemp(join(tmpdir(), "netaminity-chart-"));
  try {
    const file = join(folder, "values.json");
    // JSON is YAML in which no text is taken for anything else.
    await writeFile(file, JSON.stringify(values));
    return await helm(["template", release, chart, "--namespace", namespace, "--values", file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The chart's objects for these values, without the custom resource definitions: they are large, and few tests need them. */
export function render(values: object = {}, options: RenderOptions = {}): Promise<Rendered[]> {
  return renderAll({ crds: { install: false }, ...values }, options);
}

/** Every object that `helm template` prints for these values. */
export async function renderAll(values: object = {}, options: RenderOptions = {}): Promise<Rendered[]> {
  return parseAllDocuments(await renderText(values, options)).flatMap((document) => {
    const [problem] = document.errors;
    if (problem) throw problem;
    const object: Rendered | null = document.toJS();
    return object === null ? [] : [object];
  });
}

/** The one object of this kind and name. `T` is the caller's word for its shape. */
export function only<T = Rendered>(objects: readonly Rendered[], kind: string, name?: string): T {
  const found = objects.filter(
    (object) => object.kind === kind && (name === undefined || object.metadata.name === name),
  );
  const [first] = found;
  if (first === undefined || found.length > 1) {
    const all = objects.map((object) => `${object.kind}/${object.metadata.name}`).join(", ");
    throw new Error(`expected one ${kind} ${name ?? ""}, found ${found.length} among ${all}`);
  }
  return first as T;
}

/** `Kind namespace/name` of every object, sorted. */
export function namesOf(objects: readonly Rendered[]): string[] {
  return objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`).sort();
}

/** What helm says when it refuses these values; an error when it does not refuse them. */
export async function refusal(values: object): Promise<string> {
  const text = await renderText(values).catch((error: unknown) => {
    if (error instanceof CommandError) return error;
    throw error;
  });
  if (text instanceof CommandError) return text.stderr;
  throw new Error(`helm accepted ${JSON.stringify(values)}`);
}
