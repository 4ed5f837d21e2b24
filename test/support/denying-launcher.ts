/**
 * Starts a command in surroundings that refuse something, with the answer that a poorer kernel or a stricter service manager gives:
 * `bun denying-launcher.ts DENIAL COMMAND...`. A filter of system calls (seccomp) survives the exec, so the command itself is unchanged.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

/** `arguments`: each as [index, mask, value]; the call is refused with `error` when all of them fit. */
interface Denial {
  call: keyof typeof callNumbers.x64;
  arguments: readonly (readonly [index: number, mask: number, value: number])[];
  error: number;
}

/** asm/unistd_64.h and asm-generic/unistd.h */
const callNumbers = {
  x64: { socket: 41, setsockopt: 54, mmap: 9, mprotect: 10 },
  arm64: { socket: 198, setsockopt: 208, mmap: 222, mprotect: 226 },
};

const EPERM = 1;
const EAFNOSUPPORT = 97;
const AF_INET6 = 10;
const SOL_SOCKET = 1;
const SO_LINGER = 13;
const PROT_WRITE = 2;
const PROT_EXEC = 4;
const whole = 0xffffffff;

const denials = {
  /** A kernel without IPv6. */
  "no-ipv6": [{ call: "socket", arguments: [[0, whole, AF_INET6]], error: EAFNOSUPPORT }],
  /** A sandbox that does not know SO_LINGER. */
  "no-linger": [
    {
      call: "setsockopt",
      arguments: [
        [1, whole, SOL_SOCKET],
        [2, whole, SO_LINGER],
      ],
      error: EPERM,
    },
  ],
  /** What systemd's MemoryDenyWriteExecute does. */
  "no-writable-code": [
    { call: "mmap", arguments: [[2, PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC]], error: EPERM },
    { call: "mprotect", arguments: [[2, PROT_EXEC, PROT_EXEC]], error: EPERM },
  ],
} as const satisfies Record<string, readonly Denial[]>;

export type DenialName = keyof typeof denials;

/** linux/filter.h, linux/bpf_common.h: code, jump if true, jump if false, constant. */
type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, constant: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const and = (mask: number): Instruction => [0x54, 0, 0, mask];
const unlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
const refuse = (error: number) => answer(0x00050000 | error);
const allow = answer(0x7fff0000);

/** struct seccomp_data: int nr; u32 arch; u64 instruction_pointer; u64 args[6]. Low halves come first on both machines. */
const callOffset = 0;
const argumentOffset = (index: number) => 16 + 8 * index;

function filterOf(rules: readonly Denial[]): Instruction[] {
  const numbers = process.arch === "arm64" ? callNumbers.arm64 : callNumbers.x64;
  return [
    ...rules.flatMap(({ call, arguments: wanted, error }) => {
      const tests = wanted.flatMap(([index, mask, value], position) => {
        // To the end of this rule: three instructions for each argument that follows, and the answer.
        const skip = 3 * (wanted.length - position - 1) + 1;
        return [load(argumentOffset(index)), and(mask), unlessEqual(value, skip)];
      });
      return [load(callOffset), unlessEqual(numbers[call], tests.length + 1), ...tests, refuse(error)];
    }),
    allow,
  ];
}

function deny(rules: readonly Denial[]): void {
  const { prctl } = dlopen("libc.so.6", {
    prctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
  }).symbols;
  const filter = filterOf(rules);
  const code = new Uint8Array(8 * filter.length);
  const view = new DataView(code.buffer);
  for (const [index, [operation, jumpTrue, jumpFalse, constant]] of filter.entries()) {
    view.setUint16(8 * index, operation, true);
    view.setUint8(8 * index + 2, jumpTrue);
    view.setUint8(8 * index + 3, jumpFalse);
    view.setUint32(8 * index + 4, constant, true);
  }
  // struct sock_fprog { unsigned short len; struct sock_filter *filter; }
  const program = new BigUint64Array([BigInt(filter.length), BigInt(ptr(code))]);
  const PR_SET_NO_NEW_PRIVS = 38;
  const PR_SET_SECCOMP = 22;
  const SECCOMP_MODE_FILTER = 2n;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1n, null, 0n, 0n) !== 0) throw new Error("PR_SET_NO_NEW_PRIVS is refused");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ptr(program), 0n, 0n) !== 0)
    throw new Error("PR_SET_SECCOMP is refused");
}

if (import.meta.main) {
  const [name = "", command = "", ...rest] = process.argv.slice(2);
  if (!Object.hasOwn(denials, name)) throw new Error(`no denial ${JSON.stringify(name)}`);
  deny(denials[name as DenialName]);
  process.execve?.(command, [command, ...rest], process.env);
}

/** For tests: wraps a command so that it starts under this denial. */
export function denying(name: DenialName): (command: string[]) => string[] {
  return (command) => [process.execPath, import.meta.path, name, ...command];
}
