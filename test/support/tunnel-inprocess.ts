import { startProxy } from "../../src/agent/proxy/proxy.ts";
import { startTarget } from "../../src/agent/target/target.ts";
import { startHealth } from "../../src/health.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import { parseVia } from "../../src/via.ts";
import { createLogBook, type WritableLogBook } from "./process.ts";
import { eventually } from "./tcp-wait.ts";
import { goodSecret, type Implementation, type RoleOptions } from "./tunnel.ts";

function logInto(book: WritableLogBook, context: LogFields = {}): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      book.add({ level, message, fields: { ...context, ...fields } });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => logInto(book, { ...context, ...fields }),
  };
}

interface Role {
  notReady(): string | undefined;
  drain(timeout: number): Promise<void>;
  stop(): void;
}

const defaultDeadline = 2000;
const defaultDrainTimeout = 10_000;

/** What the two roles share: changing secrets, a log book, metrics and the health server. */
function surroundings(options: RoleOptions) {
  const log = createLogBook();
  const metrics = createMetrics();
  let valid: readonly string[] = options.secrets ?? [goodSecret];
  const secrets = {
    get current() {
      return valid;
    },
  };
  return {
    given: { secrets, deadline: options.deadline ?? defaultDeadline, log: logInto(log), metrics },
    finish: (role: Role) => {
      const health = startHealth({
        listen: { host: "127.0.0.1", port: 0 },
        notReady: () => role.notReady(),
        metrics: () => metrics.expose(),
      });
      return {
        log,
        process: undefined,
        health: { host: "127.0.0.1", port: health.port },
        setSecrets: async (next: readonly string[]) => {
          valid = next;
        },
        drain: async () => {
          await role.drain(options.drainTimeout ?? defaultDrainTimeout);
          role.stop();
        },
        [Symbol.asyncDispose]: async () => {
          role.stop();
          health.stop();
        },
      };
    },
  };
}

export const inProcess: Implementation = {
  name: "in process",
  startProxy: async (options = {}) => {
    const { given, finish } = surroundings(options);
    const host = options.host ?? "127.0.0.1";
    const role = await startProxy({
      ...given,
      listen: { host, port: options.rendezvousPort ?? 0 },
      consumerListen: { host, port: options.consumerPort ?? 0 },
      acceptProxyProtocol: options.acceptProxyProtocol ?? false,
      encryption: options.encryption ?? "optional",
    });
    return {
      ...finish(role),
      rendezvous: { host, port: role.rendezvousPort },
      consumers: { host, port: role.consumerPort },
    };
  },
  startTarget: async (options) => {
    const { given, finish } = surroundings(options);
    const role = await startTarget({
      ...given,
      proxyEndpoint: options.proxy,
      via: options.via === undefined ? undefined : parseVia(options.via),
      endpoint: options.backend,
      borePort: options.borePort,
      encryption: options.encryption ?? "off",
      poolMin: options.poolMin ?? 2,
      poolMax: options.poolMax ?? 64,
      sendProxyProtocol: options.sendProxyProtocol ?? "off",
    });
    return { ...finish(role), boundPort: () => eventually(() => role.boundPort(), "the bore server gives a port") };
  },
};
