import { describe, expect, test } from "bun:test";
import { nodeRole } from "../../../src/config/node.ts";
import { readSettings } from "../../../src/config/read.ts";

const read = (...args: string[]) => readSettings(nodeRole, { args, environment: { NODE_NAME: "one" } }).values;

test("the Node's name comes from the pod", () => {
  expect(read()).toMatchObject({ nodeName: "one", masquerade: false, cleanup: false, healthListen: { port: 7836 } });
});

test("ranges and interfaces may be repeated or listed", () => {
  const args = [
    "--pod-cidr",
    "10.42.0.0/16,fd00::/48",
    "--masquerade",
    "--mesh-interface",
    "a",
    "--mesh-interface",
    "b",
  ];
  expect(read(...args)).toMatchObject({ podCidr: ["10.42.0.0/16", "fd00::/48"], meshInterface: ["a", "b"] });
});

describe("what makes no sense is refused, with what does", () => {
  test.each([
    [["--pod-cidr", "10.42.0.0/33"], /pod-cidr.*10\.42\.0\.0\/16/],
    [["--pod-cidr", "10.42.0.0"], /pod-cidr/],
    [["--service-cidr", "fd00::/129"], /service-cidr/],
    [["--masquerade"], /--mesh-interface INTERFACE/],
    [["--mesh-interface", "netsody"], /mesh-interface is given without masquerade/],
    [["--masquerade-all"], /masquerade-all is given without masquerade/],
    [["--masquerade", "--mesh-interface", "longer-than-fifteen"], /at most 15 characters/],
    [["--cleanup", "--dry-run"], /at most one/],
    [["--stay"], /without cleanup/],
    [["--await-daemonset", "a/b"], /without cleanup/],
    [["--cleanup", "--stay", "--await-daemonset", "a/b"], /at most one/],
  ])("%p", (args, message) => {
    expect(() => read(...args)).toThrow(message);
  });

  test("without a name of the Node, unless it is to clean up", () => {
    const without = (...args: string[]) => readSettings(nodeRole, { args, environment: {} }).values;
    expect(() => without()).toThrow(/node-name is not given/);
    expect(without("--cleanup").cleanup).toBe(true);
  });
});
