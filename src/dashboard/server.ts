import { timingSafeEqual } from "node:crypto";
import type { Told } from "./picture-types.ts";

/** Files of the page. */
export interface PageFiles {
  html: string;
  script: string;
  style: string;
}

export interface DashboardOptions {
  /** 0: any free one. */
  port: number;
  files: PageFiles;
  /** What a page that connects is told first. */
  greet: (tell: Tell) => void;
  /** Findings of the doctor about one object. */
  diagnose: (kind: string, namespace: string, name: string) => Promise<object | undefined>;
}

export type Tell = <Name extends keyof Told>(name: Name, data: Told[Name]) => void;

export interface DashboardServer {
  port: number;
  /** An address that opens the page once. */
  makeLink(): string;
  /** Tells all pages. */
  tell: Tell;
  stop(): void;
}

/** Pages at once; one more is refused. */
const maxPages = 16;
const maxLinks = 16;
/** Milliseconds between two signs of life on a stream on which nothing happens. */
const heartbeat = 15_000;

/** The page may load and connect to nothing but this server, and nobody may frame it. */
const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/**
 * Serves the page on this machine alone. Who comes with an address of `makeLink` gets a cookie in exchange for its token, which is worth nothing afterwards; without
 * the cookie nothing is answered, and nothing under another name for this machine than the two of the loopback (a page of somebody else may have made a name lead here).
 */
export function startDashboard({ port, files, greet, diagnose }: DashboardOptions): DashboardServer {
  const links = new Set<string>();
  const session = secret();
  const pages = new Set<(text: string) => void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    development: false,
    idleTimeout: 0,
    maxRequestBodySize: 1024,
    async fetch(request, { port: own }) {
      const url = new URL(request.url);
      if (request.method !== "GET") return text("only GET is answered here", 405);
      if (![`127.0.0.1:${own}`, `localhost:${own}`].includes(request.headers.get("host") ?? "")) {
        return text("this server answers as 127.0.0.1 and localhost only", 421);
      }
      const cookie = `netaminity-${own}`;
      const token = url.searchParams.get("token");
      if (url.pathname === "/" && token !== null && links.delete(token)) {
        const value = `${cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`;
        return new Response(null, { status: 303, headers: { ...headers, location: "/", "set-cookie": value } });
      }
      if (!isSame(cookieOf(request, cookie), session)) {
        return text(
          "This address was opened before, or is not complete. Press Enter where netaminity dashboard runs for a new one.",
          403,
        );
      }
      return answer(url);
    },
    error: () => text("internal error", 500),
  });

  const answer = async (url: URL): Promise<Response> => {
    switch (url.pathname) {
      case "/":
        return content(files.html, "text/html");
      case "/page.js":
        return content(files.script, "text/javascript");
      case "/page.css":
        return content(files.style, "text/css");
      case "/live":
        return pages.size < maxPages ? stream(pages, greet) : text("too many pages are open", 503);
      case "/doctor": {
        const [kind = "", namespace = "", name = ""] = (url.searchParams.get("of") ?? "").split("/");
        const found = await diagnose(kind, namespace, name);
        return found === undefined
          ? text("of: accepted are tunnel/NAMESPACE/NAME, proxy/... and target/...", 400)
          : content(JSON.stringify(found), "application/json");
      }
      case "/favicon.ico":
        return new Response(null, { status: 204, headers });
      default:
        return text("not found", 404);
    }
  };
  const timer = setInterval(() => {
    for (const send of pages) send(":\n\n");
  }, heartbeat);
  return {
    port: server.port ?? port,
    makeLink() {
      const token = secret();
      links.add(token);
      for (const old of links) {
        if (links.size <= maxLinks) break;
        links.delete(old);
      }
      return `http://127.0.0.1:${server.port}/?token=${token}`;
    },
    tell(name, data) {
      const message = messageOf(name, data);
      for (const send of pages) send(message);
    },
    stop() {
      clearInterval(timer);
      void server.stop(true);
    },
  };
}

function stream(pages: Set<(text: string) => void>, greet: (tell: Tell) => void): Response {
  let leave = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      const send = (text: string) => {
        // A page that takes nothing, as in a browser that was put to sleep, comes back by itself.
        if ((controller.desiredSize ?? 0) < -64) return leave();
        controller.enqueue(encoder.encode(text));
      };
      leave = () => {
        if (pages.delete(send)) controller.close();
      };
      pages.add(send);
      greet((name, data) => send(messageOf(name, data)));
    },
    cancel: () => leave(),
  });
  return new Response(body, { headers: { ...headers, "content-type": "text/event-stream" } });
}

const messageOf = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const secret = (): string => crypto.getRandomValues(new Uint8Array(24)).toHex();

function cookieOf(request: Request, name: string): string {
  const all = (request.headers.get("cookie") ?? "").split(/; */);
  return all.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const content = (body: string, type: string): Response =>
  new Response(body, { headers: { ...headers, "content-type": `${type}; charset=utf-8` } });
const text = (body: string, status: number): Response =>
  new Response(`${body}\n`, { status, headers: { ...headers, "content-type": "text/plain; charset=utf-8" } });
