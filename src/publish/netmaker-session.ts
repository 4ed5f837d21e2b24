import { z } from "zod";
import { type Answer, type Call, describe, type Endpoint, exchange, messageOf, read } from "./netmaker-call.ts";
import { expiryOf, type Login, refusedLogin, secondFactor } from "./netmaker-login.ts";
import { LoginError, MeshError } from "./provider.ts";

/** A token is replaced this long before its end, in milliseconds, but never before half of its life. */
const renewBefore = 5 * 60_000;

/** Calls as somebody whom Netmaker knows. */
export interface Session {
  /** The answer, which is one of success. Throws MeshError, LoginError and StoppedError. */
  request(call: Call, signal: AbortSignal): Promise<Answer>;
}

interface Ticket {
  login: Login;
  token: string;
  /** Milliseconds of `Date.now` after which it is replaced. */
  until: number;
}

/** Logs in when there is no token, when it ends soon or has ended, and when the login has changed. */
export function createSession(endpoint: Endpoint, login: () => Login): Session {
  let ticket: Ticket | undefined;
  let opening: Promise<Ticket> | undefined;
  const currentTicket = async (signal: AbortSignal): Promise<Ticket> => {
    const wanted = login();
    if (ticket !== undefined && Date.now() < ticket.until && Bun.deepEquals(ticket.login, wanted)) {
      return ticket;
    }
    opening ??= logIn(endpoint, wanted, signal).finally(() => {
      opening = undefined;
    });
    ticket = await opening;
    return ticket;
  };
  return {
    async request(call, signal) {
      let used = await currentTicket(signal);
      let answer = await exchange(endpoint, call, used.token, signal);
      if (answer.code === 401 && !("token" in used.login)) {
        // Others may have noticed it too, and have logged in again already.
        ticket = ticket === used ? undefined : ticket;
        used = await currentTicket(signal);
        answer = await exchange(endpoint, call, used.token, signal);
      }
      if (answer.code < 200 || answer.code > 299) {
        throw failureOf(call, answer, used.login);
      }
      return answer;
    },
  };
}

const loginAnswer = z.object({
  Response: z.object({ AuthToken: z.string().optional(), PreAuthToken: z.string().optional() }).nullish(),
});

async function logIn(endpoint: Endpoint, login: Login, signal: AbortSignal): Promise<Ticket> {
  if ("token" in login) {
    return { login, token: login.token, until: Number.POSITIVE_INFINITY };
  }
  const { username, password } = login;
  const path = "/api/users/adm/authenticate";
  const call: Call = { method: "POST", resource: "authenticate", path, body: { username, password } };
  const answer = await exchange(endpoint, call, undefined, signal);
  if (answer.code === 400 || answer.code === 401 || answer.code === 403) {
    throw refusedLogin(username, answer.code, messageOf(answer));
  }
  if (answer.code < 200 || answer.code > 299) {
    throw failureOf(call, answer, login);
  }
  const { Response: given } = read(loginAnswer, answer, call);
  if (given?.AuthToken === undefined || given.AuthToken === "") {
    throw given?.PreAuthToken === undefined
      ? new MeshError("Netmaker answered a login without a token", answer.code)
      : secondFactor(username);
  }
  return { login, token: given.AuthToken, until: renewalOf(given.AuthToken) };
}

function renewalOf(token: string): number {
  const expiry = expiryOf(token);
  const now = Date.now();
  return expiry === undefined
    ? Number.POSITIVE_INFINITY
    : expiry - Math.min(renewBefore, Math.max(0, expiry - now) / 2);
}

function failureOf(call: Call, answer: Answer, login: Login): MeshError {
  const message = messageOf(answer);
  const said = `${answer.code}${message === "" ? "" : `: ${message}`}`;
  const who = "token" in login ? "the access token" : `the user ${JSON.stringify(login.username)}`;
  if (answer.code === 401) {
    return new LoginError(`Netmaker does not accept ${who} (${said}): it has expired or was removed`, answer.code);
  }
  if (answer.code === 403) {
    return new LoginError(
      `${who} may not ${describe(call)} (${said}): give it a role that may read hosts and nodes and change egress rules`,
      answer.code,
    );
  }
  if (answer.code >= 300 && answer.code < 400) {
    return new MeshError(
      `${describe(call)} was answered with a redirect (${said}): check netmaker-api-url`,
      answer.code,
    );
  }
  return new MeshError(`${describe(call)} failed (${said})`, answer.code);
}
