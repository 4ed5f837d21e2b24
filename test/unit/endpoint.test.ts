import { expect, test } from "bun:test";
import { formatHostPort, parseHostPort } from "../../src/endpoint.ts";

test.each(["[::]:7835", "10.0.0.1:0", "proxy.example.net:65535"])("%s reads and prints as itself", (text) => {
  const endpoint = parseHostPort(text);
  expect(endpoint === undefined ? undefined : formatHostPort(endpoint)).toBe(text);
});
