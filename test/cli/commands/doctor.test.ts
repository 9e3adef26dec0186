/** `buddy doctor` inside this process: every finding with what to do about it, and the exit code. */
import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkTarget, type Finding, howToInstall } from "../../../src/cli/commands/doctor/machine.ts";
import { localServers } from "../../../src/cli/commands/doctor/configuration.ts";
import { LOCAL } from "../../../src/targets/place.ts";
import { Here } from "../../support/in-process.ts";
import { startLoginServer } from "../../support/login-server.ts";
import { missing } from "../../support/needs.ts";
import { runHere } from "../../support/stdout.ts";
import { quote } from "../../../src/lib/quote.ts";
import { naming } from "../../support/errors.ts";

async function examine(...args: string[]) {
  const { code, stdout, stderr } = await runHere("doctor", "--json", ...args);
  expect(stderr).toBe("");
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  for (const { status, remedy, text } of findings)
    if (status === "broken" || status === "warning") expect([text, remedy ?? ""]).not.toContain("");
  return { ok, findings, stdout, find: (check: string) => findings.find((one) => one.check === check) };
}

const remote = (url: string, more = "") =>
  `[models.mine]\napi_base_url = "${url}"\nmodel = "gpt-4o"\napi_key = "sk-test-0123456789abcdef"\n${more}`;

describe("the configuration", () => {
  test("in effect: the file, every value it sets with its line, doubtful keys, loose permissions", async () => {
    await using here = new Here([], { config: '[tools]\nshell_timeout = "5m"\nshell_timeot = "5m"\n' });
    chmodSync(here.write("home/.config/buddy/history", "x"), 0o644);
    const { findings, find, ok } = await examine();
    expect(ok).toBe(true);
    expect(find("config")).toEqual({ check: "config", status: "ok", text: "read ~/.config/buddy/buddy.toml" });
    const texts = findings.map(({ text }) => text);
    expect(
      texts.some((text) => /^tools\.shell_timeout = "5m" from ~\/\.config\/buddy\/buddy\.toml line \d+$/.test(text)),
    ).toBe(true);
    expect(findings.find(({ status }) => status === "warning")?.text).toContain("shell_timeot");
    expect(find("permissions")).toMatchObject({
      status: "warning",
      remedy: `chmod 600 ${quote(join(here.home, ".config/buddy/history"))}`,
    });
  });

  test("broken, missing, and without a home", async () => {
    await using here = new Here();
    writeFileSync(here.config, "[agent");
    const broken = await examine();
    expect(broken.ok).toBe(false);
    expect(broken.find("config")).toMatchObject({ status: "broken" });
    expect(broken.find("profile")).toBeUndefined();
    process.env.XDG_CONFIG_HOME = join(here.dir, "elsewhere");
    expect((await examine("-m", "demo")).find("config")).toMatchObject({
      status: "info",
      remedy: expect.stringContaining("buddy init"),
    });
    delete process.env.XDG_CONFIG_HOME;
    delete process.env.HOME;
    expect((await examine("-m", "demo")).find("permissions")?.text).toContain("HOME");
    process.env.HOME = join(here.dir, "gone");
    expect((await examine("-m", "demo")).find("permissions")?.text).toContain("gone");
  });
});

describe("the model", () => {
  test("model servers of this machine are reported with what they offer, except the one in use", async () => {
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ data: ["a", "b", "c", "d", "e", "f"].map((id) => ({ id })) }),
    });
    const baseUrl = `http://127.0.0.1:${server.port}/v1`;
    const candidates = [{ name: "Ollama", baseUrl }];
    expect(await localServers("https://api.openai.com/v1", candidates)).toEqual([
      {
        check: "local",
        status: "info",
        text: `Ollama answers at ${baseUrl}: a, b, c, d, e and 1 more`,
        remedy: `buddy --base-url ${baseUrl} -m a uses it`,
      },
    ]);
    expect(await localServers(baseUrl, candidates)).toEqual([]);
  });

  test("that answers: key, endpoint and catalog are well, and the key is not shown", async () => {
    await using here = new Here();
    writeFileSync(here.config, `[agent]\nmodel = "mine"\n${remote(here.model.url)}`, { mode: 0o600 });
    const { find, stdout, ok } = await examine();
    expect(ok).toBe(true);
    expect(find("profile")?.text).toBe(`mine: gpt-4o at ${here.model.url} (completions)`);
    expect(find("key")?.text).toContain("api_key ");
    expect(find("endpoint")).toMatchObject({ status: "ok", text: expect.stringMatching(/\d+ ms/) });
    expect(find("catalog")?.text).toStartWith("gpt-4o: 128000 ");
    expect(stdout).not.toContain("0123456789abcdef");
  });

  test("that reports its window: the catalog need not know it", async () => {
    await using here = new Here();
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ data: [{ id: "own", context_length: 32_000 }] }),
    });
    const profile = remote(`http://127.0.0.1:${server.port}/v1`).replace("gpt-4o", "own");
    writeFileSync(here.config, `[agent]\nmodel = "mine"\n${profile}`, { mode: 0o600 });
    const finding = (await examine()).find("catalog");
    expect(finding).toEqual({ check: "catalog", status: "ok", text: expect.stringMatching(/^own: 32000 /) });
  });

  test("that refuses the key, fails, is not there, or wants no list: distinguished", async () => {
    await using here = new Here();
    let status = 401;
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("no", { status }) });
    const write = (url: string, more?: string) =>
      writeFileSync(here.config, `[agent]\nmodel = "mine"\n${remote(url, more)}`, { mode: 0o600 });
    write(`http://127.0.0.1:${server.port}/v1`);
    expect((await examine()).find("endpoint")).toMatchObject({
      status: "broken",
      text: expect.stringMatching(naming(`127.0.0.1:${server.port}`, "HTTP 401")),
    });
    status = 503;
    expect((await examine()).find("endpoint")).toMatchObject({ status: "warning", remedy: expect.any(String) });
    status = 404;
    expect((await examine()).find("endpoint")).toMatchObject({ status: "ok" });
    const moved = await examine("--base-url", `http://127.0.0.1:${server.port}/v2`);
    expect(moved.find("profile")?.text).toMatch(
      naming(`http://127.0.0.1:${server.port}/v2`, "completions", "--base-url"),
    );
    write("http://127.0.0.1:9/v1", "");
    const gone = await examine();
    expect(gone.find("endpoint")).toMatchObject({
      status: "broken",
      remedy: expect.stringContaining("buddy --model demo"),
    });
    write(here.model.url.replace(/$/, ""), "");
    writeFileSync(here.config, `[agent]\nmodel = "mine"\n${remote(here.model.url).replace("gpt-4o", "nobodys-model")}`);
    expect((await examine()).find("catalog")).toMatchObject({
      status: "warning",
      remedy: expect.stringMatching(naming("context_limit", "[models.mine]")),
    });
  });

  test("without a key or with an unknown profile: every way out; demo needs nothing", async () => {
    await using here = new Here([], {
      config: '[models.far]\napi_base_url = "https://api.example.com/v1"\nmodel = "m"\n',
    });
    const keyless = await examine("-m", "far");
    expect(keyless.find("profile")).toMatchObject({
      status: "broken",
      remedy: expect.stringContaining("BUDDY_API_KEY"),
    });
    expect((await examine("-m", "demo")).find("profile")).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^demo: /),
    });
    expect((await examine()).find("key")).toMatchObject({ status: "ok" });
    expect(here.model.requests).toEqual([]);
  });

  test("behind a sign-in: not signed in, signed in, a store that others can read", async () => {
    await using login = startLoginServer();
    await using here = new Here([]);
    process.env.BUDDY_AUTH_ISSUER = login.url;
    const profile = `[agent]\nmodel = "mine"\n[models.mine]\napi_base_url = "${here.model.url}"\nmodel = "gpt-5.3-codex"\napi = "responses"\nauth = "login"\n`;
    writeFileSync(here.config, profile, { mode: 0o600 });
    const before = await examine();
    expect(before.ok).toBe(false);
    expect(before.find("sign-in")).toMatchObject({ status: "broken" });
    // One cause is one problem.
    expect(before.find("endpoint")).toMatchObject({ status: "info" });
    expect((await runHere("login")).code).toBe(0);
    const after = await examine();
    expect(after.find("sign-in")).toMatchObject({ status: "ok", text: expect.stringContaining("account acct-42") });
    chmodSync(join(here.home, ".config/buddy/auth.json"), 0o644);
    const loose = await examine();
    expect(JSON.stringify([loose.find("sign-in"), loose.find("permissions")])).toContain("chmod 600");
  });
});

/** What the operator does about a setting that is wrong. */
const CHANGE = "change the file";

describe("the machine", () => {
  test("tmux that is old, broken or missing; engines that answer, do not, or are missing", async () => {
    await using here = new Here();
    here.programs({
      tmux: 'case $1 in -V) echo "tmux 2.9a";; *) echo "%begin 1 1 0";; esac',
      docker: "printf 'web\\ndb\\n'",
      podman: "echo 'cannot connect' >&2; exit 125",
      ssh: "echo OpenSSH_9.9 >&2",
    });
    const old = await examine();
    expect(old.find("tmux")).toMatchObject({
      status: "warning",
      text: expect.stringMatching(naming("tmux 2.9a", "3.2")),
    });
    expect(old.find("docker")).toMatchObject({ status: "ok", text: "running: web, db" });
    expect(old.find("podman")).toMatchObject({ status: "info", text: "podman does not answer: cannot connect" });
    expect(old.find("ssh")?.text).toBe("OpenSSH_9.9");
    expect(old.ok).toBe(true);
    here.programs({ tmux: 'case $1 in -V) echo "tmux 1.8";; *) exit 1;; esac', docker: "exit 0" });
    const broken = await examine();
    expect(broken.find("tmux")?.text).toContain("tmux 1.8");
    expect(broken.find("docker")?.text).not.toStartWith("running: ");
    await using bare = new Here();
    bare.programs({ apk: "exit 0" }, { only: true });
    const missing = await examine();
    expect(missing.find("tmux")).toMatchObject({ status: "warning", remedy: howToInstall("tmux") });
    expect(missing.find("ssh")).toMatchObject({ status: "info", remedy: howToInstall("openssh-client") });
    expect(missing.find("containers")?.text).toMatch(/docker.*podman/);
    expect(missing.ok).toBe(true);
  });

  test("a file of the directory that is not trusted was to be changed", async () => {
    await using here = new Here();
    writeFileSync(join(here.cwd, "buddy.toml"), "[tools]\nshell_confirm = false\n");
    const { stdout } = await runHere("doctor");
    expect(stdout).toContain("tools.shell_confirm");
    expect(stdout).not.toContain(CHANGE);
  });

  test("the page for people: a mark for each finding, remedies below, a summary", async () => {
    await using here = new Here([], { config: "[tools]\nshell_timeot = 1\n" });
    const page = await runHere("doctor");
    expect(page.code).toBe(0);
    expect(page.stdout).toMatch(/^ok config {2,}read /m);
    expect(page.stdout).toMatch(/^! {2}config {2,}.*shell_timeot/m);
    expect(page.stdout).toMatch(new RegExp(`^ +fix: ${CHANGE}$`, "m"));
    expect(page.stdout).toMatch(/\n\n\S[^\n]*\n$/);
    expect(page.stdout).not.toContain("\u001b");
    writeFileSync(here.config, "[agent");
    expect(await runHere("doctor")).toMatchObject({ code: 1, stdout: expect.stringMatching(/\n\n1 problem found\n$/) });
  });
});

describe("the target", () => {
  const options = {
    place: LOCAL,
    tmux: "auto",
    agentName: "",
    tmuxSocket: "buddy",
    maxSessions: 1,
    maxPanes: 1,
    backgroundTimeoutMs: 0,
  } as const;

  test("that answers: who it is, tmux, shell, disk, sudo, clock", async () => {
    const findings = await checkTarget(options);
    const find = (check: string) => findings.find((one) => one.check === check);
    expect(find("target")?.text).toBe("local answers");
    expect(find("identity")?.text).toMatch(/^\S+@\S+, Linux \S+$/);
    if ((await missing("tmux")) === undefined)
      expect(find("target tmux")).toMatchObject({ status: "ok", text: expect.stringMatching(/^tmux \d/) });
    expect(find("disk")?.text).toMatch(/^\d+ MiB .*\(\d+% /);
    expect(find("clock")).toMatchObject({ status: "ok" });
    expect(find("sudo")?.text).not.toBe("unknown");
  });

  test("with a clock that is off, a full disk and no tmux that works: warnings with what to do", async () => {
    await using here = new Here();
    here.programs({
      date: 'case $1 in +%s) echo 1000000000;; *) exec /bin/date "$@";; esac',
      df: "echo Filesystem; echo /dev/x 100 98 2048 98% /",
      tmux: "exit 1",
    });
    const findings = await checkTarget(options);
    const find = (check: string) => findings.find((one) => one.check === check);
    expect(find("clock")).toMatchObject({ status: "warning", text: expect.stringContaining("s behind this machine") });
    expect(find("disk")).toMatchObject({ status: "warning", text: expect.stringMatching(/^2 MiB .*\(98% /) });
    expect(find("target tmux")).toMatchObject({ status: "warning", remedy: expect.stringContaining("tmux -V") });
  });

  test("that cannot be reached is broken", async () => {
    await using here = new Here();
    here.programs({ docker: "echo 'Cannot connect to the Docker daemon' >&2; exit 1" });
    const { ok, find } = await examine("--container", "api");
    expect(ok).toBe(false);
    expect(find("target")).toMatchObject({ status: "broken" });
  });
});

test("how to install something: without sudo for root, and where there is none", async () => {
  await using here = new Here();
  here.programs({}, { only: true });
  expect(howToInstall("tmux", false)).toContain("tmux");
  here.programs({ "apt-get": "exit 0" }, { only: true });
  expect(howToInstall("tmux", true)).toBe("apt-get install tmux");
  expect(howToInstall("tmux", false)).toBe("as root: apt-get install tmux");
  here.programs({ sudo: "exit 0" }, { only: true });
  expect(howToInstall("tmux", false)).toBe("sudo apt-get install tmux");
});
