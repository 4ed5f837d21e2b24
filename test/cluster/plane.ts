import { afterAll } from "bun:test";
import { kinds } from "../../src/api/kinds.ts";
import { groupVersion } from "../../src/names.ts";
import { type ControlPlane, startControlPlane, waitFor } from "../support/cluster/index.ts";

let plane: Promise<ControlPlane> | undefined;

/** The one control plane of this run, with our three kinds. Tests share it and keep to namespaces of their own. */
export function sharedPlane(): Promise<ControlPlane> {
  plane ??= start();
  return plane;
}

async function start(): Promise<ControlPlane> {
  const started = await startControlPlane({ controllerManager: true });
  try {
    for (const { plural } of kinds) {
      await started.apply(await Bun.file(new URL(`../../crd/${plural}.yaml`, import.meta.url)).text());
    }
    // A definition is served only a moment after it is accepted, and refuses with 429 while its storage is prepared.
    for (const { plural } of kinds) {
      await waitFor(`${plural} are served`, { deadline: 30_000 }, () =>
        started.api.request(`/apis/${groupVersion}/${plural}`),
      );
    }
    return started;
  } catch (error) {
    await started.stop();
    throw error;
  }
}

/** Called once by the file that runs the cases. */
export function stopPlaneAfterAll(): void {
  afterAll(async () => {
    const started = await plane;
    plane = undefined;
    await started?.stop();
  }, 60_000);
}
