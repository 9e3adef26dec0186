import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type LoginBehaviour, startLoginServer } from "../support/login-server.ts";
import { type Sandbox, sandbox } from "../support/buddy.ts";
import { startModel } from "../support/model.ts";
import { until } from "../support/until.ts";

const secrets = (text: string) => /refresh-\d+-secret|\.sig\d|eyJ/.test(text);

async function signedOut(
  behaviour: LoginBehaviour,
  work: (box: Sandbox, server: ReturnType<typeof startLoginServer>, env: Record<string, string>) => Promise<void>,
) {
  await using server = startLoginServer(behaviour);
  using box = sandbox();
  await work(box, server, { BUDDY_AUTH_ISSUER: server.url });
}

describe("buddy login", () => {
  test("shows address and code, waits, and stores the sign-in for its owner alone", () =>
    signedOut({}, async (box, server, env) => {
      const login = await box.run(["login"], { env });
      expect(login.stderr).toContain(`${server.url}/codex/device`);
      expect(login.stderr).toContain("ABCD-1234");
      expect(login.stderr).toContain("only if you started this sign-in yourself");
      expect(login.stderr).toMatch(/waiting, 15 minutes left/);
      expect(login.stderr).toContain("try  buddy");
      expect([login.code, login.stdout]).toEqual([0, ""]);
      expect(statSync(join(box.home, ".config/buddy/auth.json")).mode & 0o777).toBe(0o600);
      expect(secrets(login.stderr)).toBe(false);
    }));

  test("--check says whether there is a sign-in, and until when, but no token", () =>
    signedOut({}, async (box, _, env) => {
      const before = await box.run(["login", "--check"], { env });
      expect(before.code).toBe(4);
      await box.run(["login"], { env });
      const after = await box.run(["login", "--check"], { env });
      expect([after.code, after.stdout]).toEqual([0, expect.stringContaining("acct-42")]);
      expect(secrets(after.stdout + after.stderr)).toBe(false);
    }));

  test("--reset revokes and removes the sign-in; a second one has nothing to remove", () =>
    signedOut({}, async (box, server, env) => {
      await box.run(["login"], { env });
      const reset = await box.run(["login", "--reset", "--verbose"], { env });
      expect(reset.code).toBe(0);
      expect(server.state.revoked).toEqual([server.state.refreshToken]);
      expect(readFileSync(join(box.home, ".config/buddy/auth.json"), "utf8")).not.toContain("refresh");
      expect(secrets(reset.stdout + reset.stderr)).toBe(false);
      expect((await box.run(["login", "--reset"], { env })).code).toBe(0);
      expect(server.state.revoked).toHaveLength(1);
    }));

  test("a proxy in ALL_PROXY was ignored by the sign-in; a socks one was passed by", () =>
    signedOut({}, async (box, server, env) => {
      const socks = await box.run(["login"], { env: { ...env, ALL_PROXY: "socks5://127.0.0.1:1" } });
      expect(socks.code).toBe(2);
      expect(socks.stderr).toContain("ALL_PROXY");
      const dead = await box.run(["login"], { env: { ...env, ALL_PROXY: "http://u:pw@127.0.0.1:1" } });
      expect(dead.code).toBe(4);
      expect(dead.stderr).toContain("http://127.0.0.1:1");
      expect(server.state.bodies).toEqual([]);
    }));

  test("--reset removes the sign-in even when it cannot be revoked", () =>
    signedOut({}, async (box, server, env) => {
      await box.run(["login"], { env });
      server.state.down = true;
      const { stderr, code } = await box.run(["login", "--reset"], { env });
      expect(stderr).toContain("could not revoke");
      expect(code).toBe(0);
      expect((await box.run(["login", "--check"], { env })).code).toBe(4);
    }));

  test("--check refreshes what is about to expire, and exits with 4 when the sign-in has ended", () =>
    signedOut({ lifetime: 0 }, async (box, server, env) => {
      await box.run(["login"], { env });
      expect((await box.run(["login", "--check"], { env })).code).toBe(0);
      expect(server.state.refreshes).toBe(1);
      server.state.refreshToken = "rotated elsewhere";
      const ended = await box.run(["login", "--check"], { env });
      expect(ended.code).toBe(4);
      expect(ended.stderr).toContain("buddy login");
    }));

  test.each<[string, LoginBehaviour, string]>([
    ["not enabled", { notEnabled: true }, "not enabled"],
    ["declined", { answer: { status: 400, body: { error: "access_denied" } } }, "declined"],
    ["garbage", { garbage: "usercode" }, "asking for a code failed"],
  ])("%s: a clear error and exit code 4", (_, behaviour, words) =>
    signedOut(behaviour, async (box, _server, env) => {
      const { code, stderr } = await box.run(["login"], { env });
      expect(stderr).toContain(words);
      expect(stderr).not.toContain("    at ");
      expect(code).toBe(4);
    }),
  );

  test("Ctrl-C ends it with 130 and stores nothing", () =>
    signedOut({ approved: false }, async (box, server, env) => {
      const child = await box.spawn(["login"], { env });
      await until(() => server.state.polls > 0, "it waits for the user");
      child.kill("SIGINT");
      expect(await child.exited).toBe(130);
      expect(existsSync(join(box.home, ".config/buddy/auth.json"))).toBe(false);
      expect((await box.run(["login", "--check"], { env })).code).toBe(4);
    }));

  test("login says when a profile needs no sign-in", () =>
    signedOut({}, async (box, _, env) => {
      const { code, stderr } = await box.run(["login", "demo"], { env });
      expect(code).toBe(2);
      expect(stderr).toContain("demo");
      expect(stderr).toContain("buddy login gpt-codex");
      expect((await box.run(["login", "--check", "--reset"], { env })).code).toBe(2);
    }));

  test("exec without a sign-in names buddy login and exits with 4", () =>
    signedOut({}, async (box, _, env) => {
      const { code, stdout, stderr } = await box.run(["exec", "hi"], { env });
      expect([code, stdout]).toEqual([4, ""]);
      expect(stderr).toContain("buddy login");
    }));

  test("exec sends the sign-in in its headers, to the Responses API", () =>
    signedOut({}, async (box, _, env) => {
      await using model = startModel([{ text: "signed in" }]);
      const signedIn = { ...env, BUDDY_LOGIN_BASE_URL: model.url };
      await box.run(["login"], { env: signedIn });
      const { code, stdout } = await box.run(["exec", "hi"], { env: signedIn });
      expect([code, stdout]).toEqual([0, "signed in\n"]);
      const { headers, body, path } = model.requests[0] as unknown as {
        headers: Record<string, string>;
        body: Record<string, unknown>;
        path: string;
      };
      expect(path).toEndWith("/responses");
      expect(headers["chatgpt-account-id"]).toBe("acct-42");
      expect(headers["originator"]).toBe("buddy");
      expect(headers["authorization"]).toStartWith("Bearer eyJ");
      expect(body).toMatchObject({ store: false, stream: true, instructions: expect.any(String) });
    }));

  test("exec refreshes the sign-in once after a 401, exits with 4 when it has ended, and logs no token", () =>
    signedOut({}, async (box, server, env) => {
      const refused = { status: 401 } as const;
      const answers = Array.from({ length: 4 }, () => ({ text: "signed in" }));
      await using model = startModel(answers, {}, { faults: [refused, undefined, refused, refused] });
      const signedIn = { ...env, BUDDY_LOGIN_BASE_URL: model.url };
      await box.run(["login"], { env: signedIn });
      const first = await box.run(["exec", "--verbose", "hi"], { env: signedIn });
      expect([first.code, first.stdout]).toEqual([0, "signed in\n"]);
      expect(server.state.refreshes).toBe(1);
      server.state.refreshToken = "rotated elsewhere";
      const ended = await box.run(["exec", "--verbose", "hi"], { env: signedIn });
      expect(ended.code).toBe(4);
      const log = Bun.spawnSync(["grep", "-r", "eyJ", join(box.cwd, ".buddyx")]).stdout.toString();
      for (const text of [first, ended].flatMap((run) => [run.stdout, run.stderr]).concat(log))
        expect(secrets(text)).toBe(false);
    }));
});
