/** A program of this machine that a test starts and ends. */
import { waitFor } from "../cluster/index.ts";

export interface Program extends AsyncDisposable {
  /** Waits until the program has written this text. */
  said(text: string, deadline?: number): Promise<void>;
  /** Asks it to end; its exit code. */
  stop(): Promise<number>;
}

const stopDeadline = 20_000;

export function startProgram(command: readonly string[], env: Readonly<Record<string, string>>): Program {
  const child = Bun.spawn([...command], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  collected.catch(() => undefined);
  return {
    async said(text, deadline = 30_000) {
      try {
        const state = await waitFor(`${command.join(" ")} says ${JSON.stringify(text)}`, { deadline }, () => {
          if (output.includes(text)) return "said";
          return child.exitCode === null ? undefined : "ended";
        });
        if (state === "ended") throw new Error("the program ended");
      } catch (error) {
        throw new Error(`no ${JSON.stringify(text)} in:\n${output}`, { cause: error });
      }
    },
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopDeadline);
      const code = await child.exited;
      clearTimeout(timer);
      return code;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
