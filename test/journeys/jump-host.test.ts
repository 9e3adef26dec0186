import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quote } from "../../src/lib/quote.ts";
import { version } from "../../package.json";
import { compile, downloadedRuntime } from "../../scripts/build.ts";
import { type BareOptions, type BareRoot, bareRoot } from "../support/bare-root.ts";
import { buddyBinary } from "../support/buddy.ts";
import { muslLibraries } from "../support/musl.ts";
import { sshTarget } from "../support/sshd.ts";
import { needs } from "../support/needs.ts";

const bare = await needs("linux-x64", "chroot", "busybox");
const small = await needs("linux-x64", "chroot", "busybox", "tmux", "bash", "dash");
const musl = await needs("linux-x64", "chroot", "busybox", "musl");
const far = await needs("linux-x64", "sshd");

setDefaultTimeout(60_000);

/** The binary by itself in a tree: instant answers, the policy, the doctor, a real command. */
function worksIn(root: () => BareRoot, options: BareOptions = {}): void {
  const buddy = (...args: string[]) => root().run(["/buddy", ...args], options);

  test("prints its version and its help", async () => {
    expect(await buddy("--version")).toEqual({ code: 0, stdout: `buddy ${version}\n`, stderr: "" });
    const help = await buddy("help", "all");
    expect(help.stdout).toContain("Usage: buddy");
    expect(help.code).toBe(0);
  });

  test("explains the policy", async () => {
    const { stdout, code } = await buddy("policy", "shell", "rm -rf ~", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "block" });
    expect(code).toBe(4);
  });

  test("checks the machine without stumbling over what is missing", async () => {
    const { stdout, stderr, code } = await buddy("doctor", "-m", "demo", "--json");
    expect(stderr).toBe("");
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; text: string }[] };
    expect(findings.map(({ check }) => check)).toContain("tmux");
    expect(findings.filter(({ status }) => status === "broken")).toEqual([]);
    expect(code).toBe(0);
  });

  test("runs a command, and reads and writes files", async () => {
    const ls = await buddy("exec", "-m", "demo", "--approve", "all", "run: ls / && echo $((40 + 2))");
    expect(ls.stdout).toMatch(/\bproc\b/);
    expect(ls.stdout).toContain("42\n");
    expect(ls.stderr).not.toContain("bug");
    expect(ls.code).toBe(0);
    const written = await buddy(
      "exec",
      "-m",
      "demo",
      "--approve",
      "all",
      "run: cd /tmp; echo kept > note\nread: /tmp/note",
    );
    expect(written.stdout).toContain("kept");
    expect(written.code).toBe(0);
  });
}

bare.describe("the one binary beside a static busybox and libc", () => {
  let root: BareRoot;
  beforeAll(async () => {
    root = bareRoot();
    root.addProgram(await buddyBinary());
    root.add(await buddyBinary(), "/buddy");
  });
  afterAll(() => root[Symbol.dispose]());

  describe("with an empty environment: no PATH, no HOME, no TERM, no locale, no /etc", () => {
    worksIn(() => root);
    test("a TMPDIR that came with the login and is not there does no harm", async () => {
      const argv = ["/buddy", "exec", "-m", "demo", "run: echo fine"];
      expect((await root.run(argv, { env: { TMPDIR: "/run/user/1000/tmp" } })).stdout).toContain("fine");
    });

    test("there is no bash, no tmux, no ssh, no account", () => {
      expect(existsSync(join(root.dir, "etc"))).toBe(false);
      for (const name of ["bash", "tmux", "ssh"]) {
        const path = join(root.dir, "bin", name);
        if (existsSync(path)) expect(statSync(path).ino).toBe(statSync(join(root.dir, "bin/busybox")).ino);
      }
    });
  });

  describe("on a read-only file system with a HOME that is not there", () => {
    worksIn(() => root, { env: { PATH: "/bin", HOME: "/home/nobody" }, readOnly: true });
    test("says once that the session is not stored", async () => {
      const options = { env: { PATH: "/bin", HOME: "/home/nobody" }, readOnly: true };
      const { stderr } = await root.run(["/buddy", "exec", "-m", "demo", "hello"], options);
      expect(stderr.match(/sessions?\b.* saved/g)).toHaveLength(1);
    });
  });
});

small.describe("the one binary on a small Debian", () => {
  let root: BareRoot;
  const env = { PATH: "/usr/bin:/bin", HOME: "/root", TERM: "xterm" };
  beforeAll(async () => {
    root = bareRoot();
    for (const name of readdirSync(join(root.dir, "bin"))) Bun.spawnSync(["rm", join(root.dir, "bin", name)]);
    const programs = ["dash", "bash", "tmux", "ls", "cat", "id", "mkdir", "rm", "mv", "chmod", "stat", "head", "tail"];
    const more = [
      "dd",
      "tr",
      "sed",
      "grep",
      "sleep",
      "kill",
      "mktemp",
      "readlink",
      "setsid",
      "wc",
      "date",
      "uname",
      "stty",
      // A clean shell gets its environment from it.
      "env",
    ];
    for (const name of [...programs, ...more]) {
      const path = Bun.which(name);
      if (path !== null) root.addProgram(path);
    }
    Bun.spawnSync(["ln", "-s", Bun.which("dash") ?? "dash", join(root.dir, "bin/sh")]);
    for (const path of new Bun.Glob("**/*").scanSync("/usr/lib/locale/C.utf8"))
      root.add(`/usr/lib/locale/C.utf8/${path}`);
    for (const path of ["x/xterm", "s/screen", "t/tmux-256color", "s/screen-256color", "d/dumb"]) {
      const found = ["/lib/terminfo", "/usr/share/terminfo"].map((dir) => `${dir}/${path}`).find(existsSync);
      if (found !== undefined) root.add(found);
    }
    // A shell that is not installed: the account came with the image, the shell did not.
    for (const name of ["etc", "root"]) mkdirSync(join(root.dir, name));
    writeFileSync(join(root.dir, "etc/passwd"), "root:x:0:0:root:/root:/usr/bin/zsh\n");
    root.addProgram(await buddyBinary());
    root.add(await buddyBinary(), "/buddy");
  });
  afterAll(() => root[Symbol.dispose]());

  worksIn(() => root, { env });

  test("works in a tmux pane, and with --no-tmux in a shell", async () => {
    const pane = ["exec", "-m", "demo", "--approve", "all", "run: echo pane=$TMUX_PANE"];
    const { stdout, stderr } = await root.run(["/buddy", ...pane], { env });
    expect(stdout).toMatch(/^pane=%\d+$/m);
    expect(stderr).toContain("tmux -L buddy attach -t buddy-");
    expect((await root.run(["/buddy", "--no-tmux", ...pane], { env })).stdout).toMatch(/^pane=$/m);
  });

  test("without any locale tmux does not start, and a shell does the work", async () => {
    rmSync(join(root.dir, "usr/lib/locale"), { recursive: true });
    const argv = ["/buddy", "exec", "-m", "demo", "--approve", "all", "run: echo $((40 + 2))"];
    const { stdout, stderr, code } = await root.run(argv, { env });
    expect(stderr).toContain("tmux does not start: ");
    expect(stdout).toContain("42");
    expect(code).toBe(0);
  });
});

musl.describe("the musl build beside a static busybox", () => {
  let root: BareRoot;
  const env = { PATH: "/bin", LD_LIBRARY_PATH: "/usr/lib" };
  beforeAll(async () => {
    root = bareRoot();
    await compile("linux-x64-musl", downloadedRuntime("linux-x64-musl"), join(root.dir, "buddy"));
    chmodSync(join(root.dir, "buddy"), 0o755);
    mkdirSync(join(root.dir, "usr/lib"), { recursive: true });
    mkdirSync(join(root.dir, "lib"));
    muslLibraries(join(root.dir, "usr/lib"));
    copyFileSync("/lib/ld-musl-x86_64.so.1", join(root.dir, "lib/ld-musl-x86_64.so.1"));
  });
  afterAll(() => root[Symbol.dispose]());

  worksIn(() => root, { env });
});

far.describe("copied by scp", () => {
  test("it runs on the other machine", async () => {
    const { host, env, server } = await sshTarget();
    const there = join(server.remoteHome, "buddy");
    const ssh = Bun.which("ssh", { PATH: env.PATH ?? "" }) ?? "ssh";
    const copied = Bun.spawnSync(["scp", "-q", "-S", ssh, await buddyBinary(), `${host}:${there}`], { stderr: "pipe" });
    expect(copied.stderr.toString()).toBe("");
    const on = (command: string) => Bun.spawnSync([ssh, host, command], { stderr: "pipe" });
    expect(on(`${quote(there)} --version`).stdout.toString()).toBe(`buddy ${version}\n`);
    const ran = on(`cd && ${quote(there)} exec -m demo --approve all 'run: echo $SSH_CONNECTION'`);
    expect(ran.stdout.toString()).toContain("127.0.0.1");
    expect(ran.exitCode).toBe(0);
  });
});
