import { tunnelOf } from "../support/tunnel.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { tunnelCases } from "./cases.ts";

tunnelCases(tunnelOf(inProcess));
