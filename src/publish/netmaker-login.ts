import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { LoginError } from "./provider.ts";

/** By what Netmaker knows us. */
export type Login = { token: string } | { username: string; password: string };

/** Where it is found. Values win over files, a token over a password. */
export interface LoginSource {
  token?: string | undefined;
  tokenFile?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  passwordFile?: string | undefined;
  /** Folder with a file `token`, or with `username` and `password`: a mounted Secret. The names that kaput-not gives its keys count too. */
  folder?: string | undefined;
}

const maxFileBytes = 64 * 1024;

/** Reads the login anew, so that a file that was replaced takes effect. Throws LoginError. */
export function readLogin(source: LoginSource): Login {
  const token = source.token ?? fileText(source.tokenFile) ?? inFolder(source.folder, ["token", "NETMAKER_TOKEN"]);
  if (token !== undefined) {
    return { token };
  }
  const username = source.username ?? inFolder(source.folder, ["username", "NETMAKER_USERNAME"]);
  const password =
    source.password ?? fileText(source.passwordFile) ?? inFolder(source.folder, ["password", "NETMAKER_PASSWORD"]);
  if (username === undefined || password === undefined) {
    const missing = username === undefined ? "user" : "password";
    throw new LoginError(
      `no ${missing} for Netmaker is given; accepted: netmaker-username with netmaker-password-file, netmaker-token-file, or netmaker-credentials (a folder with the files username and password, or token)`,
      0,
    );
  }
  return { username, password };
}

function inFolder(folder: string | undefined, names: readonly string[]): string | undefined {
  const path = names.map((name) => join(folder ?? "", name)).find((each) => existsSync(each));
  return folder === undefined ? undefined : fileText(path);
}

/** Without the line break that editors put at the end: no password of Netmaker ends with one. */
function fileText(path: string | undefined): string | undefined {
  if (path === undefined) {
    return undefined;
  }
  let text: string;
  try {
    if (statSync(path).size > maxFileBytes) {
      throw new Error(`larger than ${maxFileBytes} bytes`);
    }
    text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw new LoginError(`${path} cannot be read`, 0, { cause });
  }
  if (text === "") {
    throw new LoginError(`${path} is empty`, 0);
  }
  return text;
}

/** Milliseconds since 1970 at which a JWT ends (RFC 7519, `exp`); undefined when it does not say so. */
export function expiryOf(token: string): number | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const exp = typeof payload === "object" && payload !== null && "exp" in payload ? payload.exp : undefined;
    return typeof exp === "number" ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** The sentence for a login that Netmaker refused with this code and message. */
export function refusedLogin(username: string, code: number, message: string): LoginError {
  const said = `Netmaker does not log in the user ${JSON.stringify(username)} (${code}${message === "" ? "" : `: ${message}`})`;
  return new LoginError(`${said}: ${adviceFor(code, message)}`, code);
}

function adviceFor(code: number, message: string): string {
  const alternative = "or give an access token of a user (netmaker-token-file)";
  if (/sso|oauth|external|identity provider/i.test(message)) {
    return `it logs in by SSO, which a program cannot: use a local user, ${alternative}`;
  }
  if (/basic.?auth|disabled/i.test(message)) {
    return `logging in by password is switched off on the server: allow it, ${alternative}`;
  }
  return code === 401
    ? "there is no such user, or it is disabled: check netmaker-username"
    : `the password is wrong, or the user logs in by SSO: check both, ${alternative}`;
}

export function secondFactor(username: string): LoginError {
  return new LoginError(
    `Netmaker asks the user ${JSON.stringify(username)} for a second factor (MFA), which a program does not have: use a user without MFA, or give an access token of a user (netmaker-token-file)`,
    200,
  );
}
