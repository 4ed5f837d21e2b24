import { setDefaultTimeout } from "bun:test";
import { tunnelOf } from "../support/tunnel.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { tunnelCases } from "./cases.ts";

setDefaultTimeout(60_000);

tunnelCases(tunnelOf(inProcess));
tunnelCases(tunnelOf(inProcess, "required"));
