import { parseAddress } from "./address.ts";
import type { Forgotten } from "./conntrack-changes.ts";
import { NodeProgramError } from "./errors.ts";
import { runProgram } from "./nft.ts";

/** The kernel's table of connections, over Debian's `conntrack`: all of the role that runs it. */
export interface Conntrack {
  /** Throws NodeProgramError. */
  forget(what: Forgotten): Promise<void>;
}

/** More addresses than this are first looked for in one reading of the table: each deletion reads all of it. */
const fewAddresses = 4;

export function createConntrack(command: readonly string[] = ["conntrack"]): Conntrack {
  return {
    async forget({ family, moved, added, waysOut }) {
      const ofFamily = ["-f", family === "ip" ? "ipv4" : "ipv6"];
      const remove = async (...filter: string[]) => {
        try {
          await runProgram([...command, "-D", ...ofFamily, ...filter]);
        } catch (error) {
          if (!isNothingFound(error)) throw error;
        }
      };
      const count = moved.length + added.length + waysOut.length;
      const known = count <= fewAddresses ? undefined : endsIn(await runProgram([...command, "-L", ...ofFamily]));
      const isThere = (address: string) => known === undefined || known.has(address);
      for (const address of moved.filter(isThere)) {
        await remove("-d", address);
      }
      for (const address of added.filter(isThere)) {
        await remove("-p", "udp", "-d", address);
      }
      for (const { pod, address } of waysOut.filter((each) => isThere(each.pod))) {
        await remove("-s", pod, "--reply-dst", address);
      }
    },
  };
}

/** Deleting nothing is a failure to conntrack(8), with the count in its complaint: its exit code is that of every failure. */
function isNothingFound(error: unknown): boolean {
  return error instanceof NodeProgramError && / 0 flow entries have been deleted/.test(error.message);
}

/** Both ends of each connection as they were when it began. */
function endsIn(listing: string): Set<string> {
  const found = new Set<string>();
  for (const line of listing.split("\n")) {
    const [, source = "", destination = ""] = /src=(\S+) dst=(\S+)/.exec(line) ?? [];
    for (const end of [source, destination]) found.add(parseAddress(end)?.text ?? end);
  }
  return found;
}
