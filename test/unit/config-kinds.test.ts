import { describe, expect, test } from "bun:test";
import {
  boolean,
  duration,
  integer,
  type Kind,
  listenEndpoint,
  listOf,
  oneOf,
  remoteEndpoint,
} from "../../src/config/kinds.ts";

interface Case {
  kind: Kind<unknown>;
  accepted: Record<string, unknown>;
  refused: readonly string[];
}

const cases: Record<string, Case> = {
  "a duration is a number with a unit, or a sum of them, within its bounds": {
    kind: duration("100ms", "24h"),
    accepted: {
      "100ms": 100,
      "500ms": 500,
      "10s": 10_000,
      "2m": 120_000,
      "1h": 3_600_000,
      "1m30s": 90_000,
      "24h": 86_400_000,
    },
    refused: ["", "10", "s", "-1s", "1.5s", "10 s", "10S", "99ms", "0s", "25h", "30s1m", "1d", "１s"],
  },
  "an integer has digits only and keeps its bounds": {
    kind: integer(2, 64),
    accepted: { "2": 2, "07": 7, "64": 64 },
    refused: ["", "1", "65", "-3", "+3", "3.0", "3e1", "0x3", " 3", "9".repeat(400)],
  },
  "a choice is one of the listed words": {
    kind: oneOf(["off", "v1", "v2"]),
    accepted: { off: "off", v1: "v1", v2: "v2" },
    refused: ["", "V1", "v3", "off "],
  },
  "a boolean is true or false": {
    kind: boolean,
    accepted: { true: true, false: false },
    refused: ["", "yes", "1", "TRUE"],
  },
  "an endpoint to connect to has a name or an address, and a port": {
    kind: remoteEndpoint,
    accepted: {
      "api.private.svc:8080": { host: "api.private.svc", port: 8080 },
      "api.example.net.:1": { host: "api.example.net.", port: 1 },
      "my_db:5432": { host: "my_db", port: 5432 },
      "10.0.0.1:65535": { host: "10.0.0.1", port: 65_535 },
      "[::1]:7835": { host: "::1", port: 7835 },
      "[fe80::1%eth0]:7835": { host: "fe80::1%eth0", port: 7835 },
    },
    refused: [
      "",
      "host",
      "host:",
      ":8080",
      "host:0",
      "host:65536",
      "host:http",
      "::1:7835",
      "[::1]",
      "[host]:1",
      "[10.0.0.1]:1",
      "300.1.1.1:80",
      "-host:80",
      "a..b:80",
      "host name:80",
      "tcp://host:80",
      "host:80/",
      `${"a".repeat(64)}:80`,
      `${"a.".repeat(130)}b:80`,
    ],
  },
  "an endpoint to listen on may leave the port to the system and the address out": {
    kind: listenEndpoint,
    accepted: {
      "[::]:0": { host: "::", port: 0 },
      ":8080": { host: "::", port: 8080 },
      "127.0.0.1:30080": { host: "127.0.0.1", port: 30_080 },
      "localhost:1": { host: "localhost", port: 1 },
    },
    refused: ["", ":", "8080", "*:8080", ":65536"],
  },
  "a list is separated by commas and refuses one wrong element": {
    kind: listOf(integer(1, 9)),
    accepted: { "1": [1], "1,2, 3": [1, 2, 3] },
    refused: ["", "1,", "1,x", "1 2"],
  },
};

for (const [sentence, { kind, accepted, refused }] of Object.entries(cases)) {
  describe(sentence, () => {
    test.each(Object.entries(accepted))("%p is accepted", (text, value) => {
      expect(kind.parse(text)).toEqual(value);
    });
    test.each([...refused])("%p is refused", (text) => {
      expect(kind.parse(text)).toBeUndefined();
    });
  });
}
