import { customResourceDefinition } from "../api/crd.ts";
import { kinds } from "../api/kinds.ts";
import { compactYaml } from "../api/yaml.ts";
import { manifestRole } from "../config/manifest.ts";
import { print } from "./print.ts";
import { settingsOf } from "./settings.ts";

export async function runManifest(args: readonly string[]): Promise<void> {
  settingsOf(manifestRole, args);
  await print(kinds.map((kind) => compactYaml(customResourceDefinition(kind))).join("---\n"));
}
