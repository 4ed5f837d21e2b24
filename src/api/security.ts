import { z } from "zod";
import { text } from "./fields.ts";

const id = (description: string) => z.int().min(0).exactOptional().describe(description);

const profile = (description: string) =>
  z
    .strictObject({
      type: z.enum(["RuntimeDefault", "Localhost", "Unconfined"]).describe("Which profile."),
      localhostProfile: text().exactOptional().describe("Its name on the node, with type Localhost."),
    })
    .exactOptional()
    .describe(description);

const seLinuxOptions = z
  .strictObject({
    user: text().exactOptional().describe("SELinux user."),
    role: text().exactOptional().describe("SELinux role."),
    type: text().exactOptional().describe("SELinux type."),
    level: text().exactOptional().describe("SELinux level."),
  })
  .exactOptional()
  .describe("SELinux context.");

const processId = (description: string) => z.int().min(0).nullable().exactOptional().describe(description);

const common = {
  runAsUser: processId(
    "User id of the process; when absent or null that of the image (65532), or what the platform chooses.",
  ),
  runAsGroup: processId(
    "Group id of the process; when absent or null that of the image (65532), or what the platform chooses.",
  ),
  runAsNonRoot: z.boolean().exactOptional().describe("Refuse to run as root; true when absent."),
  seLinuxOptions,
  seccompProfile: profile("System call filter; RuntimeDefault when absent."),
  appArmorProfile: profile("AppArmor profile."),
};

/** core/v1 PodSecurityContext without what only Windows knows. */
export const podSecurityContext = z
  .strictObject({
    ...common,
    fsGroup: id("Group that owns the volumes."),
    fsGroupChangePolicy: z
      .enum(["OnRootMismatch", "Always"])
      .exactOptional()
      .describe("When the ownership of volumes is changed."),
    seLinuxChangePolicy: z.enum(["MountOption", "Recursive"]).exactOptional().describe("How volumes are relabelled."),
    supplementalGroups: z.array(z.int().min(0)).max(64).exactOptional().describe("More groups of the process."),
    supplementalGroupsPolicy: z
      .enum(["Merge", "Strict"])
      .exactOptional()
      .describe("Whether groups of the image count too."),
    sysctls: z
      .array(
        z.strictObject({
          name: text().describe("Name of the kernel parameter."),
          value: text().describe("Its value."),
        }),
      )
      .max(64)
      .exactOptional()
      .describe("Kernel parameters of the pod."),
  })
  .describe("Security settings of the pod. Fields that are absent keep the restricted defaults.");

/** core/v1 SecurityContext without what only Windows knows. */
export const containerSecurityContext = z
  .strictObject({
    ...common,
    allowPrivilegeEscalation: z
      .boolean()
      .exactOptional()
      .describe("Whether the process may gain privileges; false when absent."),
    privileged: z.boolean().exactOptional().describe("Run with the powers of the host."),
    readOnlyRootFilesystem: z
      .boolean()
      .exactOptional()
      .describe("Mount the root file system read-only; true when absent."),
    procMount: z.enum(["Default", "Unmasked"]).exactOptional().describe("How /proc is mounted."),
    capabilities: z
      .strictObject({
        add: z.array(z.string()).max(64).exactOptional().describe("Capabilities to add."),
        drop: z.array(z.string()).max(64).exactOptional().describe("Capabilities to drop."),
      })
      .exactOptional()
      .describe("Linux capabilities; all are dropped when absent."),
  })
  .describe("Security settings of the agent container. Fields that are absent keep the restricted defaults.");
