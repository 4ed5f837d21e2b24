import { setDefaultTimeout } from "bun:test";
import { direct } from "../support/tunnel.ts";
import { tunnelCases } from "./cases.ts";

setDefaultTimeout(60_000);

// The cases are only worth something if a plain connection passes them, seen through the same helpers.
tunnelCases(direct);
