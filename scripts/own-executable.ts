/**
 * What a compiled executable still shares with plain Bun and must not: variables that make it something else, and a place that strip(1)
 * takes for waste. Both are changed in the file itself, because Bun looks at them before it runs any of our code (measured with 1.4.5).
 */

/** Whatever these would do, it is not what a user of ours asks for; the one that is left is ours (src/runtime.ts). */
const hiddenNames = /^BUN_(?!CONFIG_MAX_HTTP_REQUESTS$)[A-Z0-9_]+$/;
const hiddenNodeNames = new Set([
  "NODE_CHANNEL_FD",
  "NODE_CHANNEL_SERIALIZATION_MODE",
  "NODE_COMPILE_CACHE",
  "NODE_DEBUG",
  "NODE_EXTRA_CA_CERTS",
  "NODE_OPTIONS",
  "NODE_REDIRECT_WARNINGS",
  "NODE_TLS_REJECT_UNAUTHORIZED",
  "NODE_USE_ENV_PROXY",
  "NODE_USE_SYSTEM_CA",
]);

/** Names without which the runtime would not be the one that was looked into. */
const expectedNames = ["BUN_BE_BUN", "BUN_OPTIONS", "BUN_INSPECT", "NODE_TLS_REJECT_UNAUTHORIZED"];

const elfMagic = "\u007fELF";

/** Changes a file in place that `bun build --compile` made for Linux; others stay as they are. Throws when it is not as expected. */
export function makeOwn(file: Buffer): void {
  if (file.toString("latin1", 0, elfMagic.length) !== elfMagic) return;
  hideVariables(file);
  keepPayload(file);
}

/** The runtime asks for variables by names that lie in it as C strings; a name that starts with a dot is set by nobody. */
function hideVariables(file: Buffer): void {
  const hidden = new Set<string>();
  for (const prefix of ["\0BUN_", "\0NODE_"]) {
    for (let at = file.indexOf(prefix); at !== -1; at = file.indexOf(prefix, at + 1)) {
      const name = file.toString("latin1", at + 1, file.indexOf(0, at + 1));
      if (!hiddenNames.test(name) && !hiddenNodeNames.has(name)) continue;
      file.write(".", at + 1, "latin1");
      hidden.add(name);
    }
  }
  const missing = expectedNames.filter((name) => !hidden.has(name));
  if (missing.length > 0)
    throw new Error(`this Bun has no variable ${missing.join(", ")}: look again at what it reads`);
}

interface Section {
  name: string;
  /** Where its header is. */
  header: number;
  address: bigint;
  offset: number;
  size: number;
}

/**
 * Our code is a section of its own, at the end, to which the eight bytes at the section's former place point. No section covers those any
 * more, and GNU strip fills what none covers with zeros: the executable would be plain Bun, which ends with 0 for some of our arguments.
 * So the section before them is made to reach over them.
 */
function keepPayload(file: Buffer): void {
  const sections = sectionsOf(file);
  const place = sections.findIndex(({ name }) => name === ".bun");
  // The one that is listed before it: .data.rel.ro, with musl .init_array, whose length the loader takes from elsewhere.
  const [payload, before] = [sections[place], sections[place - 1]];
  if (payload === undefined || before === undefined)
    throw new Error("this executable has not the sections of Bun 1.4.5");
  const end = before.offset + before.size;
  if (file.readBigUInt64LE(end) !== payload.address)
    throw new Error("the pointer to the payload is not where Bun 1.4.5 has it");
  file.writeBigUInt64LE(BigInt(before.size + 8), before.header + headerSize);
}

/** Elf64_Shdr of elf(5): offsets of its fields. */
const headerAddress = 16;
const headerOffset = 24;
const headerSize = 32;

function sectionsOf(file: Buffer): Section[] {
  // Elf64_Ehdr: e_shoff, e_shentsize, e_shnum, e_shstrndx.
  const table = Number(file.readBigUInt64LE(40));
  const [length, count, names] = [58, 60, 62].map((at) => file.readUInt16LE(at)) as [number, number, number];
  const number = (header: number, field: number) => Number(file.readBigUInt64LE(header + field));
  const text = number(table + names * length, headerOffset);
  return Array.from({ length: count }, (_, index) => {
    const header = table + index * length;
    const name = text + file.readUInt32LE(header);
    return {
      name: file.toString("latin1", name, file.indexOf(0, name)),
      header,
      address: file.readBigUInt64LE(header + headerAddress),
      offset: number(header, headerOffset),
      size: number(header, headerSize),
    };
  });
}
