import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { connectRequest, type Via } from "../../via.ts";
import { DialError } from "./dial-error.ts";
import type { Wire } from "./wire.ts";

/** Bytes that the head of an answer may have. */
const maxHead = 16 * 1024;
const headEnd = Buffer.from("\r\n\r\n");
/** Letters of a stranger's reason that are repeated in a message. */
const maxReason = 100;

/** Asks the HTTP proxy at the other end of `wire` to connect it with `to`. Rejects with DialError when it does not, or when `signal` says that nobody waits any more. */
export function openTunnel(wire: Wire, via: Via, to: HostPort, signal: AbortSignal): Promise<Wire> {
  const { promise, resolve, reject } = Promise.withResolvers<Wire>();
  let head = Buffer.alloc(0);
  const fail = (reason: string) => {
    signal.removeEventListener("abort", abandon);
    wire.reset();
    reject(new DialError("unreachable", `${formatHostPort(to)} cannot be reached (${reason})`));
  };
  const abandon = () => fail("not wanted any more");
  wire.owner = {
    received: (chunk) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(headEnd);
      if (end < 0 && head.byteLength <= maxHead) return;
      const objection = objectionIn(head.subarray(0, Math.max(0, end)).toString("latin1"));
      if (objection !== undefined) return fail(objection);
      signal.removeEventListener("abort", abandon);
      wire.leadsTo(to);
      giveBack(wire, head.subarray(end + headEnd.byteLength));
      resolve(wire);
    },
    drained: () => {},
    ended: () => fail("the HTTP proxy closed the connection"),
    closed: () => fail("the HTTP proxy closed the connection"),
  };
  signal.addEventListener("abort", abandon);
  if (signal.aborted) abandon();
  else wire.write(Buffer.from(connectRequest(via, to)));
  return promise;
}

/** What is wrong with the head of an answer; undefined when the tunnel is open (any 2xx). */
function objectionIn(head: string): string | undefined {
  const match = /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?/.exec(head);
  if (match === null) return "what answers is no HTTP proxy";
  const [, status = "", reason = ""] = match;
  if (status.startsWith("2")) return undefined;
  const said = reason.replaceAll(/[^ -~]/g, "").slice(0, maxReason);
  const hint = status === "407" ? "; it wants a user and a password: http://user:password@host:port" : "";
  return `the HTTP proxy answered ${status} ${said}`.trimEnd() + hint;
}

/** What came right behind the answer is the tunnel's: its owner, who takes the wire within this turn, gets it before anything later. */
function giveBack(wire: Wire, bytes: Uint8Array): void {
  if (bytes.byteLength === 0) return;
  wire.pause();
  setImmediate(() => {
    wire.resume();
    wire.owner.received(bytes);
  });
}
