import { isIPv6 } from "node:net";
import { formatHostPort, type HostPort, parseHostPort } from "./endpoint.ts";

/** An HTTP proxy that lets connections through by CONNECT (RFC 9110 section 9.3.6). */
export interface Via extends HostPort {
  /** `user:password`, when the HTTP proxy asks who wants out. In no log and no message. */
  readonly credentials: string | undefined;
}

/** Reads `http://[user:password@]host[:port]`; undefined when the text is something else. User and password are percent-encoded where they have to be. */
export function parseVia(text: string): Via | undefined {
  const match = /^http:\/\/(?:([^@/\s]+)@)?(\[[^\]]+\]|[^:@/\s[\]]+)(?::(\d{1,5}))?\/?$/i.exec(text);
  if (match === null) return undefined;
  const [, user, host = "", port = "80"] = match;
  const at = parseHostPort(`${host}:${port}`);
  const credentials = user === undefined ? undefined : decoded(user);
  if (at === undefined || at.port === 0 || (user !== undefined && credentials === undefined)) return undefined;
  return { ...at, credentials };
}

function decoded(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text);
    const isSayable = [...plain].every((letter) => letter >= " " && letter !== "\u007f");
    return isSayable ? plain : undefined;
  } catch {
    return undefined;
  }
}

/** For messages: without who asks. */
export function viaText(via: Via): string {
  return `http://${formatHostPort(via)}`;
}

/** The request line and headers of a CONNECT. */
export function connectRequest(via: Via, to: HostPort): string {
  const authority = `${isIPv6(to.host) ? `[${to.host}]` : to.host}:${to.port}`;
  const proof =
    via.credentials === undefined
      ? []
      : [`Proxy-Authorization: Basic ${Buffer.from(via.credentials).toString("base64")}`];
  return [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`, ...proof, "", ""].join("\r\n");
}

/** Where other programs find their HTTP proxy, in this order. */
const variables = ["HTTPS_PROXY", "https_proxy"];

/** The variable that names an HTTP proxy for connections to elsewhere, if there is one. */
export function proxyVariable(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  return variables.find((name) => (environment[name] ?? "") !== "");
}
