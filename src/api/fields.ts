import { z } from "zod";
import { checked, type Rule, text, textMap } from "./checked.ts";
import { consumerServiceOptions, consumerServiceRules, proxyServiceOptions, proxyServiceRules } from "./services.ts";

export { checked, type Rule, text, textMap };

const portNumber = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const nameLabel = "[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?";
/** As in the agents: a last label of digits only can be no name (RFC 3696 section 2), so 10.0.0.300 is neither name nor address. */
const lastLabel = "([0-9]*[A-Za-z_]([-A-Za-z0-9_]*[A-Za-z0-9_])?|[0-9]+-[-A-Za-z0-9_]*[A-Za-z0-9_])";
const hostName = `(${nameLabel}\\.)*${lastLabel}\\.?`;
const byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const address4 = `${byte}(\\.${byte}){3}`;

/** `host:port` with a name, an IPv4 address or an IPv6 address in brackets. */
export function endpoint(description: string) {
  return checked(z.string().max(262).describe(description), [
    {
      rule: [
        "self.startsWith('[')",
        `? (self.matches(r'^\\[[0-9A-Fa-f:.]+\\]:${portNumber}$') && isIP(self.substring(1, self.indexOf(']'))))`,
        `: self.matches(r'^(${hostName}|${address4}):${portNumber}$')`,
      ].join(" "),
      message:
        "must be host:port with a port from 1 to 65535, for example db.example.net:5432, 10.0.0.7:80 or [fd00::7]:80",
    },
  ]);
}

export function port(description: string) {
  return z.int().min(1).max(65535).describe(description);
}

/** Pods or pairs; 0 is a legal wish. */
export function replicas(description: string) {
  return z.int().min(0).max(64).default(1).describe(description);
}

/** Absent means no: an object that its Tunnel made can so be paused by itself. */
export const paused = z
  .boolean()
  .exactOptional()
  .describe(
    "Leave running pods as they are: no change of the spec, of the operator's settings or of its version replaces them. Replicas, failover and status go on.",
  );

/** Of a status. */
export const secretFingerprint = z
  .string()
  .exactOptional()
  .describe(
    "Fingerprint of the value under the key secret: four digits that tell values apart and nothing of them. Agents name those that they use in their metrics netaminity_secret_info and netaminity_secret_sessions.",
  );

/** For autoscalers, which ask for it through the scale subresource. */
export const podSelector = z.string().exactOptional().describe("Label selector of the pods, as autoscalers read it.");

/** How long running connections may go on after a pod was told to stop; whole seconds, minutes or hours. */
export function drainTimeout() {
  return checked(
    z
      .string()
      .max(6)
      .exactOptional()
      .describe(
        "How long open connections may go on when a pod stops; what is left then is reset. For example 30s, 5m or 1h. Absent: the operator's drainTimeout.",
      ),
    [
      {
        rule: "self.matches('^(0|[1-9][0-9]{0,4})(s|m|h)$') && duration(self) <= duration('24h')",
        message: "must be a whole number of s, m or h, at most 24h, for example 30s or 5m",
      },
    ],
  );
}

/** Name of a Service (RFC 1035 label), checked with a readable message. */
export function serviceName(description: string) {
  return checked(z.string().min(1).max(63).describe(description), [
    {
      rule: "self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      message:
        "must be a Service name: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
    },
  ]);
}

/** The consumer Service of a Tunnel or Proxy. */
export const consumerService = checked(
  z
    .strictObject({
      name: serviceName("Name of the Service that consumers connect to, in the namespace of this object."),
      port: port("Port of that Service.").default(30080),
      ...consumerServiceOptions,
    })
    .describe("The Service that consumers connect to."),
  consumerServiceRules,
);

/** The rendezvous Service of a Proxy. */
export const proxyService = checked(
  z
    .strictObject({
      type: z
        .enum(["ClusterIP", "NodePort", "LoadBalancer"])
        .default("ClusterIP")
        .describe(
          "ClusterIP when Targets run in the same cluster; NodePort (with the operator's proxyHost) or LoadBalancer when they come from outside.",
        ),
      nodePort: z
        .int()
        .min(1)
        .max(65535)
        .exactOptional()
        .describe(
          "Fixed port of type NodePort, within the range of the cluster (30000 to 32767 unless it was changed); of a Tunnel, the port of pair 0: pair i gets nodePort + i. Absent: the cluster chooses.",
        ),
      annotations: textMap()
        .exactOptional()
        .describe("Annotations of the Service, for example those that a cloud's load balancer controller reads."),
      loadBalancerSourceRanges: z
        .array(z.string().max(64))
        .max(64)
        .exactOptional()
        .describe("CIDRs from which Targets may connect to a Service of type LoadBalancer."),
      ...proxyServiceOptions,
    })
    .describe("The Service through which Targets reach the proxy pod (port 7835)."),
  [
    {
      rule: "!has(self.nodePort) || self.type == 'NodePort'",
      message: "nodePort can only be set with type NodePort",
      fieldPath: ".nodePort",
    },
    {
      rule: "(!has(self.loadBalancerClass) && !has(self.loadBalancerSourceRanges)) || self.type == 'LoadBalancer'",
      message: "loadBalancerClass and loadBalancerSourceRanges can only be set with type LoadBalancer",
    },
    ...proxyServiceRules,
  ],
);

export const secretRef = z
  .strictObject({
    name: text().min(1).describe("Name of the Secret, in the namespace of this object."),
  })
  .describe(
    "The Secret that both ends share: key secret, and optionally previous-secret, which stays accepted while the secret is being changed.",
  );

/** Whether the target tells the backend who the consumer is. */
export const sendProxyProtocol = z
  .enum(["off", "v1", "v2"])
  .default("off")
  .describe(
    'Start each connection to the backend with a PROXY protocol header that carries the consumer\'s address. Write "off" in quotes: YAML reads a bare off as false.',
  );

export const acceptProxyProtocol = z
  .boolean()
  .default(false)
  .describe(
    "Expect a PROXY protocol header (v1 or v2) at the start of each consumer connection, as a load balancer in front sends it.",
  );

const forWhom =
  'Set it to required for any link between proxy and target that you do not own. Write "off" in quotes: YAML reads a bare off as false.';

/** Whether a Target, or a Tunnel for both its sides, encrypts. */
export const encryption = (description: string) =>
  z.enum(["off", "required"]).default("off").describe(`${description} ${forWhom}`);

/** Whether a Proxy accepts Targets that do not encrypt. */
export const proxyEncryption = z
  .enum(["optional", "required"])
  .default("optional")
  .describe(
    "Whether Targets have to encrypt (TLS 1.3). optional: the Target decides. required: nothing plain is accepted, bore clients included. To switch it on without a cut set the Target to required first, and this when the Target is Updated; to switch it off begin here.",
  );

/** Rule on `metadata.name`: every child's name and label must fit. */
export function nameRule(longest: number): Rule {
  return {
    rule: `self.metadata.name.size() <= ${longest} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,
    message: `metadata.name must be lower-case letters, digits and '-', start with a letter and have at most ${longest} characters, because Services are named after it`,
  };
}
