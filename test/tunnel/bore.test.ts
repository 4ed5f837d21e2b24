import { setDefaultTimeout } from "bun:test";
import { boreClientAt, boreServerFor } from "../support/bore.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { tunnelCases } from "./cases.ts";

setDefaultTimeout(60_000);

tunnelCases(boreClientAt(inProcess));
tunnelCases(boreServerFor(inProcess));
tunnelCases(boreClientAt(compiled));
tunnelCases(boreServerFor(compiled));
