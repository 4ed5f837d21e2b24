import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { CredentialsError } from "./errors.ts";
import type { ClusterInfo, ProgramCredentials } from "./kubeconfig.ts";

// Programs that give credentials to clients of the API server: `exec` of a kubeconfig's user, as the clouds' tools write it.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins

const execSchema = z.looseObject({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string() })).nullish(),
  interactiveMode: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
});
const answerSchema = z.looseObject({
  status: z.looseObject({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
  }),
});
type Status = z.output<typeof answerSchema>["status"];

/** Milliseconds that the program may take: it may wait for a person who logs in somewhere. */
const deadline = 120_000;

/**
 * Credentials from the `exec` of a kubeconfig in `folder`, got when they are first needed. Reading them throws CredentialsError when the program
 * fails.
 */
export function programCredentials(exec: unknown, folder: string, cluster: ClusterInfo): ProgramCredentials {
  const parsed = execSchema.safeParse(exec);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new CredentialsError(`kubeconfig: exec.${issue?.path.join(".")}: ${issue?.message}`);
  }
  const program = { ...parsed.data, command: placed(parsed.data.command, folder) };
  let known: Status | undefined;
  const status = () => {
    known ??= run(program, cluster);
    return known;
  };
  return {
    get token() {
      return status().token;
    },
    get certificate() {
      const { clientCertificateData: cert, clientKeyData: key } = status();
      return cert === undefined || key === undefined ? undefined : { cert, key };
    },
    expire() {
      known = undefined;
    },
  };
}

/** A bare name is looked up in PATH, a relative path from where it is written. */
function placed(command: string, folder: string): string {
  return command.includes("/") && !isAbsolute(command) ? join(folder, command) : command;
}

function run(program: z.output<typeof execSchema>, cluster: ClusterInfo): Status {
  const { apiVersion, command, args, env, interactiveMode, provideClusterInfo } = program;
  const interactive = interactiveMode !== "Never" && process.stdin.isTTY === true;
  const info = { kind: "ExecCredential", apiVersion, spec: { ...(provideClusterInfo && { cluster }), interactive } };
  let child: ReturnType<typeof Bun.spawnSync>;
  try {
    child = Bun.spawnSync([command, ...(args ?? [])], {
      env: {
        ...process.env,
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
        ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      },
      stdin: interactive ? "inherit" : "ignore",
      stdout: "pipe",
      stderr: "inherit",
      timeout: deadline,
    });
  } catch (cause) {
    throw new CredentialsError(`kubeconfig: the credential program ${command} cannot be started`, { cause });
  }
  if (child.exitCode !== 0) {
    throw new CredentialsError(
      `kubeconfig: the credential program ${command} ended with ${child.exitCode ?? child.signalCode}`,
    );
  }
  try {
    return answerSchema.parse(JSON.parse(child.stdout?.toString() ?? "")).status;
  } catch (cause) {
    throw new CredentialsError(`kubeconfig: the credential program ${command} did not print an ExecCredential`, {
      cause,
    });
  }
}
