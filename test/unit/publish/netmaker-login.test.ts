import { describe, expect, setSystemTime, test } from "bun:test";
import { netmakerRig, openProvider, pass } from "../../support/netmaker-rig.ts";

const rig = netmakerRig();

describe("logging in", () => {
  const logins = () => rig.netmaker.requests.filter((request) => request.includes("authenticate")).length;

  test("happens once, and again when the token is worth nothing any more, also in the middle of a pass", async () => {
    rig.netmaker.join("a");
    const provider = openProvider(rig);
    await pass(provider, []);
    let isExpired = false;
    rig.netmaker.fault = (request) => {
      if (request.startsWith("POST") && !isExpired) {
        isExpired = true;
        rig.netmaker.expireTokens();
      }
      return undefined;
    };
    const { applied } = await pass(provider);
    expect([applied.created, applied.failures, logins()]).toEqual([1, [], 2]);
  });

  test("is done anew five minutes before a token of twelve hours ends", async () => {
    const provider = openProvider(rig);
    const began = Date.now();
    const loginsAfter = async (minutes: number) => {
      setSystemTime(began + minutes * 60_000);
      await pass(provider, []);
      return logins();
    };
    try {
      expect([await loginsAfter(0), await loginsAfter(12 * 60 - 6), await loginsAfter(12 * 60 - 4)]).toEqual([1, 1, 2]);
    } finally {
      setSystemTime();
    }
  });

  test("happens at most twice in the life of a short token", async () => {
    rig.netmaker.tokenLife = 60;
    const provider = openProvider(rig);
    await pass(provider, []);
    await pass(provider, []);
    expect(logins()).toBe(1);
  });

  test("is done anew with a password that was replaced", async () => {
    const provider = openProvider(rig);
    await pass(provider, []);
    rig.netmaker.users.set("netaminity", { password: "new" });
    rig.login = { username: "netaminity", password: "new" };
    await pass(provider, []);
    expect(logins()).toBe(2);
  });

  test("is not needed with an access token", async () => {
    rig.netmaker.users.set("netaminity", { password: "", accessToken: "given" });
    rig.netmaker.join("a");
    rig.login = { token: "given" };
    expect((await pass(openProvider(rig))).applied.created).toBe(1);
    expect(logins()).toBe(0);
  });

  test.each<[string, () => void, string]>([
    [
      "a wrong password",
      () => rig.netmaker.users.set("netaminity", { password: "another" }),
      'Netmaker does not log in the user "netaminity" (400: incorrect credentials): the password is wrong, or the user logs in by SSO: check both, or give an access token of a user (netmaker-token-file)',
    ],
    [
      "an unknown user",
      () => rig.netmaker.users.clear(),
      'Netmaker does not log in the user "netaminity" (401: user does not exist): there is no such user, or it is disabled: check netmaker-username',
    ],
    [
      "a user of SSO",
      () => rig.netmaker.users.set("netaminity", { password: "", kind: "sso" }),
      'Netmaker does not log in the user "netaminity" (400: user is registered via SSO: login by oauth): it logs in by SSO, which a program cannot: use a local user, or give an access token of a user (netmaker-token-file)',
    ],
    [
      "a user with a second factor",
      () => rig.netmaker.users.set("netaminity", { password: "correct horse", kind: "mfa" }),
      'Netmaker asks the user "netaminity" for a second factor (MFA), which a program does not have: use a user without MFA, or give an access token of a user (netmaker-token-file)',
    ],
    [
      "a role that may not",
      () => rig.netmaker.users.set("netaminity", { password: "correct horse", kind: "auditor" }),
      'the user "netaminity" may not GET /api/hosts (403: forbidden: your role may not): give it a role that may read hosts and nodes and change egress rules',
    ],
    [
      "an access token that has ended",
      () => {
        rig.login = { token: "old" };
      },
      "Netmaker does not accept the access token (401: unauthorized: token is expired): it has expired or was removed",
    ],
  ])("fails with one sentence for %s", async (_what, prepare, sentence) => {
    prepare();
    const failure = pass(openProvider(rig));
    await expect(failure).rejects.toMatchObject({ name: "LoginError", message: sentence });
  });
});
