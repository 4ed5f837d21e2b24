/** The machines for which a release has an executable: the part of the file's name, and what Bun, krew and Homebrew call them. */
export const targets = {
  "linux-x64": { os: "linux", arch: "amd64", libc: "glibc" },
  "linux-arm64": { os: "linux", arch: "arm64", libc: "glibc" },
  "linux-x64-musl": { os: "linux", arch: "amd64", libc: "musl" },
  "darwin-arm64": { os: "darwin", arch: "arm64" },
  "darwin-x64": { os: "darwin", arch: "amd64" },
  "windows-x64": { os: "windows", arch: "amd64" },
} as const satisfies Record<string, { os: string; arch: string; libc?: "glibc" | "musl" }>;

export type Target = keyof typeof targets;

export const isTarget = (name: string): name is Target => name in targets;

/** Name of the program on that machine. */
export const programOf = (target: Target): string =>
  targets[target].os === "windows" ? "netaminity.exe" : "netaminity";
