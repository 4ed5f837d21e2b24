import { defineCommand } from "citty";
import { customResourceDefinition } from "../api/crd.ts";
import { kinds } from "../api/kinds.ts";
import { compactYaml } from "../api/yaml.ts";
import { manifestRole } from "../config/manifest.ts";
import { print } from "./print.ts";
import { answeredHelp, settingsOf } from "./settings.ts";

export const manifestCommand = defineCommand({
  meta: { name: manifestRole.name, description: manifestRole.summary },
  run: async ({ rawArgs }) => {
    if (!answeredHelp(manifestRole, rawArgs)) {
      settingsOf(manifestRole, rawArgs);
      await print(kinds.map((kind) => compactYaml(customResourceDefinition(kind))).join("---\n"));
    }
  },
});
