import { expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { repositoryFiles, textOf } from "./sources.ts";

const files = await repositoryFiles();
const pages = files.filter((path) => path.endsWith(".md"));
const texts = new Map(await Promise.all(pages.map(async (path) => [path, await textOf(path)] as const)));

interface Link {
  from: string;
  to: string;
}

/** Links to other places of the repository; what stands in code is none. */
function linksOf(from: string, text: string): Link[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, to = ""]) => ({ from, to }))
    .filter(({ to }) => !/^[a-z]+:/.test(to));
}

/** As GitHub makes anchors from headings. */
function anchorsOf(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ +(.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-"),
  );
}

function isThere({ from, to }: Link): boolean {
  const [file = "", anchor] = to.split("#");
  const path = file === "" ? from : normalize(join(dirname(from), file)).replace(/\/$/, "");
  if (!files.some((each) => each === path || each.startsWith(`${path}/`))) return false;
  return anchor === undefined || anchorsOf(texts.get(path) ?? "").includes(anchor);
}

test("every link between documents leads to a file and a heading that are there", () => {
  const links = [...texts].flatMap(([path, text]) => linksOf(path, text));
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((link) => !isThere(link)).map(({ from, to }) => `${from}: ${to}`)).toEqual([]);
});

test("every example is in the list of examples", () => {
  const list = texts.get("examples/README.md") ?? "";
  const examples = files.filter((path) => path.startsWith("examples/") && !path.endsWith(".md"));
  expect(examples.filter((path) => !list.includes(`](${path.slice("examples/".length)})`))).toEqual([]);
});

test("the repository has what its guests look for", () => {
  const expected = ["README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", ".editorconfig"];
  expect(expected.filter((path) => !files.includes(path))).toEqual([]);
});
