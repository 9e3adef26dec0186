/** `buddy login` and `buddy sessions` inside this process. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeSignIn } from "../../../src/auth/sign-in.ts";
import { signInScreen } from "../../../src/app/model/sign-in.ts";
import { Here } from "../../support/in-process.ts";
import { startLoginServer } from "../../support/login-server.ts";
import { runHere } from "../../support/stdout.ts";
import { until } from "../../support/until.ts";

const LOGIN =
  '[models.signed]\napi_base_url = "https://api.example.com/v1"\nmodel = "gpt-5.3-codex"\napi = "responses"\nauth = "login"\n';

const NOT_SIGNED_IN = "not signed in\n";
const NO_SESSIONS = "no saved sessions in this directory\n";

describe("buddy login", () => {
  test("shows address and code, stores the tokens 0600, and never prints them", async () => {
    await using server = startLoginServer();
    await using here = new Here([], { config: LOGIN });
    process.env.BUDDY_AUTH_ISSUER = server.url;
    expect(await runHere("login", "signed", "--check")).toMatchObject({ code: 4, stdout: NOT_SIGNED_IN });
    expect(await runHere("login", "signed", "--reset")).toMatchObject({ code: 0 });
    const done = await runHere("login", "signed");
    expect(done.code).toBe(0);
    expect(done.stderr).toContain("    ABCD-1234\n");
    expect(done.stderr).toMatch(/\b\d+ minutes/);
    expect(done.stderr).toContain('buddy exec -m signed "hello"');
    const file = join(here.home, ".config/buddy/auth.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [secret = ""] = /eyJ[\w-]+\.[\w-]+\.\w+/.exec(readFileSync(file, "utf8")) ?? [];
    expect(secret).not.toBe("");
    const checked = await runHere("login", "signed", "--check");
    expect(checked.code).toBe(0);
    expect(checked.stdout).toMatch(/\bacct-42; .*\d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    expect(done.stderr + checked.stdout).not.toContain(secret);
    const reset = await runHere("login", "signed", "--reset");
    expect(reset).toMatchObject({ code: 0 });
    expect(existsSync(file) && readFileSync(file, "utf8").includes(secret)).toBe(false);
    expect(server.state.revoked).toHaveLength(1);
    expect(await runHere("login", "signed", "--check")).toMatchObject({ code: 4 });
  });

  test("--reset removes it here even where it cannot be revoked", async () => {
    await using server = startLoginServer();
    await using here = new Here([], { config: LOGIN });
    process.env.BUDDY_AUTH_ISSUER = server.url;
    await runHere("login", "signed");
    server.state.down = true;
    const { code, stderr } = await runHere("login", "signed", "--reset");
    expect(code).toBe(0);
    expect(stderr).toContain("revoke");
    expect(here.problems).toEqual([]);
    expect(await runHere("login", "signed", "--check")).toMatchObject({ code: 4 });
  });

  test("buddy logout does the same as --reset, and removes a key that OpenRouter granted", async () => {
    await using server = startLoginServer();
    const router = '[models.router]\napi_base_url = "https://openrouter.ai/api/v1"\nmodel = "m"\n';
    await using here = new Here([], { config: LOGIN + router });
    process.env.BUDDY_AUTH_ISSUER = server.url;
    await runHere("login", "signed");
    expect(await runHere("logout", "signed")).toMatchObject({ code: 0 });
    expect(server.state.revoked).toHaveLength(1);
    expect(await runHere("login", "signed", "--check")).toMatchObject({ code: 4 });
    expect(await runHere("logout", "signed")).toMatchObject({ code: 0 });
    const key = here.write("home/.config/buddy/keys/openrouter", "sk-or-1\n");
    expect(await runHere("logout", "router")).toMatchObject({ code: 0 });
    expect(existsSync(key)).toBe(false);
    expect(await runHere("logout", "router")).toMatchObject({ code: 0 });
    expect(await runHere("logout", "test")).toMatchObject({ code: 2 });
  });

  test("profiles that need none, contradicting flags, and Ctrl-C", async () => {
    await using server = startLoginServer({ approved: false });
    await using here = new Here([], { config: LOGIN });
    process.env.BUDDY_AUTH_ISSUER = server.url;
    expect(await runHere("login", "test")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\bsigned; .*: buddy login gpt-codex/),
    });
    expect(await runHere("login", "--check", "--reset")).toMatchObject({ code: 2 });
    writeFileSync(here.config, '[agent]\nmodel = "a"\n[models.a]\napi_base_url = "http://127.0.0.1:1"\nmodel = "m"\n');
    expect(await runHere("login")).toMatchObject({ code: 2 });
    writeFileSync(here.config, LOGIN);
    const waiting = runHere("login", "signed");
    await until(() => server.state.polls > 0, "the first look at the code");
    process.emit("SIGINT");
    expect(await waiting).toMatchObject({ code: 130 });
    expect(existsSync(join(here.home, ".config/buddy/auth.json"))).toBe(false);
  });

  test("what --check says of a token that has run out, and of one that lasts long", async () => {
    const base = { access_token: "a", refresh_token: "r" };
    const words = (expires_at: number) => describeSignIn({ ...base, expires_at } as never).text;
    expect(words(Date.now() - 60_000)).toMatch(/ \d\d:\d\d UTC [^(]*$/);
    expect(words(Date.now() + 10 * 24 * 3_600_000)).toContain("(240 hours)");
    expect(words(Date.now() + 30_000)).toContain("(1 minute)");
    expect(describeSignIn(undefined)).toEqual({ signedIn: false, text: NOT_SIGNED_IN.trimEnd() });
    expect(typeof (await signInScreen()).progress).toBe("function");
  });
});

describe("buddy sessions", () => {
  test("lists, exports and removes what is stored here", async () => {
    await using here = new Here([{ text: "It is **full**." }, { text: "again" }]);
    expect(await runHere("sessions")).toMatchObject({ code: 0, stdout: NO_SESSIONS });
    await here.exec({ prompt: "why is the disk full?\u001b[2J" });
    const { stdout } = await runHere("sessions");
    expect(stdout).toMatch(/^[0-9a-z-]{19} {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}local {2}gpt-4o {2}why is the disk full\?/);
    expect(stdout).not.toContain("\u001b");
    const [session] = JSON.parse((await runHere("sessions", "--json")).stdout) as [Record<string, string>];
    expect(session).toMatchObject({ target: "local", model: "gpt-4o", profile: "test" });
    const id = session?.["id"] ?? "";
    expect((await runHere("sessions", "export", id.slice(0, 4))).stdout).toContain("It is **full**.");
    expect((await runHere("sessions", "export", "last", "--html")).stdout).toMatch(/^<!doctype html>/i);
    expect(JSON.parse((await runHere("sessions", "export", "last", "--json")).stdout)).toMatchObject({
      id,
      entries: [{ kind: "prompt" }, { kind: "answer", text: "It is **full**." }],
    });
    expect(await runHere("sessions", "export", "last", "--json", "--html")).toMatchObject({ code: 2 });
    expect(await runHere("sessions", "rm", id, "--json")).toMatchObject({ code: 2 });
    expect(await runHere("sessions", "export")).toMatchObject({ code: 2 });
    expect(await runHere("sessions", "list", id)).toMatchObject({ code: 2 });
    expect(await runHere("sessions", "rm", id)).toMatchObject({ code: 0, stderr: expect.stringContaining(id) });
    expect(await runHere("sessions", "rm", id)).toMatchObject({ code: 2 });
    expect((await runHere("sessions")).stdout).toBe(NO_SESSIONS);
  });

  test("output prints what a command printed, in full, and lists the ids", async () => {
    const declared = { risk: "low", mutation: false, privesc: false, why: "to see" };
    const call = { name: "run_shell", args: { command: "seq 1 20000", ...declared } };
    await using here = new Here([{ toolCalls: [call] }, { text: "done" }]);
    await here.exec({ prompt: "count" });
    expect(await runHere("sessions", "output", "last")).toMatchObject({ code: 0, stdout: "out-1\n" });
    const { stdout } = await runHere("sessions", "output", "last", "out-1");
    expect(stdout).toBe(Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join(""));
    expect(await runHere("sessions", "output", "last", "out-9")).toMatchObject({ code: 2 });
    expect(await runHere("sessions", "export", "last", "out-1")).toMatchObject({ code: 2 });
  });
});
