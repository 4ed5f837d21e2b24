/** The page in a real Chromium, told by a server that makes up what a cluster would say. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { buildPage } from "../../scripts/build-page.ts";
import type { Finding, Line, Picture } from "../../src/dashboard/picture-types.ts";
import { type DashboardServer, type PageFiles, startDashboard } from "../../src/dashboard/server.ts";
import { type OpenPage, openPage } from "../support/dashboard/browser.ts";

let files: PageFiles;
beforeAll(async () => {
  await buildPage();
  const read = (name: string) => Bun.file(join(import.meta.dir, "../../dist/page", name)).text();
  files = {
    html: await read("page.html.txt"),
    script: await read("page.js.txt"),
    style: await read("page.css.txt"),
  };
}, 60_000);

const since = "2026-01-01T00:00:00Z";
function line(index: number, change: Partial<Line> = {}): Line {
  const name = `tunnel-${index}`;
  return {
    ...{ key: `tunnel/demo/${name}`, kind: "Tunnel", namespace: "demo", name, state: "ready" },
    conditions: [
      { type: "Ready", status: "True", reason: "AllPairsReady", message: "1 of 1 pair carries traffic", since },
    ],
    ...{ consumers: `${name}.demo.svc:80`, backend: `backend-${index}.example:5432`, encryption: "required" },
    pairs: [
      {
        name: `${name}-0`,
        rendezvous: "there.example:7835",
        proxies: [
          { name: `${name}-0-proxy-a`, node: "cloud-1", role: "active", isReady: true, sessions: 1, streams: 5 },
          { name: `${name}-0-proxy-b`, node: "cloud-2", role: "standby", isReady: false },
        ],
        targets: [{ name: `${name}-0-target`, node: "private-1", role: "target", isReady: true, sessions: 1 }],
      },
    ],
    numbers: { sessions: 1, encrypted: 1, streams: 5, toBackend: 1e6, toConsumer: 5e6 },
    rates: { toBackend: 1200, toConsumer: 3_400_000 },
    ...change,
  };
}

const broken: Finding = {
  verdict: "broken",
  firstBroken: 1,
  checks: [
    { link: "object", outcome: "ok", evidence: "it exists" },
    { link: "session", outcome: "broken", evidence: "no target is attached", next: "Compare the secrets." },
    { link: "service", outcome: "broken", evidence: "no ready endpoint", next: "See the links before." },
  ],
};

interface Rig extends AsyncDisposable, OpenPage {
  server: DashboardServer;
  show(lines: readonly Line[]): void;
}

async function openRig(lines: readonly Line[], options: Parameters<typeof openPage>[1] = {}): Promise<Rig> {
  let moment = Date.parse("2026-01-01T12:00:00Z");
  const picture = (some: readonly Line[]): Picture => {
    moment += 2000;
    return { at: new Date(moment).toISOString(), lines: some };
  };
  let last = picture(lines);
  const server = startDashboard({
    ...{ port: 0, files },
    greet: (tell) => {
      tell("history", { context: "test", points: {} });
      tell("picture", last);
    },
    diagnose: async () => broken,
  });
  const opened = await openPage(server.makeLink(), options);
  return {
    ...opened,
    server,
    show(some) {
      last = picture(some);
      server.tell("picture", last);
    },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      server.stop();
    },
  };
}

const cards = ({ page }: Rig) => page.locator("a.card");

describe("the list", () => {
  test("shows what needs help first, follows what is told without loading anew, and asks nobody else", async () => {
    await using rig = await openRig([line(0), line(1, { state: "down" })]);
    const { page, show, complaints } = rig;
    await cards(rig).nth(1).waitFor();
    expect(await cards(rig).locator("b").allTextContents()).toEqual(["tunnel-1", "tunnel-0"]);
    expect(await cards(rig).nth(0).textContent()).toContain("serves nobody");
    expect(await page.getByRole("status").textContent()).toBe("2 in all, 1 in need of help");
    show([line(0), line(1, { numbers: { sessions: 2, encrypted: 1, streams: 9, toBackend: 1, toConsumer: 1 } })]);
    await page.getByText("2 sessions · 9 streams · partly encrypted").waitFor();
    expect(await cards(rig).locator("b").allTextContents()).toEqual(["tunnel-0", "tunnel-1"]);
    expect(await cards(rig).nth(0).textContent()).toContain("↓ 3.4 MB/s ↑ 1.2 KB/s");
    expect(complaints).toEqual([]);
  }, 60_000);

  test("of 200 tunnels takes what is told into the cards that are there, and filters", async () => {
    const many = (streams: number) =>
      Array.from({ length: 200 }, (_, index) =>
        line(index, { numbers: { sessions: 1, encrypted: 1, streams, toBackend: 1, toConsumer: 1 } }),
      );
    await using rig = await openRig(many(1));
    const { page, show } = rig;
    await cards(rig).nth(199).waitFor();
    await page.evaluate(`for (const card of document.querySelectorAll("a.card")) card.dataset.first = "yes"`);
    for (let round = 2; round < 12; round += 1) show(many(round));
    await page.getByText("11 streams").nth(199).waitFor();
    expect(await page.locator("a.card[data-first]").count()).toBe(200);
    await page.keyboard.press("/");
    await page.keyboard.type("tunnel-17");
    await page.waitForFunction(`document.querySelectorAll("a.card").length === 11`);
    await page.keyboard.press("Escape");
    await cards(rig).nth(199).waitFor();
    expect(rig.complaints).toEqual([]);
  }, 60_000);
});

describe("one tunnel", () => {
  test("is opened, gone through and left by the keyboard, with its way, conditions and the doctor's next step", async () => {
    await using rig = await openRig([line(0), line(1)]);
    const { page, complaints } = rig;
    await cards(rig).nth(0).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const detail = page.getByRole("region", { name: /tunnel-1/ }).first();
    await detail.waitFor();
    expect(await page.evaluate<string>("document.activeElement.id")).toBe("detail-name");
    const text = (await page.evaluate<string>(`document.querySelector(".detail").innerText`)).replaceAll(/\s+/g, " ");
    for (const part of [
      ...["tunnel-1.demo.svc:80", "active tunnel-1-0-proxy-a", "on cloud-1 · 5 streams", "on cloud-2 · stands by"],
      ...["encrypted at there.example:7835", "target tunnel-1-0-target", "backend-1.example:5432"],
      "Ready True AllPairsReady 1 of 1 pair carries traffic",
    ]) {
      expect(text).toContain(part);
    }
    await page.getByText("Next: Compare the secrets.").waitFor();
    // What follows the first broken link would only distract.
    expect(await page.getByText("See the links before.").count()).toBe(0);
    expect(await detail.locator(".uplot").count()).toBe(2);
    await page.keyboard.press("Escape");
    await detail.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  }, 60_000);

  test("that goes away is said to be gone", async () => {
    await using rig = await openRig([line(0), line(1)]);
    await cards(rig).nth(1).click();
    await rig.page.locator("#detail-name").waitFor();
    rig.show([line(0)]);
    await rig.page.getByText("tunnel/demo/tunnel-1 is not there (any more).").waitFor();
  }, 60_000);
});

describe("what the page cannot know is said above all:", () => {
  test("the cluster gives no answer, until it does again", async () => {
    await using rig = await openRig([line(0)]);
    const { page, server, show } = rig;
    await cards(rig).nth(0).waitFor();
    server.tell("trouble", { since: new Date().toISOString(), message: "no answer from the API server" });
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect(await alert.textContent()).toContain("no answer from the API server. What is below was seen at");
    show([line(0)]);
    await alert.waitFor({ state: "detached" });
  }, 60_000);

  test("the program that serves it is gone", async () => {
    await using rig = await openRig([line(0)]);
    await cards(rig).nth(0).waitFor();
    rig.server.stop();
    await rig.page.getByText("The program that serves this page has given no answer").waitFor();
  }, 60_000);
});

test.each([
  ["a phone", { width: 360, height: 740 }, "light"],
  ["a phone at night", { width: 360, height: 740 }, "dark"],
  ["a desk", { width: 1600, height: 900 }, "dark"],
] as const)(
  "everything fits %s",
  async (_, viewport, colorScheme) => {
    const long = "a-name-that-is-as-long-as-names-of-tunnels-may-be";
    await using rig = await openRig([line(0, { name: long, namespace: long, key: `tunnel/${long}/${long}` })], {
      ...{ viewport, colorScheme },
    });
    const { page } = rig;
    const overflow = () => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    await cards(rig).nth(0).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    await cards(rig).nth(0).click();
    await page.getByText("Next: Compare the secrets.").waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    const ground = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect(ground).toBe(colorScheme === "dark" ? "rgb(20, 23, 28)" : "rgb(246, 247, 249)");
  },
  60_000,
);
