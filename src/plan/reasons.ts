/** What one reason of a condition means and what a person does about it. The table in docs/reference is written from here. */
export interface ReasonText {
  means: string;
  todo: string;
  /** `netaminity doctor` finds out more than the message says. Not in `todo`, because the doctor prints that itself. */
  isForDoctor?: true;
  /** Reported as a Warning event when it appears. */
  isProblem?: true;
  /** Waiting does not help: what is wanted has to be changed, or something beside it. Makes the condition Stalled. */
  isStalled?: true;
}

const nothing = "Nothing.";

/** Every reason that a condition of a Tunnel, Proxy or Target can have. */
export const reasons = {
  Pending: {
    means: "Ready of an object that was just made: the operator has not looked at it yet (status Unknown).",
    todo: "Wait; when it lasts, check that the operator runs and serves this namespace.",
  },
  Available: {
    means: "Ready of a Proxy: the rendezvous endpoint is known and a live proxy pod is behind it.",
    todo: nothing,
  },
  SessionUp: {
    means: "Connected of a Proxy, Ready of a Target: a session between both ends is up.",
    todo: nothing,
  },
  AllPairsReady: { means: "Ready and Available of a Tunnel: every pair carries traffic.", todo: nothing },
  SomePairsReady: {
    means: "Available of a Tunnel: consumers are served by at least one pair, though Ready is False.",
    todo: "See Ready, which says what is missing.",
  },
  UpToDate: { means: "Updated: all pods run what the spec asks for.", todo: nothing },
  RollingOut: {
    means:
      "Updated: pods of an older revision are still there, or the newest ones do not run yet; of a Tunnel also: one side of a pair has to wait for the other before it switches encryption.",
    todo: "Wait; when it lasts, read Ready and the pods' events.",
  },
  WaitingForOthers: {
    means:
      "Updated: the operator's settings or version ask for other pods, and as many other Proxies and Targets as config.maxRollouts allows are being changed now, or another one of the same Tunnel.",
    todo: "Wait. When it lasts, correct the ones whose Updated is False for another reason, or pause them (spec.paused): each of them holds a place.",
  },
  Paused: {
    means: "Updated: spec.paused is set, and the pods are not what they would be without it.",
    todo: "Remove spec.paused when the pods may be replaced.",
  },
  NoSessionAfterChange: {
    means:
      "Updated of a Proxy: pods of the newest revision run, but no target gets a session with them, so pods of the older revision go on serving consumers. It is tried again, after pauses of 30 s to 5 min.",
    todo: "Compare the Secret that spec.secretRef names with that of the Target, and look whether port 7835 of the newest pods can be reached (image, network policies); or take the change back.",
    isForDoctor: true,
    isProblem: true,
    isStalled: true,
  },
  ScaledToZero: { means: "replicas is 0, so nothing runs.", todo: "Raise spec.replicas when it should." },
  PairsWaiting: {
    means: "Some pairs of the Tunnel do not carry traffic yet; the message says which and what they wait for.",
    todo: "Wait; when it lasts, look at the Proxy or Target that is named.",
    isForDoctor: true,
  },
  PairsNotReady: {
    means: "Some pairs of the Tunnel cannot carry traffic; the message says which and why.",
    todo: "Look at the Proxy or Target that is named.",
    isForDoctor: true,
    isProblem: true,
  },
  WaitingForTarget: {
    means: "The Proxy can be reached, but no Target has a session with it, so consumers are refused.",
    todo: "Make the Target (spec.proxyEndpoint = the Proxy's status.proxyEndpoint, same secret), or read the log of its pod.",
    isForDoctor: true,
  },
  Connecting: {
    means: "The target pod runs but has no session with the proxy.",
    todo: "Check that spec.proxyEndpoint can be reached from its node and that both Secrets are equal; the pod's log names the cause.",
    isForDoctor: true,
  },
  PodsStarting: { means: "No pod runs yet, and none reports an error.", todo: "Wait." },
  PodsFailing: {
    means: "Pods cannot be made, scheduled or started, or crash; the message is Kubernetes' or the agent's own.",
    todo: "Do what the message says: image name and pull secrets, node selectors and taints, quota, Pod Security, settings.",
    isForDoctor: true,
    isProblem: true,
  },
  ProgressDeadline: {
    means: "The newest revision of the pods did not become ready within 10 minutes.",
    todo: "Read the new pod's log and events; the old pod goes on serving meanwhile.",
    isForDoctor: true,
    isProblem: true,
    isStalled: true,
  },
  NodeNotReady: {
    means: "The only pod that runs is on a node that is not ready.",
    todo: "Bring the node back, or use replicas of 2 or more so that another pod can take over.",
    isProblem: true,
  },
  SecretMissing: {
    means: "The Secret does not exist. Pods start as soon as it does.",
    todo: "Create it in the namespace of the object, with the key secret and the same value as at the other end.",
    isProblem: true,
  },
  SecretInvalid: {
    means:
      "The Secret has no key secret, or its value is empty, larger than 64 KiB or no UTF-8 text; or its key previous-secret is one of the latter two. Pods that run keep the value that they had.",
    todo: "Set the key that the message names to the value of the other end; previous-secret can also be removed.",
    isProblem: true,
    isStalled: true,
  },
  ProxyHostMissing: {
    means:
      "The rendezvous Service is of type NodePort, but the operator does not know under which host the nodes are reached.",
    todo: "Set the chart value config.proxyHost (NETAMINITY_PROXY_HOST), or proxyService.externalHost of the object.",
    isProblem: true,
    isStalled: true,
  },
  EndpointPending: {
    means: "The load balancer or node port of the rendezvous Service is not assigned yet.",
    todo: "Wait; when it lasts, look at the Service's events and at the cloud's load balancer controller.",
  },
  NameConflict: {
    means: "An object that is needed exists already and belongs to somebody else. It is left alone.",
    todo: "Rename the tunnel or the Service in its spec, or remove the other object.",
    isProblem: true,
    isStalled: true,
  },
  PortConflict: {
    means: "The nodePort is taken by another Service.",
    todo: "Choose another nodePort (of proxyService a Tunnel needs one per pair, in a row), or free it.",
    isProblem: true,
    isStalled: true,
  },
  InvalidSpec: {
    means: "The API server refuses what would follow from the spec; the message is its own.",
    todo: "Correct the field that the message names.",
    isProblem: true,
    isStalled: true,
  },
  NotRemoved: {
    means: "Updated: an object that is not wanted any more could not be deleted; the message says what refused it.",
    todo: "Do what the message says (a policy, an admission webhook, RBAC), or delete the object by hand. It is tried again every 30 s.",
    isProblem: true,
    isStalled: true,
  },
  Forbidden: {
    means: "The operator may not write an object: RBAC, a quota, Pod Security or an admission webhook.",
    todo: "Do what the message says.",
    isProblem: true,
    isStalled: true,
  },
} as const satisfies Record<string, ReasonText>;

export type Reason = keyof typeof reasons;

export function isProblem(reason: Reason): boolean {
  const text: ReasonText = reasons[reason];
  return text.isProblem === true;
}
