import { setDefaultTimeout } from "bun:test";
import { tunnelOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { tunnelCases } from "./cases.ts";

setDefaultTimeout(60_000);

tunnelCases(tunnelOf(compiled));
