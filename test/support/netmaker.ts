import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Rule } from "../../src/publish/netmaker-rules.ts";

/**
 * A Netmaker as server 1.5.1 looks on the wire, with all that is odd about it. It is node:http, because a connection can be dropped there
 * between a change and its answer.
 */
export interface ScriptedNetmaker extends AsyncDisposable {
  url: string;
  /** What the server holds; tests change it as people and netclients would. */
  hosts: Map<string, ScriptedHost>;
  rules: Map<string, Rule>;
  users: Map<string, ScriptedUser>;
  /** Seconds for which a token is good. */
  tokenLife: number;
  /** `METHOD path` of every request, in order. */
  requests: string[];
  /** Called for each request but those to log in; what it returns happens to it. */
  fault: ((request: string) => Fault | undefined) | undefined;
  /** From now on every token that was given is worth nothing. */
  expireTokens(): void;
  /** Adds a host that is in the networks; what it was in before it leaves, as when a machine joins anew. */
  join(
    name: string,
    networks?: readonly string[],
    given?: { id?: string; address?: string; endpoint?: string },
  ): ScriptedHost;
  leave(name: string): void;
  /** Requests but GET and those to log in. */
  writes(): string[];
}

export interface ScriptedHost {
  id: string;
  name: string;
  endpointip: string;
  nodes: { id: string; network: string; address: string; address6: string; pendingdelete: boolean }[];
}

export interface ScriptedUser {
  password: string;
  kind?: "sso" | "mfa" | "auditor";
  /** Access token that a person made for it. */
  accessToken?: string;
}

/** `drop`: no answer. `drop-after`: the change is made, and then there is no answer. `stall`: none for ever. A number: that code. */
export type Fault = "drop" | "drop-after" | "stall" | { code: number; retryAfter?: number };

let ids = 0;
const nextId = () => {
  ids += 1;
  return `${String(ids).padStart(8, "0")}-0000-4000-8000-000000000000`;
};

export async function startNetmaker(
  tls?: { cert: string; key: string },
  host = "127.0.0.1",
): Promise<ScriptedNetmaker> {
  const tokens = new Set<string>();
  const state: Omit<ScriptedNetmaker, "url" | typeof Symbol.asyncDispose> = {
    hosts: new Map(),
    rules: new Map(),
    users: new Map([["netaminity", { password: "correct horse" }]]),
    tokenLife: 12 * 3600,
    requests: [],
    fault: undefined,
    expireTokens: () => tokens.clear(),
    join(name, networks = ["net"], { id, address, endpoint } = {}) {
      state.leave(name);
      const host: ScriptedHost = {
        id: id ?? nextId(),
        name,
        endpointip: endpoint ?? "203.0.113.1",
        nodes: networks.map((network) => ({
          id: nextId(),
          network,
          address: address ?? "",
          address6: "",
          pendingdelete: false,
        })),
      };
      state.hosts.set(name, host);
      return host;
    },
    leave(name) {
      const gone = new Set((state.hosts.get(name)?.nodes ?? []).map((node) => node.id));
      for (const [id, rule] of state.rules) {
        // Removing a node of the mesh empties its rules, and leaves them.
        const left = Object.entries(rule.nodes).filter(([node]) => !gone.has(node));
        state.rules.set(id, { ...rule, nodes: Object.fromEntries(left) });
      }
      state.hosts.delete(name);
    },
    writes: () => state.requests.filter((request) => !request.startsWith("GET ") && !request.includes("authenticate")),
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    void serve(state, tokens, request, response).catch(() => request.socket.destroy());
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, host, resolve);
  await promise;
  return Object.assign(state, {
    url: `http${tls === undefined ? "" : "s"}://${host}:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  });
}

type State = Omit<ScriptedNetmaker, "url" | typeof Symbol.asyncDispose>;

async function serve(state: State, tokens: Set<string>, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "/", "http://netmaker");
  const name = `${request.method} ${url.pathname}`;
  state.requests.push(name);
  const answer = (code: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(code, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  const wrap = (code: number, message: string, body: unknown = null) =>
    answer(code, { Code: code, Message: message, Response: body });
  const body = await textOf(request);
  if (name === "POST /api/users/adm/authenticate") {
    logIn(state, tokens, body, wrap);
    return;
  }
  const fault = state.fault?.(name);
  if (fault === "stall") return;
  if (fault === "drop") {
    request.socket.destroy();
    return;
  }
  if (typeof fault === "object") {
    const headers = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
    answer(fault.code, { Code: fault.code, Message: "scripted failure", Response: null }, headers);
    return;
  }
  const token = (request.headers.authorization ?? "").replace("Bearer ", "");
  const byAccess = [...state.users.values()].find((user) => user.accessToken === token && token !== "");
  if (!tokens.has(token) && byAccess === undefined) {
    wrap(401, "unauthorized: token is expired");
    return;
  }
  if (byAccess?.kind === "auditor" || token.endsWith(".auditor")) {
    wrap(403, "forbidden: your role may not");
    return;
  }
  const made = handle(state, name, url, body);
  if (fault === "drop-after") {
    request.socket.destroy();
    return;
  }
  answer(made.code, made.body);
}

function logIn(
  state: State,
  tokens: Set<string>,
  body: string,
  wrap: (code: number, message: string, body?: unknown) => void,
) {
  const { username, password } = JSON.parse(body) as { username: string; password: string };
  const user = state.users.get(username);
  if (user === undefined) return wrap(401, "user does not exist");
  if (user.kind === "sso") return wrap(400, "user is registered via SSO: login by oauth");
  if (user.password !== password) return wrap(400, "incorrect credentials");
  if (user.kind === "mfa") return wrap(200, "MFA required", { UserName: username, PreAuthToken: "pre" });
  const exp = Math.floor(Date.now() / 1000) + state.tokenLife;
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = `${part({ alg: "HS256" })}.${part({ exp, jti: nextId() })}.${user.kind ?? "sig"}`;
  tokens.add(token);
  return wrap(200, "authenticated", { UserName: username, AuthToken: token });
}

function handle(state: State, name: string, url: URL, text: string): { code: number; body: unknown } {
  const wrapped = (body: unknown, code = 200, message = "done") => ({
    code,
    body: { Code: code, Message: message, Response: body },
  });
  switch (name) {
    case "GET /api/hosts":
      return {
        code: 200,
        body: [...state.hosts.values()].map((host) => ({
          ...host,
          nodes: host.nodes.map(({ id }) => id),
          interfaces: [{ name: "eth0", addressString: `${host.endpointip}/24` }],
          version: "v1.5.1",
        })),
      };
    case "GET /api/nodes":
      return {
        code: 200,
        body: [...state.hosts.values()].flatMap(({ id: hostid, nodes }) =>
          nodes.map((node) => ({ ...node, hostid, connected: true })),
        ),
      };
    case "GET /api/v1/egress": {
      const network = url.searchParams.get("network");
      return wrapped([...state.rules.values()].filter((rule) => rule.network === network));
    }
    case "POST /api/v1/egress": {
      const given = JSON.parse(text) as Rule;
      if (Object.keys(given.nodes ?? {}).length > 1) return wrapped(null, 400, "one node per egress in this edition");
      // No look at what is there already: the same again makes a duplicate.
      const rule = { ...normal(given), id: nextId(), status: true };
      state.rules.set(rule.id, rule);
      return wrapped(rule);
    }
    case "PUT /api/v1/egress": {
      const given = JSON.parse(text) as Rule;
      if (!state.rules.has(given.id)) return wrapped(null, 400, "no result found");
      state.rules.set(given.id, normal(given));
      return wrapped(given);
    }
    case "DELETE /api/v1/egress": {
      const id = url.searchParams.get("id") ?? "";
      return state.rules.delete(id) ? wrapped(null) : wrapped(null, 400, "no result found");
    }
    default:
      return wrapped(null, 404, "not found");
  }
}

/** What is left out becomes zero, and the CIDR gets its usual form. */
function normal(given: Partial<Rule>): Rule {
  const { id = "", network = "", name = "", description = "", range = "", nat = false, status = false } = given;
  const [address = "", length = ""] = range.split("/");
  const host = new URL(address.includes(":") ? `http://[${address}]` : `http://${address}`).hostname;
  return {
    id,
    network,
    name,
    description,
    range: `${host.replace(/^\[|\]$/g, "")}/${length}`,
    nat,
    status,
    nodes: given.nodes ?? {},
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
