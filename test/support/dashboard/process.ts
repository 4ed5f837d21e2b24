import { executable } from "../tunnel-compiled.ts";

export interface DashboardProcess extends AsyncDisposable {
  /** Opens the page once. */
  link: string;
}

/** Starts the compiled dashboard and waits for its address. Throws with what it said when it ends before that. */
export async function startDashboardProcess(args: readonly string[]): Promise<DashboardProcess> {
  const child = Bun.spawn([executable(), "dashboard", ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
  };
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    const [link] = /http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]+(?=\n)/.exec(said) ?? [];
    if (link !== undefined) return { link, [Symbol.asyncDispose]: stop };
  }
  throw new Error(`the dashboard ended: ${said}${await child.stderr.text()}`);
}
