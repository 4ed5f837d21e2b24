/** An image with Bun in it, so that a test's pods run TypeScript: `bun -e CODE` or a file given along. */
import { resolve } from "node:path";
import { withLibraries, writeImage } from "./image.ts";

export const toolboxImage = "localhost/toolbox:dev";

/** Writes the archive of {@link toolboxImage}. `files`: path in the image -> file on this machine. */
export async function writeToolbox(archive: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
  // The executable that runs this very code.
  const bun = resolve(process.execPath);
  await writeImage(archive, {
    name: toolboxImage,
    entrypoint: "/bin/bun",
    files: { ...(await withLibraries("/bin/bun", bun)), ...files },
  });
}
