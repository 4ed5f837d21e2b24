import { describe, expect, test } from "bun:test";
import { fetchThrough, proxyFor } from "../../../src/kube/http-proxy.ts";

const proxy = "http://proxy.example:3128";
const through = (server: string, exceptions: string) =>
  proxyFor(new URL(server), { HTTPS_PROXY: proxy, HTTP_PROXY: "http://other:1", NO_PROXY: exceptions });

describe("a server is asked directly", () => {
  test.each([
    ["https://localhost:6443", ""],
    ["https://127.0.0.5:6443", ""],
    ["https://[::1]:6443", ""],
    ["https://api.example.com", "*"],
    ["https://api.example.com", "example.org, Example.COM"],
    ["https://api.example.com", ".example.com"],
    ["https://api.example.com", "*.example.com"],
    ["https://api.example.com:6443", "example.com:6443"],
    ["https://api.example.com", "api.example.com:443"],
    ["https://10.96.0.1:443", "10.96.0.1"],
    ["https://10.96.0.1:443", "192.168.0.0/16,10.96.0.0/12"],
    ["https://[fd00::1]:443", "fd00::/8"],
    ["https://[fd00::1]:443", "[fd00::1]:443"],
    ["https://[fd00::1]:443", "fd00::1"],
  ])("%s with NO_PROXY=%s", (server, exceptions) => {
    expect(through(server, exceptions)).toBeUndefined();
  });
});

describe("a server is asked through the proxy", () => {
  test.each([
    ["https://api.example.com", ""],
    ["https://example.com", ".example.com"],
    ["https://badexample.com", "example.com"],
    ["https://api.example.com:6443", "example.com:443"],
    ["https://10.96.0.1:443", "10.96.0.0/33,10.0.0.0/16,10.96.0.10,10.96.0.1:80"],
    ["https://[fd00::1]:443", "10.0.0.0/8,fe80::/10"],
    ["https://localhost.example.com", "localhost"],
  ])("%s with NO_PROXY=%s", (server, exceptions) => {
    expect(through(server, exceptions)).toBe(proxy);
  });

  test("of the server's own scheme, in either case, with http where none is named", () => {
    const environment = { https_proxy: "proxy:3128", HTTP_PROXY: "http://plain:1" };
    expect(proxyFor(new URL("https://api.example.com"), environment)).toBe("http://proxy:3128");
    expect(proxyFor(new URL("http://api.example.com"), environment)).toBe("http://plain:1");
  });
});

test("a proxy of another kind is refused with what is accepted", () => {
  for (const HTTPS_PROXY of ["socks5://proxy:1080", "http://"]) {
    expect(() => proxyFor(new URL("https://api.example.com"), { HTTPS_PROXY })).toThrow(
      "HTTPS_PROXY: accepted are http://HOST:PORT and https://HOST:PORT",
    );
  }
});

test("a request goes through the proxy that is named, or none, whatever the environment says", async () => {
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("directly") });
  using relay = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("through the proxy") });
  const url = `http://127.0.0.1:${server.port}/`;
  const before = { ...process.env };
  try {
    process.env.NO_PROXY = "127.0.0.1";
    expect(await (await fetchThrough(`http://127.0.0.1:${relay.port}`, url, {})).text()).toBe("through the proxy");
    expect(process.env.NO_PROXY).toBe("127.0.0.1");
    delete process.env.NO_PROXY;
    process.env.HTTP_PROXY = `http://127.0.0.1:${relay.port}`;
    expect(await (await fetchThrough(undefined, url, {})).text()).toBe("directly");
  } finally {
    for (const name of ["NO_PROXY", "HTTP_PROXY"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});
