import { expect } from "bun:test";
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
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { archives, contents, installScript } from "../../scripts/release.ts";
import { available, needs } from "../support/needs.ts";
import { Pty } from "../support/pty.ts";
import { until } from "../support/until.ts";

const SCRIPT = join(import.meta.dir, "../../install.sh");
const { afterAll, afterEach, beforeAll, beforeEach, describe, test } = await needs("curl", "wget");
const bare = await needs("curl", "wget", "busybox", "chroot-as-user");
const x64 = await needs("curl", "wget", "linux-x64", "busybox", "chroot-as-user");
const tls = await needs("curl", "wget", "openssl");
const SHELLS = { dash: ["dash"], busybox: ["busybox", "ash"], bash: ["bash", "--posix"], zsh: ["zsh", "-f"] } as const;
const target = `${process.platform}-${process.arch}`;
const asset = `buddy-${target}`;

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

/** The files of a release, made as scripts/release.ts makes them. */
function release(version: string, { kinds = ["gz", "zst"] }: { kinds?: readonly string[] } = {}): void {
  const binary = program(version);
  const facts = { version, homepage: "https://example.com", mtime: 0 };
  const packed = archives(target, { ...PARTS, binary }, facts, { gzip: 1, zstd: 1 });
  files = new Map([
    [asset, binary],
    ...packed
      .filter(([name]) => kinds.some((kind) => name.endsWith(`.${kind}`)))
      .map(([name, data]) => [name, Buffer.from(data)] as const),
  ]);
  seal();
}

const PARTS = contents(new Uint8Array());

/** SHA256SUMS of what is there. */
function seal(): void {
  files.delete("SHA256SUMS");
  files.set("SHA256SUMS", Buffer.from([...files].map(([name, data]) => `${sum(data)}  ${name}\n`).join("")));
}

const archive = (kind: "gz" | "zst", version = "1.2.3") => `buddy-${version}-${target}.tar.${kind}`;

const environment = (port: number | undefined) => ({
  HOME: home,
  TMPDIR: join(home, "tmp"),
  PATH: process.env.PATH ?? "",
  // Where there is none, bash sets it to the login shell.
  SHELL: "/bin/sh",
  BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${port}`,
});

async function install(
  env: Record<string, string> = {},
  shell: readonly string[] = SHELLS.dash,
  args: readonly string[] = [],
) {
  const child = Bun.spawn([...shell, SCRIPT, ...args], {
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
const BASICS = "sh uname mkdir mktemp rm rmdir mv cp chmod cut awk head tail grep sha256sum gzip tar cat".split(" ");
const MAN = ".local/share/man/man1/buddy.1";

describe.each(await available("dash", "busybox", "bash", "zsh"))("install.sh in %s", (name) => {
  const shell = SHELLS[name];
  test("puts the checked binary in place and says what to add to PATH", async () => {
    const { stderr, stdout, code } = await install({}, shell);
    expect(stderr).toContain(`export PATH="${bin()}:$PATH"`);
    expect(stdout).toBe("");
    expect(code).toBe(0);
    expect(installed()).toEqual(program("1.2.3"));
    nothingLeft();
  });

  test("again changes nothing; a newer release replaces it", async () => {
    await install({}, shell);
    asked = [];
    expect((await install({}, shell)).code).toBe(0);
    expect(asked).toEqual(["SHA256SUMS"]);
    release("2.0.0");
    expect((await install({}, shell)).code).toBe(0);
    expect(installed()).toEqual(program("2.0.0"));
    nothingLeft();
  });

  test("a wrong checksum installs nothing and keeps the old one", async () => {
    await install({}, shell);
    release("6.6.6");
    files.set(archive("zst", "6.6.6"), files.get(asset) ?? Buffer.alloc(0));
    files.set(archive("gz", "6.6.6"), files.get(asset) ?? Buffer.alloc(0));
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
  test("takes zstd where it can be unpacked, else gzip, else the bare binary", async () => {
    expect((await install()).code).toBe(0);
    expect(asked).toEqual(["SHA256SUMS", archive("zst")]);
    asked = [];
    release("1.2.4");
    await install(only(...BASICS, "curl"), ["/bin/sh"]);
    expect(installed()).toEqual(program("1.2.4"));
    expect(asked).toEqual(["SHA256SUMS", archive("gz", "1.2.4")]);
    asked = [];
    release("1.2.5");
    const bare = only(...BASICS.filter((name) => name !== "tar"), "curl");
    await install(bare, ["/bin/sh"]);
    expect(installed()).toEqual(program("1.2.5"));
    expect(asked).toEqual(["SHA256SUMS", asset]);
    release("1.2.6", { kinds: [] });
    await install();
    expect(installed()).toEqual(program("1.2.6"));
  });

  test("puts the man page and the completions where shells look for those of a user", async () => {
    await install();
    const share = join(home, ".local/share");
    expect(readFileSync(join(home, MAN), "utf8")).toStartWith(".TH BUDDY 1");
    expect(existsSync(join(share, "bash-completion/completions/buddy"))).toBe(true);
    expect(existsSync(join(share, "zsh/site-functions/_buddy"))).toBe(true);
    expect(existsSync(join(share, "fish/vendor_completions.d/buddy.fish"))).toBe(true);
    const elsewhere = join(home, "opt/bin");
    await install({ BUDDY_INSTALL_DIR: elsewhere });
    expect(existsSync(join(home, "opt/share/man/man1/buddy.1"))).toBe(true);
  });

  test("brings back a man page or completion that is missing although the binary is up to date", async () => {
    await install();
    for (const path of [MAN, ".local/share/fish/vendor_completions.d/buddy.fish"]) {
      rmSync(join(home, path));
      expect((await install()).code).toBe(0);
      expect(existsSync(join(home, path))).toBe(true);
    }
  });

  test("a binary of the right sum but of another version than asked is not up to date", async () => {
    await install();
    const { code, stderr } = await install({ BUDDY_VERSION: "9.9.9" });
    expect(code).toBe(1);
    for (const version of ["1.2.3", "9.9.9"]) expect(stderr).toContain(version);
  });

  test("--uninstall removes what was installed, and nothing else", async () => {
    await install();
    writeFileSync(join(bin(), "other"), "");
    const { code, stderr } = await install({}, SHELLS.dash, ["--uninstall"]);
    expect(code).toBe(0);
    expect(readdirSync(bin())).toEqual(["other"]);
    expect(existsSync(join(home, MAN))).toBe(false);
    expect(stderr).toContain("~/.config/buddy");
    expect((await install({}, SHELLS.dash, ["--uninstall"])).code).toBe(1);
    expect((await install({}, SHELLS.dash, ["--unknown"])).code).toBe(1);
  });

  test("a file left by a run that was killed stayed for ever", async () => {
    mkdirSync(bin(), { recursive: true });
    const [old, young] = [".buddy-update.1", ".buddy-install.2"].map((name) => join(bin(), name)) as [string, string];
    for (const path of [old, young]) writeFileSync(path, "half");
    utimesSync(old, new Date(), new Date(Date.now() - 49 * 3_600_000));
    expect((await install()).code).toBe(0);
    expect(readdirSync(bin()).toSorted()).toEqual([".buddy-install.2", "buddy"]);
    await install({}, SHELLS.dash, ["--uninstall"]);
    expect(readdirSync(bin())).toEqual([]);
  });

  test("a binary that fits where it belongs was unpacked in the directory for temporary files first", async () => {
    // A tar that only writes what goes to its output, as on a full disk.
    const tools = only(...BASICS.filter((name) => name !== "tar"), "curl");
    const tar = join(home, "only/tar");
    writeFileSync(tar, `#!/bin/sh\ncase $1 in *O*) exec ${Bun.which("tar")} "$@" ;; esac\ncat >/dev/null\nexit 2\n`);
    chmodSync(tar, 0o755);
    const { stderr, code } = await install(tools, ["/bin/sh"]);
    expect(code).toBe(0);
    expect(asked).toEqual(["SHA256SUMS", archive("gz")]);
    expect(stderr).toContain(`could not write ${join(home, MAN)}`);
    writeFileSync(tar, "#!/bin/sh\necho disk full >&2\nexit 2\n");
    release("1.2.4");
    const full = await install(tools, ["/bin/sh"]);
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining("  disk full\n") });
    expect(installed()).toEqual(program("1.2.3"));
    nothingLeft();
  });

  test("zsh finds the completions with the line that it names", async () => {
    const { stderr } = await install({ SHELL: "/usr/bin/zsh" });
    const line = /fpath=\(.*\)/.exec(stderr)?.[0];
    expect(line).toBe(`fpath=('${join(home, ".local/share/zsh/site-functions")}' $fpath)`);
    expect((await install({ SHELL: "/bin/bash" })).stderr).not.toContain("fpath");
    const moved = await install({ SHELL: "/usr/bin/zsh", ZDOTDIR: "/my files" });
    expect(moved.stderr).toContain(">> '/my files/.zshrc'");
  });

  test("read from a pipe, it shows how it is used", async () => {
    const help = ["sh", "-c", 'exec /bin/sh -s -- --help <"$0"'];
    expect(await install({}, help)).toMatchObject({ code: 0, stderr: expect.stringContaining("--uninstall") });
  });

  test("a failure leaves no directory that was made for it", async () => {
    files.clear();
    expect((await install()).code).toBe(1);
    expect(readdirSync(home)).toEqual(["tmp"]);
    expect((await install({ BUDDY_INSTALL_DIR: join(home, "a/b/c") })).code).toBe(1);
    expect(readdirSync(home)).toEqual(["tmp"]);
  });

  test.each([
    ["/usr/bin/zsh", "~/.zshrc"],
    ["/bin/bash", process.platform === "darwin" ? "~/.bash_profile" : "~/.bashrc"],
    ["/bin/dash", "~/.profile   and log in again"],
    ["/bin/tcsh", "~/.cshrc"],
    ["/usr/bin/fish", "fish_add_path"],
  ])("for %s it names %s", async (shell, words) => {
    expect((await install({ SHELL: shell })).stderr).toContain(words);
  });

  test("the copy in a checkout names no address; that of a release does", async () => {
    const { code, stderr } = await install({ BUDDY_INSTALL_BASE_URL: "" });
    expect(code).toBe(1);
    expect(stderr).toContain("checkout");
    const text = readFileSync(SCRIPT, "utf8");
    expect(text).not.toContain("https://");
    expect(installScript(text, "https://example.com/r")).toContain("RELEASES='https://example.com/r'");
    expect(() => installScript("#!/bin/sh\n", "https://example.com/r")).toThrow();
  });

  test("shows progress on a terminal", async () => {
    await using pty = new Pty(["dash", SCRIPT], { cols: 80, rows: 24, cwd: home, env: environment(server.port) });
    expect(await pty.exited).toBe(0);
    await pty.until((screen) => /100[.,]0%/.test(screen));
    await using wget = new Pty(["/bin/sh", SCRIPT], {
      cols: 80,
      rows: 24,
      cwd: home,
      env: { ...environment(server.port), ...only(...BASICS, "wget"), BUDDY_INSTALL_DIR: join(home, "other") },
    });
    expect(await wget.exited).toBe(0);
    await wget.until((screen) => /100%\[=+>?\]/.test(screen));
  });

  test("the reason of wget was lost, and a page in the place of the checksums was no build for this machine", async () => {
    for (const name of files.keys()) if (name !== "SHA256SUMS") files.delete(name);
    const gone = await install(only(...BASICS, "wget"), ["/bin/sh"]);
    expect(gone.stderr).toContain("404");
    files.set("SHA256SUMS", Buffer.from("<html>log in</html>\n"));
    const page = await install();
    expect(page.code).toBe(1);
    expect(page.stderr).not.toContain(asset);
    nothingLeft();
  });

  test("uses wget where there is no curl, and says so where there is neither", async () => {
    const withWget = await install(only(...BASICS, "wget"), ["/bin/sh"]);
    expect(withWget.code).toBe(0);
    expect(installed()).toEqual(program("1.2.3"));
    const without = await install({ ...only(...BASICS), BUDDY_INSTALL_DIR: join(home, "elsewhere") }, ["/bin/sh"]);
    for (const tool of ["curl", "wget"]) expect(without.stderr).toContain(tool);
    nothingLeft();
    expect(without.code).toBe(1);
  });

  test.each([
    ["riscv64", "Linux", "riscv64"],
    ["x86_64", "FreeBSD", "FreeBSD"],
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
    expect((await install()).stderr).toContain(asset);
    files.clear();
    expect((await install()).stderr).toContain("SHA256SUMS");
    release("1.2.3");
    expect((await install({ BUDDY_VERSION: "9.9.9" })).code).toBe(1);
    expect(installed()).toBeUndefined();
    nothingLeft();
  });

  test("takes the asked version from its directory", async () => {
    files = new Map([...files].map(([name, bytes]) => [`v1.2.3/${name}`, bytes]));
    expect((await install({ BUDDY_VERSION: "v1.2.3" })).code).toBe(0);
    expect(installed()).toEqual(program("1.2.3"));
  });

  test("a directory that cannot be written, no HOME, a directory in its place", async () => {
    writeFileSync(join(home, "file"), "");
    const blocked = await install({ BUDDY_INSTALL_DIR: join(home, "file/bin") });
    expect(blocked).toMatchObject({ code: 1, stderr: expect.stringContaining(join(home, "file/bin")) });
    const readOnly = await install({ BUDDY_INSTALL_DIR: "/proc/self/task" });
    expect(readOnly).toMatchObject({ code: 1, stderr: expect.stringContaining("/proc/self/task") });
    expect(await install({ HOME: "" })).toMatchObject({ code: 1, stderr: expect.stringContaining("HOME") });
    mkdirSync(join(home, "bin/buddy"), { recursive: true });
    const taken = await install({ BUDDY_INSTALL_DIR: join(home, "bin") });
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining(join(home, "bin/buddy")) });
    expect(readdirSync(join(home, "bin"))).toEqual(["buddy"]);
    nothingLeft();
  });

  test("says nothing of PATH when it is there already", async () => {
    const { stderr } = await install({ PATH: `${bin()}:${process.env.PATH}` });
    expect(stderr).not.toContain("export PATH");
    expect(stderr).toContain(" buddy demo");
    const slash = await install({ PATH: `${bin()}:${process.env.PATH}`, BUDDY_INSTALL_DIR: `${bin()}/` });
    expect(slash.stderr).toContain(` ${bin()}/buddy`);
    expect(slash.stderr).not.toContain("export PATH");
  });

  test("outside of PATH it says where buddy is, also when the directory was given relative", async () => {
    const { stderr } = await install({ BUDDY_INSTALL_DIR: "its own/bin", CDPATH: "/" }, [
      "sh",
      "-c",
      'cd "$HOME" && exec sh "$0"',
    ]);
    const there = join(home, "its own/bin");
    expect(stderr).toContain(`export PATH="${there}:$PATH"`);
    expect(stderr).toContain(` '${there}/buddy' demo`);
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

  /** A root directory with busybox alone, in which the script runs. */
  async function inBareRoot(extra: Readonly<Record<string, string>>): Promise<{ stderr: string; code: number }> {
    const root = join(home, "root");
    for (const directory of ["bin", "lib", "tmp", "root"]) mkdirSync(join(root, directory), { recursive: true });
    copyFileSync(Bun.which("busybox") ?? "/bin/busybox", join(root, "bin/busybox"));
    for (const applet of [...BASICS, "wget"]) symlinkSync("busybox", join(root, "bin", applet));
    copyFileSync(SCRIPT, join(root, "install.sh"));
    for (const [path, text] of Object.entries(extra)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    // chroot(2) needs root or a user namespace of one's own.
    const chroot = Bun.which("chroot", { PATH: `${process.env.PATH}:/usr/sbin:/sbin` }) ?? "chroot";
    const enter = process.getuid?.() === 0 ? [chroot] : [Bun.which("unshare") ?? "unshare", "-r", chroot];
    const child = Bun.spawn([...enter, root, "/bin/sh", "/install.sh"], {
      env: { HOME: "/root", PATH: "/bin", BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}` },
      stdout: "ignore",
      stderr: "pipe",
    });
    return { stderr: await child.stderr.text(), code: await child.exited };
  }

  bare.test("on musl without libstdc++ it says what to install", async () => {
    const { stderr, code } = await inBareRoot({ "lib/ld-musl-x86_64.so.1": "" });
    expect(stderr).toContain("apk add libstdc++");
    expect(code).toBe(1);
  });

  x64.test("names the features that an old processor lacks", async () => {
    const { stderr, code } = await inBareRoot({ "proc/cpuinfo": "flags\t\t: fpu sse sse2 ssse3 cx16 sse4_1\n" });
    expect(stderr).toContain("popcnt sse4_2");
    expect(code).toBe(1);
  });
});

tls.describe("an https address", () => {
  let secure: ReturnType<typeof Bun.serve>;
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "buddy-install-tls-"));
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const made = Bun.spawnSync(["openssl", "req", "-x509", ...key, "-keyout", "k.pem", "-out", "c.pem", ...subject], {
      cwd: directory,
      stderr: "ignore",
    });
    expect(made.exitCode).toBe(0);
    secure = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { key: Bun.file(join(directory, "k.pem")), cert: Bun.file(join(directory, "c.pem")) },
      fetch: (request) => Response.redirect(`http://127.0.0.1:${server.port}${new URL(request.url).pathname}`),
    });
    writeFileSync(join(directory, "wgetrc"), `ca_certificate = ${directory}/c.pem\n`);
  });
  afterAll(async () => {
    await secure.stop(true);
    rmSync(directory, { recursive: true, force: true });
  });

  bare.test("of a server that nobody checks is warned of (the wget of busybox)", async () => {
    const tools = only(...BASICS);
    symlinkSync(Bun.which("busybox") ?? "busybox", join(home, "only/wget"));
    const { stderr } = await install({ ...tools, BUDDY_INSTALL_BASE_URL: `https://127.0.0.1:${secure.port}` }, [
      "/bin/sh",
    ]);
    expect(stderr).toContain("warning: ");
    expect(installed()).toBeUndefined();
  });

  test.each(["curl", "wget"])("is not left for http by a redirect (%s)", async (program) => {
    const { code } = await install(
      {
        ...only(...BASICS, program),
        BUDDY_INSTALL_BASE_URL: `https://127.0.0.1:${secure.port}`,
        CURL_CA_BUNDLE: join(directory, "c.pem"),
        WGETRC: join(directory, "wgetrc"),
      },
      ["/bin/sh"],
    );
    expect(code).toBe(1);
    expect(installed()).toBeUndefined();
    nothingLeft();
  });
});
