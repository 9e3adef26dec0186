import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";

const SCRIPT = join(import.meta.dir, "../../install.sh");
const SHELLS = { dash: ["dash"], ash: ["busybox", "ash"], bash: ["bash", "--posix"] } as const;
const asset = `buddy-${process.platform}-${process.arch}`;

/** A small program in place of the real binary: what is under test is how it gets here. */
const program = (version: string) =>
  Buffer.from(`#!/bin/sh\n[ "$1" = --version ] && echo "buddy ${version}" && exit\nread -r line\n`);
const sum = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let files: Map<string, Uint8Array<ArrayBuffer>>;
let asked: string[];
let truncate: boolean;
let server: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const name = new URL(request.url).pathname.slice(1);
      asked.push(name);
      const bytes = files.get(name);
      if (bytes === undefined) return new Response("no such file", { status: 404 });
      return new Response(truncate && name !== "SHA256SUMS" ? bytes.subarray(0, bytes.length - 10) : bytes);
    },
  });
});
afterAll(() => server.stop(true));

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "buddy-install-"));
  mkdirSync(join(home, "tmp"));
  asked = [];
  truncate = false;
  release("1.2.3");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function release(version: string, { gzip = true }: { gzip?: boolean } = {}): void {
  const binary = program(version);
  const packed = Bun.gzipSync(binary);
  files = new Map([[asset, binary]]);
  const sums = [`${sum(binary)}  ${asset}`];
  if (gzip) {
    files.set(`${asset}.gz`, packed);
    sums.push(`${sum(packed)}  ${asset}.gz`);
  }
  files.set("SHA256SUMS", Buffer.from(`${sums.join("\n")}\n`));
}

const environment = (port: number | undefined) => ({
  HOME: home,
  TMPDIR: join(home, "tmp"),
  PATH: process.env.PATH ?? "",
  BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${port}`,
});

async function install(env: Record<string, string> = {}, shell: readonly string[] = SHELLS.dash) {
  const child = Bun.spawn([...shell, SCRIPT], {
    env: { ...environment(server.port), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code };
}

const bin = () => join(home, ".local/bin");
const installed = () => (existsSync(join(bin(), "buddy")) ? readFileSync(join(bin(), "buddy")) : undefined);
function nothingLeft(): void {
  expect(readdirSync(join(home, "tmp"))).toEqual([]);
  if (existsSync(bin())) expect(readdirSync(bin()).filter((name) => name !== "buddy")).toEqual([]);
}

/** A PATH with only these programs. */
function only(...names: string[]): Record<string, string> {
  const directory = join(home, "only");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  for (const name of names) symlinkSync(Bun.which(name) ?? `/bin/${name}`, join(directory, name));
  return { PATH: directory };
}
const BASICS = "sh uname mkdir mktemp rm mv chmod cut awk head grep sha256sum gzip cat".split(" ");

describe.each(Object.entries(SHELLS))("install.sh in %s", (_, shell) => {
  test("puts the checked binary in place and says what to add to PATH", async () => {
    const { stderr, stdout, code } = await install({}, shell);
    expect(stderr).toContain("installed buddy 1.2.3");
    expect(stderr).toContain(`export PATH="${bin()}:$PATH"`);
    expect(stdout).toBe("");
    expect(code).toBe(0);
    expect(installed()).toEqual(program("1.2.3"));
    nothingLeft();
  });

  test("again changes nothing; a newer release replaces it", async () => {
    await install({}, shell);
    asked = [];
    expect((await install({}, shell)).stderr).toContain("up to date");
    expect(asked).toEqual(["SHA256SUMS"]);
    release("2.0.0");
    expect((await install({}, shell)).stderr).toContain("installed buddy 2.0.0");
    nothingLeft();
  });

  test("a wrong checksum installs nothing and keeps the old one", async () => {
    await install({}, shell);
    files.set(asset, program("6.6.6"));
    files.set("SHA256SUMS", Buffer.from(`${"0".repeat(64)}  ${asset}\n`));
    const { stderr, code } = await install({}, shell);
    expect(code).toBe(1);
    expect(stderr).toContain("checksum");
    expect(installed()).toEqual(program("1.2.3"));
    nothingLeft();
  });

  test("a truncated download installs nothing", async () => {
    truncate = true;
    const { stderr, code } = await install({}, shell);
    expect(code).toBe(1);
    expect(stderr).toMatch(/checksum|cannot download/);
    expect(installed()).toBeUndefined();
    nothingLeft();
  });
});

describe("install.sh", () => {
  test("works with an uncompressed release and without gzip", async () => {
    release("1.2.3", { gzip: false });
    expect((await install()).code).toBe(0);
    expect(asked).toEqual(["SHA256SUMS", asset]);
    release("1.2.4");
    const tools = only(...BASICS.filter((name) => name !== "gzip"), "curl");
    expect((await install(tools, ["/bin/sh"])).stderr).toContain("installed buddy 1.2.4");
  });

  test("uses wget where there is no curl, and says so where there is neither", async () => {
    const withWget = await install(only(...BASICS, "wget"), ["/bin/sh"]);
    expect(withWget.stderr).toContain("installed buddy 1.2.3");
    const without = await install({ ...only(...BASICS), BUDDY_INSTALL_DIR: join(home, "elsewhere") }, ["/bin/sh"]);
    expect(without.stderr).toContain("neither curl nor wget");
    expect(without.code).toBe(1);
  });

  test.each([
    ["riscv64", "Linux", "no build for the processor riscv64"],
    ["x86_64", "FreeBSD", "no build for FreeBSD"],
  ])("explains that there is no build for %s on %s", async (machine, system, words) => {
    const tools = only(...BASICS.filter((name) => name !== "uname"), "curl");
    writeFileSync(join(home, "only/uname"), `#!/bin/sh\n[ "$1" = -m ] && echo ${machine} || echo ${system}\n`);
    chmodSync(join(home, "only/uname"), 0o755);
    const { stderr, code } = await install(tools, ["/bin/sh"]);
    expect(stderr).toContain(words);
    expect(code).toBe(1);
    nothingLeft();
  });

  test("a release without a build for this machine, no release at all, another version than asked", async () => {
    files.set("SHA256SUMS", Buffer.from(`${"0".repeat(64)}  buddy-plan9-mips\n`));
    expect((await install()).stderr).toContain(`does not list ${asset}`);
    files.clear();
    expect((await install()).stderr).toContain("cannot download");
    release("1.2.3");
    expect((await install({ BUDDY_VERSION: "9.9.9" })).stderr).toContain("holds buddy 1.2.3, not 9.9.9");
    expect(installed()).toBeUndefined();
    nothingLeft();
  });

  test("takes the asked version from its directory", async () => {
    files = new Map([...files].map(([name, bytes]) => [`v1.2.3/${name}`, bytes]));
    expect((await install({ BUDDY_VERSION: "v1.2.3" })).stderr).toContain("installed buddy 1.2.3");
  });

  test("a directory that cannot be written, no HOME, a directory in its place", async () => {
    writeFileSync(join(home, "file"), "");
    const blocked = await install({ BUDDY_INSTALL_DIR: join(home, "file/bin") });
    expect(blocked.stderr).toContain("cannot make the directory");
    const readOnly = await install({ BUDDY_INSTALL_DIR: "/proc/self/task" });
    expect(readOnly.stderr).toContain("cannot write to");
    expect((await install({ HOME: "" })).stderr).toContain("HOME is not set");
    mkdirSync(join(home, "bin/buddy"), { recursive: true });
    expect((await install({ BUDDY_INSTALL_DIR: join(home, "bin") })).stderr).toContain("is a directory");
    expect(readdirSync(join(home, "bin"))).toEqual(["buddy"]);
    nothingLeft();
  });

  test("says nothing of PATH when it is there already", async () => {
    const { stderr } = await install({ PATH: `${bin()}:${process.env.PATH}` });
    expect(stderr).not.toContain("is not in your PATH");
    expect(stderr).toContain("without any key: buddy demo");
    const slash = await install({ PATH: `${bin()}:${process.env.PATH}`, BUDDY_INSTALL_DIR: `${bin()}/` });
    expect(slash.stderr).toContain(`up to date: ${bin()}/buddy`);
    expect(slash.stderr).not.toContain("is not in your PATH");
  });

  test("outside of PATH it tells where buddy is, also when the directory was given relative", async () => {
    const { stderr } = await install({ BUDDY_INSTALL_DIR: "its own/bin", CDPATH: "/" }, [
      "sh",
      "-c",
      'cd "$HOME" && exec sh "$0"',
    ]);
    const there = join(home, "its own/bin");
    expect(stderr).toContain(`installed buddy 1.2.3 as ${there}/buddy`);
    expect(stderr).toContain(`export PATH="${there}:$PATH"`);
    expect(stderr).toContain(`without any key: ${there}/buddy demo`);
  });

  test("replaces a running binary without disturbing it", async () => {
    mkdirSync(bin(), { recursive: true });
    copyFileSync(Bun.which("cat") ?? "/bin/cat", join(bin(), "buddy"));
    const running = Bun.spawn([join(bin(), "buddy")], { stdin: "pipe", stdout: "pipe" });
    expect((await install()).code).toBe(0);
    running.stdin.write("still here\n");
    await running.stdin.end();
    expect(await new Response(running.stdout).text()).toBe("still here\n");
    expect(installed()).toEqual(program("1.2.3"));
  });

  test("interrupted in the middle it leaves nothing", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        if (request.url.endsWith("SHA256SUMS")) return new Response(files.get("SHA256SUMS"));
        asked.push("binary");
        await gate.promise;
        return new Response("late");
      },
    });
    const child = Bun.spawn(["dash", SCRIPT], {
      env: environment(slow.port),
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    });
    await until(() => asked.includes("binary"), "the download is under way");
    process.kill(-child.pid, "SIGINT");
    await child.exited;
    gate.resolve();
    await slow.stop(true);
    nothingLeft();
    expect(installed()).toBeUndefined();
  });

  test("on musl without libstdc++ it says what to install", async () => {
    const root = join(home, "root");
    for (const directory of ["bin", "lib", "tmp", "root"]) mkdirSync(join(root, directory), { recursive: true });
    copyFileSync(Bun.which("busybox") ?? "/bin/busybox", join(root, "bin/busybox"));
    for (const applet of [...BASICS, "wget"]) symlinkSync("busybox", join(root, "bin", applet));
    copyFileSync(SCRIPT, join(root, "install.sh"));
    writeFileSync(join(root, "lib/ld-musl-x86_64.so.1"), "");
    // chroot(2) needs root or a user namespace of one's own.
    const chroot = Bun.which("chroot", { PATH: `${process.env.PATH}:/usr/sbin:/sbin` }) ?? "chroot";
    const enter = process.getuid?.() === 0 ? [chroot] : [Bun.which("unshare") ?? "unshare", "-r", chroot];
    const child = Bun.spawn([...enter, root, "/bin/sh", "/install.sh"], {
      env: { HOME: "/root", PATH: "/bin", BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}` },
      stdout: "ignore",
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toContain("apk add libstdc++");
    expect(await child.exited).toBe(1);
  });
});
