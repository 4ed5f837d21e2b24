import { bothEnds, defaultConsumerListen, defaultRendezvousListen, everyRole } from "./common.ts";
import { boolean, listenEndpoint, oneOf } from "./kinds.ts";
import { type Role, withDefault } from "./table.ts";

const settings = {
  listen: withDefault(listenEndpoint, defaultRendezvousListen, "Address on which targets arrive (the rendezvous)."),
  consumerListen: withDefault(listenEndpoint, defaultConsumerListen, "Address on which consumers arrive."),
  ...bothEnds,
  encryption: withDefault(
    oneOf(["optional", "required"]),
    "optional",
    "Whether targets have to encrypt: with required nothing plain is accepted, neither another proxy's nor a bore client's; with optional each target decides.",
  ),
  acceptProxyProtocol: withDefault(
    boolean,
    "false",
    "Consumers arrive through a load balancer that sends a PROXY protocol header (version 1 or 2).",
  ),
  ...everyRole,
};

export const proxyRole: Role<typeof settings> = {
  name: "proxy",
  summary: "Accept targets on the rendezvous port and carry consumers to them.",
  settings,
};
