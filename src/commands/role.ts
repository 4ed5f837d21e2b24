import { errorText, StartError } from "../errors.ts";
import { type HealthOptions, type HealthServer, startHealth } from "../health.ts";
import { type Credentials, inClusterCredentials } from "../kube/credentials.ts";
import { CredentialsError } from "../kube/errors.ts";
import { kubeconfigCredentials, kubeconfigPaths } from "../kube/kubeconfig.ts";

// What the roles that work on an API server have in common.

/** Of a kubeconfig, or without one of the pod. Throws StartError when they cannot be had. */
export function findCredentials({ kubeconfig }: { kubeconfig: string | undefined }): Credentials {
  try {
    return kubeconfig === undefined ? inClusterCredentials() : kubeconfigCredentials(kubeconfigPaths(kubeconfig));
  } catch (error) {
    if (error instanceof CredentialsError) {
      throw new StartError(errorText(error), { cause: error });
    }
    throw error;
  }
}

interface RunningRole {
  notReady: HealthOptions["notReady"];
  metrics: { expose: HealthOptions["metrics"] };
  stop(): Promise<void>;
}

/** Serves the health of a role that runs; one whose address cannot be had is stopped. Throws ListenError. */
export function startHealthOf(role: RunningRole, listen: HealthOptions["listen"]): HealthServer {
  try {
    return startHealth({ listen, notReady: role.notReady, metrics: role.metrics.expose });
  } catch (error) {
    void role.stop();
    throw error;
  }
}
