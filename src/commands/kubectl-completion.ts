import { candidates, commandOf } from "../config/completion-words.ts";
import { roles, tools } from "../config/roles.ts";
import { print } from "./print.ts";

/** Bits that kubectl's completion (cobra's ShellCompDirective) understands. */
const directives = { default: 0, noSpace: 2, noFiles: 4 };

/** Answers as a program `kubectl_complete-PLUGIN` has to: one candidate per line, then the directive. */
export async function answerKubectl(words: readonly string[]): Promise<void> {
  const found = candidates([...roles, ...tools].map(commandOf), words);
  const space = found?.[0]?.endsWith("/") === true ? directives.noSpace : 0;
  const directive = found === undefined ? directives.default : directives.noFiles + space;
  await print([...(found ?? []), `:${directive}`].join("\n"));
}
