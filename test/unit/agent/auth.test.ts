import { describe, expect, test } from "bun:test";
import {
  challengeInstance,
  formatUuid,
  makeChallenge,
  offersEncryption,
  parseUuid,
  requiresEncryption,
} from "../../../src/agent/protocol/challenge.ts";
import {
  answer,
  attachedProof,
  attachProof,
  bound,
  checkedProof,
  checkProof,
  joinProof,
  keyOf,
  matches,
  serveProof,
  servingProof,
  sessionKey,
  startProof,
  toHex,
} from "../../../src/agent/protocol/proofs.ts";

describe("the answer to a challenge", () => {
  // What `bore local --secret SECRET` of bore 0.6.0 sent to a server that had sent the challenge.
  test.each([
    [
      "secret",
      "00000000-0000-0000-0000-000000000000",
      "f595dd2e2c05b7bc7042dc3541159dc9eaf2ded8f547cfd51966c2ec464773b1",
    ],
    [
      "correct horse battery staple",
      "6e6d0100-1234-8567-89ab-cdef01234567",
      "c502389c696703d8cb7cdb8a96555515a03b57a85c0319153b3875dcd1d1da10",
    ],
    [
      "pässwörd ✓",
      "ffffffff-ffff-4fff-bfff-ffffffffffff",
      "db3c3fad8128595590d03ae6390097d554a62c0094e8a042813d4eb8bf8ec886",
    ],
  ])("is bore's for the secret %p", (secret, challenge, tag) => {
    const proof = answer(keyOf(secret), parseUuid(challenge));
    expect(toHex(proof)).toBe(tag);
    expect(matches(proof, tag)).toBe(true);
  });

  test("is not accepted when it is changed, cut or lengthened", () => {
    const proof = answer(keyOf("secret"), new Uint8Array(16));
    const tag = toHex(proof);
    for (const wrong of ["", tag.slice(2), `${tag}00`, `${tag.slice(0, -1)}g`, tag.replace(/^./, "0"), "zz"]) {
      expect(matches(proof, wrong)).toBe(false);
    }
  });
});

test("no proof is worth anything in another place, for another secret, nonce, peer or number", () => {
  const challenge = makeChallenge(1, new Uint8Array(8), "optional");
  const [nonce, other] = ["01".repeat(16), "02".repeat(16)];
  const [key, wrongKey] = [keyOf("secret"), keyOf("Secret")];
  const session = sessionKey(key, challenge, nonce, other);
  const proofs = [
    answer(key, challenge),
    attachProof(key, challenge, nonce, other),
    attachProof(key, challenge, other, nonce),
    attachProof(wrongKey, challenge, nonce, other),
    attachProof(key, makeChallenge(2, new Uint8Array(8), "optional"), nonce, other),
    attachedProof(key, challenge, nonce, other),
    attachedProof(key, challenge, other, nonce),
    serveProof(key, challenge, nonce, "10.0.0.1:1", "10.0.0.2:2"),
    serveProof(key, challenge, nonce, "10.0.0.2:2", "10.0.0.1:1"),
    serveProof(key, challenge, other, "10.0.0.1:1", "10.0.0.2:2"),
    servingProof(key, challenge, nonce),
    session,
    joinProof(session, 1, 1),
    joinProof(session, 1, 11),
    joinProof(session, 2, 1),
    startProof(session, 1, 1, 1),
    startProof(session, 2, 1, 1),
    startProof(session, 2, 1, 2),
    startProof(session, 2, 11, 1),
    startProof(session, 2, 1, 11),
    joinProof(sessionKey(key, challenge, other, nonce), 1, 1),
  ].map(toHex);
  expect(new Set(proofs).size).toBe(proofs.length);
});

test("on a plain connection the proofs are those that they always were, and inside TLS none of them is", () => {
  const challenge = new Uint8Array(16).fill(9);
  const [nonce, other] = ["01".repeat(16), "02".repeat(16)];
  const [from, to] = ["10.0.0.1:1", "10.0.0.2:2"];
  const proofsOn = (binding: Uint8Array) => {
    const key = bound(keyOf("secret"), binding);
    const session = sessionKey(key, challenge, nonce, other);
    const proofs = [
      attachProof(key, challenge, nonce, other),
      attachedProof(key, challenge, nonce, other),
      checkProof(key, challenge, nonce),
      checkedProof(key, challenge, nonce),
      serveProof(key, challenge, nonce, from, to),
      servingProof(key, challenge, nonce),
      joinProof(bound(session, binding), 1, 1),
      startProof(bound(session, binding), 1, 1, 1),
    ];
    return proofs.map((proof) => toHex(proof).slice(0, 16));
  };
  const plain = proofsOn(new Uint8Array(0));
  expect(plain).toEqual([
    "947ede7acf2b470b",
    "e69021e4ea253a59",
    "10b2d5a467b778e0",
    "041ebf10128ffcd3",
    "78928878d24f7a59",
    "266600bb77d5e7d3",
    "9ff8e69a5a23f805",
    "63319e6316296513",
  ]);
  const all = [plain, proofsOn(new Uint8Array(32).fill(1)), proofsOn(new Uint8Array(32).fill(2))].flat();
  expect(new Set(all).size).toBe(all.length);
});

describe("a challenge", () => {
  test("tells netaminity targets which process made it", () => {
    const random = Buffer.from("fedcba9876543210", "hex");
    for (const instance of [0, 1, 0x0abcdef, 0xfffffff]) {
      expect(challengeInstance(makeChallenge(instance, random, "optional"))).toBe(instance);
    }
  });

  test("is a UUID of version 8 that survives its text form", () => {
    const challenge = makeChallenge(0x1234567, Buffer.from("ffffffffffffffff", "hex"), "optional");
    const text = formatUuid(challenge);
    expect(text).toBe("6e6d0107-1234-8567-bfff-ffffffffffff");
    expect(Buffer.from(parseUuid(text))).toEqual(Buffer.from(challenge));
  });

  test("says whether the proxy encrypts, and whether it wants that", () => {
    const said = (text: string) => [offersEncryption, requiresEncryption].map((ask) => ask(parseUuid(text)));
    const made = (encryption: "optional" | "required") => formatUuid(makeChallenge(1, new Uint8Array(8), encryption));
    expect([made("optional"), made("required")].map(said)).toEqual([
      [true, false],
      [true, true],
    ]);
    expect(said("6e6d0101-1234-8567-bfff-ffffffffffff")).toEqual([false, false]);
  });

  test.each([
    ["a random UUID of bore", "6e6d0100-1234-4567-bfff-ffffffffffff"],
    ["another program's UUID of version 8", "6e6e0100-1234-8567-bfff-ffffffffffff"],
    ["a later revision of the extension", "6e6d0200-1234-8567-bfff-ffffffffffff"],
  ])("of %s names no process", (_, text) => {
    expect(challengeInstance(parseUuid(text))).toBeUndefined();
  });
});
