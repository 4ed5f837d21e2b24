import { bothEnds, everyRole } from "./common.ts";
import { httpProxy, integer, oneOf, remoteEndpoint } from "./kinds.ts";
import { optional, type Role, required, withDefault } from "./table.ts";

const settings = {
  proxyEndpoint: required(remoteEndpoint, "The rendezvous of the proxy to connect to."),
  via: optional(
    httpProxy,
    "HTTP proxy that leads to the rendezvous, when nothing else leads out; never used for the backend.",
    {
      confidential: true,
    },
  ),
  endpoint: required(remoteEndpoint, "The backend that consumers are carried to."),
  ...bothEnds,
  encryption: withDefault(
    oneOf(["off", "required"]),
    "off",
    "Encrypt everything between this target and the proxy (TLS 1.3); with required nothing is ever said to a proxy that does not. For any link between them that you do not own.",
  ),
  poolMin: withDefault(integer(0, 1024), "2", "Least number of idle data connections kept ready."),
  poolMax: withDefault(integer(1, 4096), "64", "Greatest number of idle data connections kept ready."),
  sendProxyProtocol: withDefault(
    oneOf(["off", "v1", "v2"]),
    "off",
    "Tell the backend the consumer's address by a PROXY protocol header of this version.",
  ),
  borePort: optional(
    integer(0, 65_535),
    "Accept a stock bore server at proxy-endpoint and ask it for this port (0: any). It proves no secret: whoever answers there gets the backend.",
  ),
  ...everyRole,
};

export const targetRole: Role<typeof settings> = {
  name: "target",
  summary: "Connect to a proxy and carry its consumers to a backend.",
  settings,
  check: ({ poolMin, poolMax, encryption, borePort }) => {
    if (poolMin > poolMax) {
      return `pool-min is ${poolMin} and pool-max is ${poolMax}; accepted: pool-min not above pool-max`;
    }
    return encryption === "required" && borePort !== undefined
      ? "encryption is required and bore-port is given, but a bore server cannot encrypt; accepted: one of the two"
      : undefined;
  },
};
