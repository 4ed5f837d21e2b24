/** A real Chromium without a window. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const programs = ["chromium", "chromium-browser", "google-chrome"];

export interface OpenPage extends AsyncDisposable {
  page: Page;
  /** What went wrong on the page, and what it asked of other hosts than its own. */
  complaints: string[];
}

/** Opens an address. Throws where there is no Chromium. */
export async function openPage(address: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const executablePath = programs.map((name) => Bun.which(name)).find((path) => path !== null);
  if (executablePath === undefined || executablePath === null) {
    throw new Error("these tests need Chromium: scripts/setup browser installs it");
  }
  // Its sandbox needs a user of its own, which a test that runs as root has not.
  const browser: Browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 60_000 });
  try {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    const { host } = new URL(address);
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.host !== host) complaints.push(`asked ${url.host}`);
    });
    await page.goto(address, { timeout: 30_000 });
    return { page, complaints, [Symbol.asyncDispose]: () => browser.close() };
  } catch (error) {
    await browser.close();
    throw error;
  }
}
