import { expect, test } from "bun:test";
import { broken, deciding, diagnose, exitCodes, ok, skipped, unknown } from "../../../src/doctor/check.ts";
import { diagnosisJson, diagnosisText } from "../../../src/doctor/report.ts";

const diagnosis = diagnose("proxy/edge in namespace demo", [
  ok("object", "it exists"),
  unknown("secret", "not allowed", "Ask."),
  broken(
    "session",
    "no target is attached to any proxy pod, though the pods run and the rendezvous leads to the active one of them",
    "Make the Target.",
  ),
  broken("service", "no endpoint", "See before."),
  skipped("probe", "not asked for"),
]);

test("the first broken link has an arrow and a next step, its consequences have none, and lines fit", () => {
  const text = diagnosisText(diagnosis, { colors: false });
  expect(text.split("\n")).toEqual([
    "proxy/edge in namespace demo: broken at session",
    "",
    "   ok     object   it exists",
    "   ?      secret   not allowed",
    "                   Next: Ask.",
    "-> BROKEN session  no target is attached to any proxy pod, though the pods run and the rendezvous leads to the",
    "                   active one of them",
    "                   Next: Make the Target.",
    "   BROKEN service  no endpoint",
    "   -      probe    not asked for",
  ]);
  expect(Bun.stripANSI(diagnosisText(diagnosis, { colors: true }))).toBe(text);
  expect(diagnosisText(diagnosis, { colors: true })).toContain("\u001b[31mBROKEN");
});

test("JSON has the verdict, where it breaks, and every check", () => {
  const { subject, verdict, brokenAt, checks } = JSON.parse(diagnosisJson(diagnosis));
  expect([subject, verdict, brokenAt, checks[1]]).toEqual([
    ...["proxy/edge in namespace demo", "broken", "session"],
    { link: "secret", outcome: "unknown", evidence: "not allowed", next: "Ask." },
  ]);
});

test.each([
  [[deciding(ok("a", "")), unknown("b", "")], 0],
  [[deciding(ok("a", "")), broken("b", "", "")], 1],
  [[ok("a", "")], 3],
  [[deciding(ok("a", "")), deciding(unknown("b", ""))], 3],
  [[], 3],
] as const)("checks %# end with their exit code", (checks, code) => {
  expect(exitCodes[diagnose("it", checks).verdict]).toBe(code);
});
