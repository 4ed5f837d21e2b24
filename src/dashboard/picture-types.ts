/** What the server tells the page, as JSON. Nothing but types: both sides load this file. */

/** Everything at one moment. */
export interface Picture {
  /** RFC 3339: when the cluster was asked. */
  at: string;
  lines: readonly Line[];
}

/** `ready`: it does its job. `partly`: some of it does. `off`: nothing is wanted of it. `unknown`: no operator has said anything. */
export type State = "ready" | "partly" | "down" | "off" | "unknown";

/** One Tunnel, or a Proxy or Target that stands alone: what consumers reach over one network border. */
export interface Line {
  /** `kind/namespace/name`, the kind in small letters. */
  key: string;
  kind: "Tunnel" | "Proxy" | "Target";
  namespace: string;
  name: string;
  state: State;
  conditions: readonly ConditionPicture[];
  /** Where consumers connect; absent of a lone Target, whose consumers are in another cluster. */
  consumers?: string;
  /** Where connections end; absent of a lone Proxy, whose Target is elsewhere. */
  backend?: string;
  /** What the spec asks for. */
  encryption: string;
  pairs: readonly PairPicture[];
  /** Absent while a pod that counts could not be asked. */
  numbers?: Numbers;
  /** Bytes per second since the look before; absent at the first one, and when a number is. */
  rates?: Rates;
}

export interface ConditionPicture {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  /** RFC 3339: when the status changed last. */
  since: string;
}

/** A Proxy and its Target, or one of them when the other is elsewhere. */
export interface PairPicture {
  name: string;
  /** Where the Target dials; once known. */
  rendezvous?: string;
  proxies?: readonly PodPicture[];
  targets?: readonly PodPicture[];
}

export interface PodPicture {
  name: string;
  node: string;
  role: "active" | "standby" | "target";
  isReady: boolean;
  /** What Kubernetes says when it does not run: `Pending`, `ImagePullBackOff` and the like. */
  trouble?: string;
  sessions?: number;
  streams?: number;
}

export interface Numbers {
  sessions: number;
  /** How many of them are encrypted. */
  encrypted: number;
  streams: number;
  /** Bytes since the agents started. */
  toBackend: number;
  toConsumer: number;
}

export interface Rates {
  toBackend: number;
  toConsumer: number;
}

/** One moment of a line's past: seconds of the epoch, streams, bytes per second; null where nothing was known. */
export type Point = readonly [at: number, streams: number | null, toBackend: number | null, toConsumer: number | null];

/** Messages of the event stream by their names. */
export interface Told {
  /** Once, when a page connects. */
  history: { context: string; points: Readonly<Record<string, readonly Point[]>> };
  picture: Picture;
  /** The cluster gave no answer; what was told before is what was seen last. */
  trouble: { since: string; message: string };
}

/** Answer of `/doctor`. */
export interface Finding {
  verdict: "healthy" | "broken" | "unknown";
  firstBroken?: number;
  checks: readonly {
    link: string;
    outcome: "ok" | "broken" | "unknown" | "skipped";
    evidence: string;
    next?: string;
  }[];
}
