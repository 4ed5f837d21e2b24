import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { HostPort } from "../endpoint.ts";
import { errorCode, listenFailure, StartError } from "../errors.ts";

/** The address behind a listen setting: a name is resolved once, so that a wrong one is told apart from a taken port. */
export async function resolveListen(setting: string, { host, port }: HostPort): Promise<HostPort> {
  if (isIP(host) !== 0) {
    return { host, port };
  }
  try {
    return { host: (await lookup(host)).address, port };
  } catch (cause) {
    throw new StartError(`${setting}: the name ${host} does not resolve`, { cause });
  }
}

/** Runs what listens on `what` and explains a refusal of the system; a failure without a system code passes unchanged. */
export async function explainListenFailure<Result>(what: string, start: () => Promise<Result>): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    throw errorCode(error) === undefined ? error : listenFailure(what, error);
  }
}
