import { restartAsSmallProcess, restartForManyRequests } from "./runtime.ts";

const [role] = process.argv.slice(2);
if (role === "proxy" || role === "target" || role === "node") {
  restartAsSmallProcess();
} else if (role === "operator") {
  restartForManyRequests();
}

// Loaded only now, so that a restart does not pay for it.
const { runCommandLine } = await import("./commands/root.ts");
await runCommandLine(process.argv.slice(2));
