import { createKube } from "../../src/kube/kube.ts";
import { kubeconfigCredentials } from "../../src/kube/kubeconfig.ts";
import { resources } from "../../src/operator/resources.ts";
import type { ControlPlane } from "../support/cluster/index.ts";

/**
 * What OpenShift's RestrictedEndpointsAdmission does to a ServiceAccount of the namespace, as a policy: who writes an EndpointSlice that holds an
 * address of the pods' network needs the right to create `endpointslices/restricted`.
 */
export async function restrictEndpoints(plane: ControlPlane, namespace: string): Promise<AsyncDisposable> {
  const group = "admissionregistration.k8s.io";
  const name = `restricted-endpoints-${namespace}`;
  const right = "authorizer.group('discovery.k8s.io').resource('endpointslices').subresource('restricted')";
  await plane.apply([
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["discovery.k8s.io"],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["endpointslices"],
            },
          ],
        },
        matchConditions: [
          { name: "ours", expression: `request.userInfo.username.startsWith('system:serviceaccount:${namespace}:')` },
        ],
        validations: [
          {
            expression: `${right}.namespace(request.namespace).check('create').allowed()`,
            reason: "Forbidden",
            // In the words of a missing right, so that the test of the rights reads it like the others.
            message: 'cannot create resource "endpointslices/restricted" in API group "discovery.k8s.io"',
          },
        ],
      },
    },
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    },
  ]);
  return {
    async [Symbol.asyncDispose]() {
      const kinds = "validatingadmissionpolicybinding,validatingadmissionpolicy";
      await plane.kubectl(["delete", kinds, name, "--wait=false"]);
    },
  };
}

/** Whether the policy is in force: the API server takes it in a moment after it was accepted. */
export async function refusesEndpoints(kubeconfig: string, namespace: string): Promise<boolean> {
  const kube = createKube({
    credentials: kubeconfigCredentials(kubeconfig),
    userAgent: "netaminity-test",
    fieldManager: "netaminity-test",
  });
  const response = await kube.exchange({
    verb: "create",
    resource: resources.endpointSlice,
    namespace,
    query: { dryRun: "All" },
    body: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "asked" },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"] }],
      ports: [],
    },
  });
  return response.status === 403 && (await response.text()).includes("endpointslices/restricted");
}
