import { oneOf } from "./kinds.ts";
import { type Role, required } from "./table.ts";

export const shells = ["bash", "zsh", "fish"] as const;

const settings = {
  shell: required(oneOf(shells), "The shell to write for; its own documentation says where such a script belongs.", {
    sources: ["argument"],
  }),
};

export const completionRole: Role<typeof settings> = {
  name: "completion",
  summary: "Print the completion script of a shell.",
  settings,
};
