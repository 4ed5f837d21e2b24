import { defineCommand } from "citty";
import { completionRole } from "../config/completion.ts";
import { completionScript } from "../config/completion-script.ts";
import { roles, tools } from "../config/roles.ts";
import { print } from "./print.ts";
import { answeredHelp, settingsOf } from "./settings.ts";

export const completionCommand = defineCommand({
  meta: { name: completionRole.name, description: completionRole.summary },
  run: async ({ rawArgs }) => {
    if (!answeredHelp(completionRole, rawArgs)) {
      const { shell } = settingsOf(completionRole, rawArgs);
      await print(completionScript(shell, [...roles, ...tools]));
    }
  },
});
