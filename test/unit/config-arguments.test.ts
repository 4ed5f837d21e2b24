import { describe, expect, test } from "bun:test";
import { completionRole } from "../../src/config/completion.ts";
import { doctorRole } from "../../src/config/doctor.ts";
import { readSettings } from "../../src/config/read.ts";
import { statusRole } from "../../src/config/status.ts";

const doctor = (args: readonly string[], environment = {}) => readSettings(doctorRole, { args, environment }).values;
const status = (args: readonly string[], environment = {}) => readSettings(statusRole, { args, environment }).values;

describe("the argument of a command", () => {
  test.each([
    [["tunnel/api"], { kind: "Tunnel", name: "api" }],
    [["--probe", "proxies/edge"], { kind: "Proxy", name: "edge" }],
    [["-o", "json", "TGT/inner"], { kind: "Target", name: "inner" }],
  ])("may stand anywhere among the flags: %p", (args, object) => expect(doctor(args).object).toEqual(object as never));

  test.each(["pod/x", "tunnel", "tunnel/", "tunnel/x/y", "tunnel/UPPER"])("is refused when it is %p", (argument) => {
    expect(() => doctor([argument])).toThrow(
      `object was given "${argument}" by the argument; accepted: tunnel/NAME, proxy/NAME, target/NAME or service/NAME`,
    );
  });

  test("is no flag and no variable", () => {
    expect(() => doctor(["--object", "tunnel/x"])).toThrow("unknown flag --object");
    expect(() => doctor([], { NETAMINITY_OBJECT: "tunnel/x" })).toThrow("nothing to examine is given");
  });

  test("that is needed and absent is named with what is accepted, and nothing else", () => {
    expect(() => readSettings(completionRole, { args: [], environment: {} })).toThrow(
      "shell is not given; accepted: one of bash, zsh, fish",
    );
  });
});

describe("letters that stand for flags", () => {
  test.each([[["-n", "demo"]], [["-n=demo"]], [["-ndemo"]], [["--namespace=demo"]]])("%p", (args) => {
    expect(status(args).namespace).toBe("demo");
  });

  test("a switch needs no value", () => {
    expect(status(["-A", "-w", "-o", "json"])).toMatchObject({ allNamespaces: true, watch: true, output: "json" });
  });

  test("an unknown one is refused", () => {
    expect(() => status(["-x"])).toThrow('unexpected argument "-x"');
  });
});

test("tools take from the environment only what is said so", () => {
  expect(status([], { NETAMINITY_NAMESPACE: "demo", NETAMINITY_KUBECONFIG: "/k" })).toMatchObject({
    namespace: undefined,
    kubeconfig: "/k",
  });
});

test("one namespace and all of them do not go together", () => {
  expect(() => status(["-A", "-n", "demo"])).toThrow("both namespace and all-namespaces are given");
});
