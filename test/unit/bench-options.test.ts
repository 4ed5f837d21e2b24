import { describe, expect, test } from "bun:test";
import { OptionError, type Options, parseOptions } from "../bench/options.ts";
import { rowNames } from "../bench/rows.ts";

const defaults: Options = {
  rounds: 5,
  seconds: 2,
  sustained: 60,
  rows: rowNames(),
  products: undefined,
  variants: [],
  congestion: undefined,
  json: undefined,
  soak: undefined,
};

describe("options of the benchmark", () => {
  test("without options everything is measured in five rounds", () => {
    expect(parseOptions([])).toEqual(defaults);
  });

  test("a quick run of chosen rows is short", () => {
    expect(
      parseOptions(["--quick", "--rounds", "4", "--only", "throughput-1-up,rate", "--products", "bore,netaminity"]),
    ).toEqual({
      ...defaults,
      rounds: 4,
      seconds: 0.7,
      sustained: 10,
      rows: ["throughput-1-up", "rate-1", "rate-64"],
      products: ["bore", "netaminity"],
    });
  });

  test("a quick run has fewer rounds, and few rows, plain and encrypted ones", () => {
    const quick = parseOptions(["--quick"]);
    if (typeof quick === "string") throw new Error(quick);
    expect(quick).toEqual({ ...defaults, rounds: 3, seconds: 0.7, sustained: 10, rows: quick.rows });
    expect(quick.rows.filter((row) => row.startsWith("tls-"))).toEqual(["tls-throughput-1-down", "tls-rate-64"]);
    expect(quick.rows.filter((row) => !rowNames().includes(row))).toEqual([]);
  });

  test("new streams go on for as long as asked for", () => {
    expect(parseOptions(["--only", "new-streams", "--sustained", "5"])).toEqual({
      ...defaults,
      sustained: 5,
      rows: ["new-streams"],
    });
  });

  test("a row's whole name means that row alone", () => {
    const wanted = parseOptions(["--only", "link-20"]);
    expect(wanted).toEqual({ ...defaults, rows: ["link-20"] });
  });

  test("the beginning of names means all these rows", () => {
    expect(parseOptions(["--only", "narrow-6-,long-150-6-up", "--congestion", "cubic"])).toEqual({
      ...defaults,
      rows: ["long-150-6-up", "narrow-6-up", "narrow-6-down", "narrow-6-up-250", "narrow-6-down-250"],
      congestion: "cubic",
    });
  });

  test("a variant has a name, an executable and an environment", () => {
    expect(parseOptions(["--variant", "calm=dist/netaminity,A=1,B=x=y"])).toEqual({
      ...defaults,
      variants: [{ name: "calm", executable: "dist/netaminity", environment: { A: "1", B: "x=y" } }],
    });
  });

  test("the soak's duration may be left out", () => {
    expect(parseOptions(["--soak"])).toEqual({ ...defaults, soak: "5m" });
    expect(parseOptions(["--soak", "--json", "out.json"])).toEqual({ ...defaults, soak: "5m", json: "out.json" });
    expect(parseOptions(["--soak", "30s"])).toEqual({ ...defaults, soak: "30s" });
  });

  test.each([
    ["--rounds", "many"],
    ["--seconds", "0"],
    ["--sustained", "long"],
    ["--only", "throughput-9"],
    ["--variant", "nameless"],
    ["--soak", "long"],
    ["--unknown", ""],
  ])("%s %s is refused", (option, value) => {
    expect(() => parseOptions([option, value])).toThrow(OptionError);
    expect(() => parseOptions([option, value])).toThrow(option);
  });
});
