import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/cli/commands/doctor/machine.ts";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";
import { containerTarget } from "../support/container.ts";
import { startModel } from "../support/model.ts";
import { Pty } from "../support/pty.ts";
import { sshTarget } from "../support/sshd.ts";
import { needs } from "../support/needs.ts";

const ssh = await needs("sshd");
const container = await needs("podman");

async function examine(box: Sandbox, args: string[] = [], env: Record<string, string | undefined> = {}) {
  const { stdout, stderr, code } = await box.run(["doctor", "--json", ...args], { env });
  expect(stderr).toBe("");
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  const find = (check: string) => findings.find((one) => one.check === check);
  for (const { status, remedy, text } of findings)
    if (status === "broken" || status === "warning") expect([text, remedy ?? ""]).not.toContain("");
  return { ok, findings, find, stdout };
}

const profile = (url: string) =>
  `[agent]\nmodel = "mine"\n[tools]\nshell_timeout = "5m"\n[models.mine]\napi_base_url = "${url}"\nmodel = "gpt-4o"\napi_key = "sk-test-0123456789abcdef"\n`;

describe("buddy doctor", () => {
  test("a password in the configuration is not repeated", async () => {
    using box = sandbox();
    const address = "http://ann:hunter2-Zq9@127.0.0.1:9/v1";
    box.write("home/.config/buddy/buddy.toml", `[models.x]\napi_base_url = "${address}"\nmodel = "m"\n`, 0o600);
    for (const args of [["doctor"], ["doctor", "--json"]]) {
      const { stdout, stderr } = await box.run(args);
      expect(stdout).toContain("api_base_url");
      expect(stdout + stderr).not.toContain("hunter2");
    }
  });

  test("with a model that answers: all is well, with the origin of every value, without the key", async () => {
    await using model = startModel([]);
    using box = sandbox();
    box.write("home/.config/buddy/buddy.toml", profile(model.url), 0o600);
    const { ok, find, findings, stdout } = await examine(box);
    expect(ok).toBe(true);
    expect(findings.map((one) => one.text)).toContain(
      'tools.shell_timeout = "5m" from ~/.config/buddy/buddy.toml line 4',
    );
    expect(find("key")?.text).toMatch(/\bapi_key .*~\/\.config\/buddy\/buddy\.toml line 8/);
    expect(find("endpoint")).toMatchObject({ status: "ok", text: expect.stringMatching(/\d+ ms/) });
    expect(find("catalog")?.text).toStartWith("gpt-4o: 128000 ");
    expect(find("tmux")).toMatchObject({ status: Bun.which("tmux") === null ? "warning" : "ok" });
    expect(stdout).not.toContain("sk-test");
  });

  test("on a fresh machine it says what is missing and writes nothing", async () => {
    using box = sandbox();
    const { ok, find } = await examine(box, [], { BUDDY_AUTH_ISSUER: "http://127.0.0.1:9" });
    expect(ok).toBe(false);
    expect(find("sign-in")).toMatchObject({ status: "broken" });
    expect(existsSync(join(box.home, ".config"))).toBe(false);
  });

  test("demo needs nothing", async () => {
    using box = sandbox();
    expect((await examine(box, ["-m", "demo"])).ok).toBe(true);
  });

  test("no one at the endpoint, a refused key, a missing key, a broken file, an unknown model, an unknown profile", async () => {
    using box = sandbox();
    const config = (text: string) => ["--config", box.write("cwd/c.toml", text, 0o600)];
    const down = await examine(box, config(profile("http://127.0.0.1:9/v1")));
    expect(down.find("endpoint")).toMatchObject({ status: "broken" });

    const refusing = Bun.serve({
      port: 0,
      fetch: (request) => new Response(request.headers.get("authorization"), { status: 401 }),
    });
    const refused = await examine(box, config(profile(`http://127.0.0.1:${refusing.port}/v1`)));
    await refusing.stop(true);
    expect(refused.find("endpoint")).toMatchObject({ status: "broken", text: expect.stringContaining("key") });
    expect(refused.stdout).not.toContain("sk-test");

    const socks = { ALL_PROXY: "socks5://127.0.0.1:1080" };
    const proxied = await examine(box, config(profile("https://api.example.com/v1")), socks);
    expect(proxied.find("endpoint")).toMatchObject({ status: "broken", text: expect.stringContaining("socks") });

    const keyless = '[agent]\nmodel = "m"\n[models.m]\napi_base_url = "https://api.example.com"\nmodel = "x"\n';
    expect((await examine(box, config(keyless))).find("profile")?.remedy).toContain("BUDDY_API_KEY");
    expect((await examine(box, config("[agent"))).find("config")).toMatchObject({ status: "broken" });
    const unknown = profile("http://127.0.0.1:9/v1").replace("gpt-4o", "nobody-knows-this");
    expect((await examine(box, config(unknown))).find("catalog")).toMatchObject({ status: "warning" });
    expect((await examine(box, ["-m", "gtp-codex"])).find("profile")?.remedy).toContain("gpt-codex");
  });

  test("no tmux, no ssh, no engine: reported with how to get them, and nothing is broken by that", async () => {
    using box = sandbox();
    const bin = join(box.dir, "bin");
    mkdirSync(bin);
    symlinkSync(Bun.which("sh") ?? "/bin/sh", join(bin, "sh"));
    const { ok, find } = await examine(box, ["-m", "demo"], { PATH: bin });
    expect(ok).toBe(true);
    expect(find("tmux")).toMatchObject({ status: "warning" });
    expect(find("ssh")?.text).toContain("--ssh");
    expect(find("containers")?.text).toMatch(/docker.*podman/);
  });

  test("files that others can read, a place where no session can be stored", async () => {
    using box = sandbox();
    chmodSync(box.write("home/.config/buddy/auth.json", "{}"), 0o644);
    symlinkSync("/etc", join(box.cwd, ".buddyx"));
    const { find } = await examine(box, ["-m", "demo"]);
    expect(find("permissions")?.remedy).toContain("chmod 600");
    expect(find("sessions")?.text).toContain(".local/state/buddy/sessions");
  });

  test("for people: marks, remedies, a last line; coloured only where asked", async () => {
    using box = sandbox();
    const plain = await box.run(["doctor", "-m", "demo"]);
    expect(plain.stdout).toMatch(/^ok profile/m);
    expect(plain.stdout).toMatch(/(no problems found|with warnings)\n$/);
    expect(plain.stdout).not.toContain("\u001b");
    const colored = await box.run(["doctor", "-m", "demo"], { env: { FORCE_COLOR: "1" } });
    expect(colored.stdout).toContain("\u001b[32mok\u001b[0m");
  });

  test("in a narrow terminal every row begins at its column", async () => {
    using box = sandbox();
    await using pty = new Pty([await buddyBinary(), "doctor", "-m", "demo"], {
      cols: 40,
      rows: 100,
      cwd: box.cwd,
      env: box.env,
    });
    await pty.until(/no problems found|with warnings/);
    const column = /^ok profile +/m.exec(pty.screen())?.[0].length ?? 0;
    const indents = [...pty.screen().matchAll(/^ +(?=\S)/gm)].map(([indent]) => indent.length - column);
    expect(indents.filter((one) => one !== 0 && one !== "fix: ".length)).toEqual([]);
  });

  ssh.test(
    "--ssh looks at the host: who, tmux, shell, disk, sudo, clock; a host that is not there is broken",
    async () => {
      const { host, env } = await sshTarget();
      using box = sandbox();
      const there = await examine(box, ["-m", "demo", "--ssh", host], env);
      expect(there.find("identity")?.text).toContain("@");
      for (const check of ["target tmux", "shell", "disk", "sudo", "clock"]) expect(there.find(check)).toBeDefined();
      expect(there.find("clock")?.status).toBe("ok");
      const gone = await examine(box, ["-m", "demo", "--ssh", "127.0.0.1:9"], env);
      expect(gone.ok).toBe(false);
      expect(gone.find("target")?.remedy).toBeDefined();
    },
    60_000,
  );

  container.test(
    "--container looks inside; a name that is not running is broken and the running ones are named",
    async () => {
      await using inside = await containerTarget();
      using box = sandbox();
      const there = await examine(box, ["-m", "demo", "--container", inside.name], { ...inside.env });
      expect(there.find("target tmux")).toMatchObject({ status: "warning" });
      expect(there.find("shell")?.text).toMatch(/\bbash\b/);
      const gone = await examine(box, ["-m", "demo", "--container", "nobody-runs-this"], { ...inside.env });
      expect(gone.find("target")).toMatchObject({ status: "broken" });
    },
    60_000,
  );
});
