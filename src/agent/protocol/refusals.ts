import type { StreamResult } from "../../metrics.ts";
import { Deadlines } from "../deadlines.ts";
import type { Wire, WireOwner } from "../net/wire.ts";
import type { StreamError } from "../streams.ts";
import { encode } from "./messages.ts";

/** Milliseconds that the proxy has for reading why its consumer was refused; then the connection is reset from here. */
const readTimeout = 3000;
/** Characters of a reason that fit into a frame, whatever they are. */
const maxReason = 180;

const leaving = new Deadlines<Wire>(readTimeout, (wire) => wire.reset());

/** Tells the proxy why a backend is not connected. The wire stays open until the proxy closes it: closing it over unread bytes would destroy the message. */
export function refuse(wire: Wire, { result, message }: StreamError): void {
  const owner: WireOwner = {
    received() {},
    drained() {},
    ended: () => wire.reset(),
    closed: () => void leaving.delete(wire),
  };
  wire.owner = owner;
  leaving.add(wire);
  wire.write(encode("Refused", { result, reason: printable(message) }));
}

/** Names of backends may hold anything; JSON escapes would make the frame longer than a peer accepts. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, "?").slice(0, maxReason);

const results: readonly string[] = [
  "refused",
  "unreachable",
  "unresolved",
  "timeout",
  "overload",
] satisfies StreamResult[];

/** What a target gave as the result of a start. The word of a newer target may be unknown here. */
export function knownResult(result: string): StreamResult {
  return results.includes(result) ? (result as StreamResult) : "refused";
}
