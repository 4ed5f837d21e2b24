import { createLineSplitter } from "../kube/watch-stream.ts";
import type { Family } from "./address.ts";
import type { Command } from "./document.ts";
import { NodeProgramError } from "./errors.ts";
import { readListing } from "./listing.ts";
import type { Table } from "./table.ts";

/** The kernel's tables, over Debian's `nft`: all of the role that runs it. */
export interface Nft {
  /** Applies commands as one transaction. Throws NodeProgramError; then nothing of it was done. */
  apply(commands: readonly Command[]): Promise<void>;
  /** The table as it is; undefined when there is none. Throws NodeProgramError. */
  read(family: Family, name: string): Promise<Table | undefined>;
  /** Calls back with each line of `nft monitor` until the signal fires or the program ends. */
  monitor(onLine: (line: string) => void, signal: AbortSignal): Promise<void>;
}

/** Milliseconds after which a call is given up. A replacement with 20,000 elements takes a third of a second. */
const deadline = 30_000;
const longestComplaint = 500;
const maxReads = 3;

/** `command` comes before the arguments: `["nft"]`, or what enters a network namespace first. */
export function createNft(command: readonly string[] = ["nft"]): Nft {
  const read = async (...args: string[]) => await runProgram([...command, ...args]);
  const isThere = async (family: Family, name: string) => {
    const listing = JSON.parse(await read("-j", "list", "tables", family)) as {
      nftables: { table?: { name: string } }[];
    };
    return listing.nftables.some(({ table }) => table?.name === name);
  };
  return {
    async apply(commands) {
      await runProgram([...command, "-j", "-f", "-"], JSON.stringify({ nftables: commands }));
    },
    async read(family, name) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return readListing(await read("-j", "list", "table", family, name), family, name);
        } catch (error) {
          // A question for a table that is not there fails, and so does one for a table that cannot be read, or that came just now.
          if (!(await isThere(family, name))) return undefined;
          if (attempt === maxReads) throw error;
        }
      }
    },
    async monitor(onLine, signal) {
      // As text: its JSON of some of others' maps kills nft 1.0.6.
      const child = Bun.spawn([...command, "monitor"], { stdin: "ignore", stdout: "pipe", stderr: "ignore", signal });
      const linesOf = createLineSplitter();
      for await (const chunk of child.stdout) linesOf(chunk).forEach(onLine);
      await child.exited;
    },
  };
}

/**
 * Runs a program to its end and returns what it printed.
 * @throws NodeProgramError when it cannot be started, fails, is killed by a signal or does not end in time
 */
export async function runProgram(command: readonly string[], input = ""): Promise<string> {
  const name = command.join(" ");
  let child: Bun.Subprocess<Buffer, "pipe", "pipe">;
  try {
    child = Bun.spawn([...command], { stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe", timeout: deadline });
  } catch (cause) {
    throw new NodeProgramError(`${name} cannot be run`, { cause });
  }
  const [output, complaint, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.signalCode !== null) {
    throw new NodeProgramError(`${name} was ended by ${child.signalCode}`);
  }
  if (code !== 0) {
    throw new NodeProgramError(`${name} failed with ${code}: ${complaint.trim().slice(0, longestComplaint)}`);
  }
  return output;
}
