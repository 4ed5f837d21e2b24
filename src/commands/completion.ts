import { completionRole } from "../config/completion.ts";
import { completionScript } from "../config/completion-script.ts";
import { roles, tools } from "../config/roles.ts";
import { print } from "./print.ts";
import { settingsOf } from "./settings.ts";

export async function runCompletion(args: readonly string[]): Promise<void> {
  const { shell } = settingsOf(completionRole, args);
  await print(completionScript(shell, [...roles, ...tools]));
}
