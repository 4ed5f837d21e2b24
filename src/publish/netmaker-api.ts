import { z } from "zod";
import { type Call, type Endpoint, read } from "./netmaker-call.ts";
import type { MeshHost, MeshNode } from "./netmaker-hosts.ts";
import type { Login } from "./netmaker-login.ts";
import type { NewRule, Rule } from "./netmaker-rules.ts";
import { createSession } from "./netmaker-session.ts";

/** Netmaker's REST interface, as far as it is needed; all throw MeshError, LoginError or StoppedError. */
export interface NetmakerApi {
  hosts(signal: AbortSignal): Promise<MeshHost[]>;
  /** Those of all networks. */
  nodes(signal: AbortSignal): Promise<MeshNode[]>;
  rules(network: string, signal: AbortSignal): Promise<Rule[]>;
  create(rule: NewRule, signal: AbortSignal): Promise<void>;
  update(rule: Rule, signal: AbortSignal): Promise<void>;
  remove(rule: Rule, signal: AbortSignal): Promise<void>;
}

export function createNetmakerApi(endpoint: Endpoint, login: () => Login): NetmakerApi {
  const { request } = createSession(endpoint, login);
  const egress = (method: Call["method"], query: string, body?: unknown): Call => ({
    method,
    resource: "egress",
    path: `/api/v1/egress${query}`,
    ...(body === undefined ? {} : { body }),
  });
  return {
    async hosts(signal) {
      const call: Call = { method: "GET", resource: "hosts", path: "/api/hosts" };
      return read(hostList, await request(call, signal), call).map(({ id, name, endpointip }) => ({
        id,
        name,
        endpoint: endpointip,
      }));
    },
    async nodes(signal) {
      const call: Call = { method: "GET", resource: "nodes", path: "/api/nodes" };
      return read(nodeList, await request(call, signal), call).map((node) => ({
        id: node.id,
        hostId: node.hostid,
        network: node.network,
        addresses: [node.address, node.address6].filter((address) => address !== ""),
        pendingDelete: node.pendingdelete,
      }));
    },
    async rules(network, signal) {
      const call = egress("GET", `?network=${encodeURIComponent(network)}`);
      const { Response: rules } = read(ruleList, await request(call, signal), call);
      return (rules ?? []).filter((rule) => rule.network === network);
    },
    async create(rule, signal) {
      await request(egress("POST", "", rule), signal);
    },
    async update(rule, signal) {
      await request(egress("PUT", "", rule), signal);
    },
    async remove({ id }, signal) {
      await request(egress("DELETE", `?id=${encodeURIComponent(id)}`), signal);
    },
  };
}

const textOrNothing = z
  .string()
  .nullish()
  .transform((text) => text ?? "");
const hostList = z.array(z.object({ id: z.string(), name: z.string(), endpointip: textOrNothing }));
const nodeList = z.array(
  z.object({
    id: z.string(),
    hostid: z.string(),
    network: z.string(),
    address: textOrNothing,
    address6: textOrNothing,
    pendingdelete: z
      .boolean()
      .nullish()
      .transform((is) => is === true),
  }),
);
/** Rules of others may hold anything: theirs must not keep ours from being read. */
const ruleList = z.object({
  Response: z
    .array(
      z.object({
        id: z.string(),
        network: z.string(),
        name: z.string().catch(""),
        description: z.string().catch(""),
        range: z.string().catch(""),
        nat: z.boolean().catch(false),
        status: z.boolean().catch(false),
        nodes: z.record(z.string(), z.number()).catch({}),
      }),
    )
    .nullish(),
});
