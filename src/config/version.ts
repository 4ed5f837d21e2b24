import manifest from "../../package.json" with { type: "json" };

/** Version of this build, from package.json. */
export const version: string = manifest.version;
