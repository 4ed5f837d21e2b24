import type { ProxyStatus } from "../api/proxy.ts";
import type { ProxyInput } from "./observed.ts";
import type { Plan } from "./plan.ts";

export declare function planProxy(input: ProxyInput): Plan<ProxyStatus>;
