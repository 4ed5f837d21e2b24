import { tunnelOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { tunnelCases } from "./cases.ts";

tunnelCases(tunnelOf(compiled));
