import type { V1PodSpec } from "@kubernetes/client-node";

/** Capabilities that Pod Security `restricted` lets a container add. */
const addable = ["NET_BIND_SERVICE"];

/**
 * What breaks Pod Security `restricted` (kubernetes.io, "Pod Security Standards") in a pod, as `container: rule`.
 * Only the rules that a pod without host paths or host namespaces of its own can break by its security contexts.
 */
export function restrictedViolations(pod: V1PodSpec): string[] {
  const context = pod.securityContext ?? {};
  const ofPod = [
    ...(pod.hostNetwork || pod.hostPID || pod.hostIPC ? ["pod: host namespaces"] : []),
    ...(pod.volumes ?? []).flatMap(({ name, hostPath }) => (hostPath ? [`pod: hostPath volume ${name}`] : [])),
  ];
  const containers = [...pod.containers, ...(pod.initContainers ?? [])];
  return [
    ...ofPod,
    ...containers.flatMap(({ name, securityContext = {}, ports = [] }) => {
      const rules: [name: string, kept: boolean][] = [
        ["runAsNonRoot", (securityContext.runAsNonRoot ?? context.runAsNonRoot) === true],
        ["runAsUser", (securityContext.runAsUser ?? context.runAsUser) !== 0],
        ["allowPrivilegeEscalation", securityContext.allowPrivilegeEscalation === false],
        ["privileged", securityContext.privileged !== true],
        ["drop ALL", securityContext.capabilities?.drop?.includes("ALL") === true],
        ["added capabilities", (securityContext.capabilities?.add ?? []).every((each) => addable.includes(each))],
        [
          "seccompProfile",
          ["RuntimeDefault", "Localhost"].includes(
            (securityContext.seccompProfile ?? context.seccompProfile)?.type ?? "Unconfined",
          ),
        ],
        ["hostPort", ports.every(({ hostPort }) => hostPort === undefined)],
      ];
      return rules.flatMap(([rule, kept]) => (kept ? [] : [`${name}: ${rule}`]));
    }),
  ];
}
