import { describe, expect, test } from "bun:test";
import { publishRole } from "../../../src/config/publish.ts";
import { readSettings } from "../../../src/config/read.ts";

const read = (args: readonly string[], environment: Record<string, string> = {}) =>
  readSettings(publishRole, { args, environment }).values;

const login = { NETMAKER_API_URL: "https://api.example.com/", NETMAKER_USERNAME: "u", NETMAKER_PASSWORD: "p" };

test("the environment of kaput-not is enough", () => {
  const environment = {
    ...login,
    K8S_CLUSTER_NAME: "east",
    LEADER_ELECTION_ENABLED: "false",
    LEADER_ELECTION_ID: "kaput-not",
    KUBECONFIG: "/k",
  };
  expect(read([], environment)).toMatchObject({
    provider: "netmaker",
    netmakerApiUrl: "https://api.example.com",
    netmakerUsername: "u",
    netmakerPassword: "p",
    clusterName: "east",
    leaderElect: false,
    leaseName: "kaput-not",
    kubeconfig: "/k",
  });
});

test("an access token, files and a folder do instead of user and password", () => {
  const url = { NETMAKER_API_URL: "https://api.example.com" };
  expect(read([], { ...url, NETMAKER_TOKEN: "t" }).netmakerToken).toBe("t");
  expect(read([], { ...url, NETMAKER_TOKEN_FILE: "/t" }).netmakerTokenFile).toBe("/t");
  expect(read(["--netmaker-credentials", "/c"], url).netmakerCredentials).toBe("/c");
  const files = ["--netmaker-username", "u", "--netmaker-password-file", "/p"];
  expect(read(files, url).netmakerPasswordFile).toBe("/p");
});

describe("a mistake is one sentence", () => {
  const netsody = ["--provider", "netsody", "--netsody-base", "/b", "--netsody-password-file", "/p"];
  test.each<[string[], Record<string, string>, string]>([
    [[], {}, "netmaker-api-url is not given; accepted: http:// or https:// with a host"],
    [[], { ...login, NETMAKER_API_URL: "api.example.com" }, 'netmaker-api-url was given "api.example.com"'],
    [[], { ...login, NETMAKER_API_URL: "https://u:p@host" }, "netmaker-api-url was given"],
    [[], { ...login, K8S_CLUSTER_NAME: "East_1" }, 'cluster-name was given "East_1" by the variable K8S_CLUSTER_NAME'],
    [[], { NETMAKER_API_URL: "https://a", NETMAKER_USERNAME: "u" }, "no login for Netmaker is given"],
    [[], { ...login, NETMAKER_PASSWORD: "" }, "netmaker-password was given an unusable value"],
    [["--check", "--once"], login, "both check and once are given"],
    [["--once", "--dry-run"], login, "both once and dry-run are given"],
    [["--force"], login, "force is given for a role that stays"],
    [["--interval", "1s"], login, 'interval was given "1s"'],
    [["--provider", "netsody"], {}, "netsody-base is not given"],
    [["--provider", "netsody", "--netsody-base", "/b"], {}, "accepted: exactly one of netsody-password-file"],
    [netsody, { NETAMINITY_NETSODY_PASSWORD: "p" }, "accepted: exactly one of netsody-password-file"],
    [[...netsody, "--adopt-kaput-not"], {}, "adopt-kaput-not is given for the provider netsody"],
    [[...netsody, "--netsody-output", "pod/x"], {}, 'netsody-output was given "pod/x"'],
  ])("%j %j", (args, environment, sentence) => {
    expect(() => read(args, environment)).toThrow(sentence);
  });

  test("and what is right is taken", () => {
    expect(read(netsody).netsodyOutput).toEqual({ kind: "secret", name: "netaminity-netsody" });
    expect(read(["--provider", "netsody", "--netsody-base", "/b", "--check"]).check).toBe(true);
    // In a pod of a dry run.
    expect(read(["--check"], { ...login, NETAMINITY_DRY_RUN: "true" }).check).toBe(true);
    expect(read(["--once", "--force"], login)).toMatchObject({ once: true, force: true });
  });
});
