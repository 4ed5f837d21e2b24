/** Every file of the repository that is generated, by path from its root, with its text. */

import { stringify } from "yaml";
import { customResourceDefinition } from "../src/api/crd.ts";
import { kinds } from "../src/api/kinds.ts";
import { compactYaml } from "../src/api/yaml.ts";
import { settingsReference } from "../src/config/reference.ts";
import { rbac } from "../src/operator/rbac.ts";
import { conditionsReference, kindReference, podTemplateReference } from "./api-reference.ts";
import { chartDefaults, chartReference, chartValues } from "./chart-reference.ts";

/** Folders of generated files: another file that says it is generated is left over from an earlier version. */
export const generatedFolders = ["crd", "chart/files/crds", "docs/reference"] as const;

/** `kubectl apply` without --server-side keeps a copy of the object in an annotation, and all annotations of an object may be 256 KiB. */
export const largestDefinition = 200 * 1024;

export class DefinitionTooLargeError extends Error {
  override readonly name = "DefinitionTooLargeError";
}

export function generatedFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const kind of kinds) {
    const definition = header("src/api") + compactYaml(customResourceDefinition(kind));
    if (definition.length > largestDefinition) {
      throw new DefinitionTooLargeError(
        `the CRD of ${kind.kind} has ${definition.length} bytes; at most ${largestDefinition}`,
      );
    }
    files.set(`crd/${kind.plural}.yaml`, definition);
    files.set(`chart/files/crds/${kind.plural}.yaml`, definition);
    files.set(`docs/reference/${kind.singular}.md`, kindReference(kind));
  }
  files.set("chart/files/rbac.yaml", header("src/operator/rbac.ts") + stringify(rbac, { lineWidth: 0 }));
  files.set("chart/values.yaml", chartValues());
  files.set("chart/files/defaults.yaml", header("chart/values.schema.json") + chartDefaults());
  files.set("docs/reference/chart.md", chartReference());
  files.set("docs/reference/pod-template.md", podTemplateReference());
  files.set("docs/reference/conditions.md", conditionsReference());
  files.set("docs/reference/settings.md", settingsReference());
  return files;
}

/** Every generated text names this command. */
export const generateCommand = "npm run generate";

function header(source: string): string {
  return `# Written by \`${generateCommand}\` from ${source}.\n`;
}
