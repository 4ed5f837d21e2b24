/** What a test does with a running API server as administrator: kubectl, helm, objects, namespaces, tokens. */
import { join } from "node:path";
import type { ApiClient } from "./api-client.ts";
import type { Binaries } from "./binaries.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { run as runCommand } from "./command.ts";
import type { ControlPlane } from "./control-plane.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import type { Run } from "./run-folder.ts";
import { waitFor } from "./wait.ts";

export interface Access {
  readonly run: Run;
  readonly programs: Binaries;
  readonly url: string;
  readonly kubeconfig: string;
  readonly api: ApiClient;
  readonly authority: CertificateAuthority;
  readonly controllerManager: boolean;
}

type AccessMethods = Pick<
  ControlPlane,
  "kubectl" | "helm" | "apply" | "createNamespace" | "token" | "serviceAccountKubeconfig"
>;

export function accessOf({ run, programs, url, kubeconfig, api, authority, controllerManager }: Access): AccessMethods {
  const environment = { HOME: run.folder, HELM_CACHE_HOME: join(run.folder, "helm") };
  const kubectl: ControlPlane["kubectl"] = (args, { kubeconfig: other, ...rest } = {}) =>
    runCommand([programs.kube, "kubectl", "--kubeconfig", other ?? kubeconfig, ...args], { env: environment, ...rest });
  const createAccount = async (namespace: string, name: string): Promise<void> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await unlessExists(() => api.request(path, { body: { metadata: { name } } }));
  };
  const token: ControlPlane["token"] = async (namespace, name, seconds = 3600) => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const answer = await api.request<{ status: { token: string } }>(path, {
      body: { spec: { expirationSeconds: seconds } },
    });
    return answer.status.token;
  };
  return {
    kubectl,
    helm: (args, rest = {}) =>
      runCommand([programs.clustertools, "helm", "--kubeconfig", kubeconfig, ...args], {
        ...rest,
        env: { ...environment, ...rest.env },
      }),
    async apply(manifest) {
      const input =
        typeof manifest === "string" ? manifest : JSON.stringify({ apiVersion: "v1", kind: "List", items: manifest });
      await kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input });
    },
    async createNamespace(name, labels = {}) {
      await unlessExists(() => api.request("/api/v1/namespaces", { body: { metadata: { name, labels } } }));
      if (!controllerManager) await createAccount(name, "default");
      else
        await waitFor("ServiceAccount default", { deadline: 20_000 }, () =>
          api.request(`/api/v1/namespaces/${name}/serviceaccounts/default`),
        );
    },
    token,
    async serviceAccountKubeconfig(namespace, name) {
      await createAccount(namespace, name);
      const file = join(run.folder, "kubeconfigs", `${namespace}.${name}`);
      const user = { token: await token(namespace, name) };
      return writeKubeconfig(file, { url, ca: authority.certificate, user, namespace });
    },
  };
}

async function unlessExists(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof Error && "status" in error && error.status === 409)) throw error;
  }
}
