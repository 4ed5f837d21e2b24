import { defineCommand } from "citty";
import { operatorRole } from "../config/operator.ts";
import { UsageError } from "../errors.ts";
import { answeredHelp } from "./settings.ts";

export const operatorCommand = defineCommand({
  meta: { name: operatorRole.name, description: operatorRole.summary },
  run: ({ rawArgs }) => {
    if (!answeredHelp(operatorRole, rawArgs)) {
      throw new UsageError("this build has no operator");
    }
  },
});
