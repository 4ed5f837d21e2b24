import type { shells } from "./completion.ts";
import { type Command, commandOf, type Flag, type Values } from "./completion-words.ts";
import type { Role } from "./table.ts";

/** The script that teaches a shell this program's commands, flags and values. Written from the tables of settings. */
export function completionScript(shell: (typeof shells)[number], roles: readonly Role[]): string {
  const commands = roles.map(commandOf);
  const write = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell];
  return `${write(commands)}\n`;
}

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map(({ name, flags, argument }) => {
    const valued = flags.flatMap(({ names, values }) => {
      if (values === "nothing") return [];
      const answer =
        values === "file"
          ? "compopt -o default; return"
          : values === "anything"
            ? "return"
            : `${compgen(values.words)}; return`;
      return [`        ${name}:${names.join(`|${name}:`)}) ${answer} ;;`];
    });
    return { valued, words: [...argument, ...flags.flatMap(({ names }) => names)], name };
  });
  return [
    "# bash completion of netaminity: source it, or put it into the folder of bash-completion.",
    "_netaminity() {",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: these are variables of the shell.
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}",
    "  COMPREPLY=()",
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    ${compgen([...commands.map(({ name }) => name), "--help", "--version"])}`,
    "    return",
    "  fi",
    '  case "$command:$before" in',
    ...cases.flatMap(({ valued }) => valued),
    "  esac",
    '  case "$command" in',
    ...cases.map(({ name, words }) => `        ${name}) ${compgen(words)} ;;`),
    "  esac",
    // Names follow the slash: no space there.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is a variable of the shell.
    "  [[ ${COMPREPLY[0]-} != */ ]] || compopt -o nospace",
    "}",
    "complete -F _netaminity netaminity kubectl-netaminity",
  ].join("\n");
}

const compgen = (words: readonly string[]): string => `COMPREPLY=($(compgen -W '${words.join(" ")}' -- "$word"))`;

function zshScript(commands: readonly Command[]): string {
  const described = commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`);
  const cases = commands.flatMap(({ name, flags, argument }) => [
    `    ${name})`,
    "      _arguments \\",
    ...flags.flatMap(({ names, meaning, values }) =>
      names.map((flag) => `        '${flag}[${bracketed(meaning)}]${zshValues(values)}' \\`),
    ),
    argument.length > 0 ? `        '1: :(${argument.join(" ")})'` : "        ''",
    "      ;;",
  ]);
  return [
    "#compdef netaminity kubectl-netaminity",
    "# zsh completion of netaminity: put it as _netaminity into a folder of $fpath.",
    "_netaminity() {",
    "  local -a commands",
    "  commands=(",
    ...described,
    "  )",
    "  if (( CURRENT == 2 )); then",
    "    _describe command commands",
    "    return",
    "  fi",
    "  local command=$words[2]",
    // _arguments takes the first word for the command.
    "  shift words",
    "  (( CURRENT -= 1 ))",
    "  case $command in",
    ...cases,
    "  esac",
    "}",
    'if [ "$funcstack[1]" = "_netaminity" ]; then _netaminity "$@"; else compdef _netaminity netaminity; fi',
  ].join("\n");
}

function zshValues(values: Values): string {
  if (values === "nothing") return "";
  if (values === "file") return ":file:_files";
  return values === "anything" ? ":value: " : `:value:(${values.words.join(" ")})`;
}

function fishScript(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const lines = commands.flatMap(({ name, summary, flags, argument }) => [
    `complete -c netaminity -f -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d '${quoted(summary)}'`,
    ...(argument.length === 0
      ? []
      : [`complete -c netaminity -f -n '__fish_seen_subcommand_from ${name}' -a '${argument.join(" ")}'`]),
    ...flags.map((flag) => `complete -c netaminity -n '__fish_seen_subcommand_from ${name}' ${fishFlag(flag)}`),
  ]);
  return ["# fish completion of netaminity: put it as netaminity.fish into ~/.config/fish/completions.", ...lines].join(
    "\n",
  );
}

function fishFlag({ names, meaning, values }: Flag): string {
  const letters = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const wants =
    values === "nothing"
      ? "-f"
      : values === "file"
        ? "-r -F"
        : values === "anything"
          ? "-x"
          : `-x -a '${values.words.join(" ")}'`;
  return `${letters.join(" ")} ${wants} -d '${quoted(meaning)}'`;
}

/** Inside single quotes of a shell. */
const quoted = (text: string): string => text.replaceAll("'", "’");
/** Inside the brackets of a specification of zsh, where colons and brackets have a meaning. */
const bracketed = (text: string): string => quoted(text).replaceAll(/[[\]:\\]/g, (letter) => `\\${letter}`);
