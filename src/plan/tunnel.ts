import type { TunnelStatus } from "../api/tunnel.ts";
import type { TunnelInput } from "./observed.ts";
import type { Plan } from "./plan.ts";

export declare function planTunnel(input: TunnelInput): Plan<TunnelStatus>;
