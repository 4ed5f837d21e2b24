import type { TargetStatus } from "../api/target.ts";
import type { TargetInput } from "./observed.ts";
import type { Plan } from "./plan.ts";

export declare function planTarget(input: TargetInput): Plan<TargetStatus>;
