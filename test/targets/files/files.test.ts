import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import { PermissionDenied } from "../../../src/targets/errors.ts";
import { WRITE } from "../../../src/targets/files/file-scripts.ts";
import { CODES, fileAccess } from "../../../src/targets/files/files.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import type { FileAccess, Transport } from "../../../src/targets/target.ts";
import { SshTransport } from "../../../src/targets/connection/ssh.ts";
import { proxyTo } from "../../support/tcp-proxy.ts";
import { useSshd } from "../../support/sshd.ts";
import { eachPlace, openPlace, type Opened } from "../../support/transports.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";
import { buddyError } from "../../support/errors.ts";

const ssh = await needs("sshd");
const container = await needs("podman");
const asRoot = await needs("root");
const attributes = await needs("attr");
const lists = await needs("acl");

async function sh(transport: Transport, script: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await transport.run(script, { args });
  if (code !== 0) throw new Error(`${script}: ${code} ${stderr}`);
  return stdout.toString();
}

const AWKWARD_NAMES = [
  "plain",
  "with space",
  "it's",
  'dou"ble',
  "-rf",
  "--",
  "new\nline",
  "end\n",
  "tab\t",
  "$HOME",
  "*",
  "a\\b",
  "ümläut",
  "~",
  " lead",
];

await eachPlace((place) => {
  let opened: Opened;
  let dir: string;
  let files: FileAccess;
  beforeAll(async () => {
    opened = await openPlace(place);
    dir = (await sh(opened.transport, "cd /tmp && mktemp -d /tmp/buddy-files-XXXXXX")).trim();
    files = fileAccess(opened.transport, { cwd: () => dir });
  });
  afterAll(async () => {
    await sh(opened.transport, 'rm -rf "$1"', dir);
    await opened[Symbol.asyncDispose]();
  });

  test.each(AWKWARD_NAMES)("name %j", async (name) => {
    const path = `${dir}/names/${name}`;
    expect(await files.write(path, `in ${name}`)).toEqual({ bytes: Buffer.byteLength(`in ${name}`), created: true });
    expect((await files.read(path)).text).toBe(`in ${name}`);
    expect(await files.resolve(path)).toMatchObject({ path, exists: true, kind: "file" });
    expect(await sh(opened.transport, 'cat "$1"', path)).toBe(`in ${name}`);
  });

  test("relative paths start where the shell is; ~ is home", async () => {
    await files.write("rel/-dash", "x");
    expect((await files.resolve("rel/../rel/./-dash")).path).toBe(`${dir}/rel/-dash`);
    const { home } = opened.transport.facts;
    expect((await files.resolve("~")).path).toBe((await files.resolve(home)).path);
    expect((await files.resolve("~/x/y")).path).toBe(`${(await files.resolve(home)).path.replace(/\/$/, "")}/x/y`);
    expect((await files.resolve("~root")).path).toBe("/root");
    expect((await files.resolve("~nobody-there/x")).path).toBe(`${dir}/~nobody-there/x`);
    expect((await files.resolve("/")).path).toBe("/");
    expect((await files.resolve("//etc//passwd/")).path).toBe("/etc/passwd");
    expect(await files.resolve("not/../there/yet")).toMatchObject({
      path: `${dir}/there/yet`,
      exists: false,
      kind: "missing",
    });
  });

  test("nothing is created again under the old name of a directory that was renamed under the shell", async () => {
    const moved = fileAccess(opened.transport, { cwd: () => `${dir}/before` });
    await expect(moved.write("new", "x")).rejects.toThrow(buddyError("target", "new", GONE));
    await expect(moved.read("new")).rejects.toThrow(buddyError("target", "new", GONE));
    expect((await files.resolve("before")).exists).toBe(false);
    expect(await moved.write(`${dir}/before/new`, "x")).toMatchObject({ created: true });
    await sh(opened.transport, 'rm -r "$1/before"', dir);
  });

  test("links are followed there: directories, dangling ends, parents, loops", async () => {
    await sh(
      opened.transport,
      'cd "$1" && mkdir -p real/deep && ln -s real/deep dirlink && ln -s ../real filelinkdir && ln -s real/new dangling && ln -s "$1/real/$2" odd && ln -s loop2 loop1 && ln -s loop1 loop2 && ln -s /dev/null device',
      dir,
      "odd -> name\n",
    );
    expect((await files.resolve("dirlink/../x")).path).toBe(`${dir}/real/x`);
    expect(await files.resolve("dangling")).toMatchObject({ path: `${dir}/real/new`, kind: "missing", exists: false });
    expect((await files.resolve("odd")).path).toBe(`${dir}/real/odd -> name\n`);
    expect((await files.resolve("dirlink/under/neath")).path).toBe(`${dir}/real/deep/under/neath`);
    expect((await files.resolve("device")).kind).toBe("other");
    expect((await files.resolve("dirlink")).kind).toBe("directory");
    await expect(files.resolve("loop1")).rejects.toThrow(buddyError("target", LINKS));
    expect((await files.resolve("/proc/self/root/etc/passwd")).path).toBe("/etc/passwd");
    await expect(files.read("dangling")).rejects.toThrow(buddyError("target", DANGLING));
    await files.write("dangling", "through");
    expect(await sh(opened.transport, 'cat "$1/real/new"; [ -L "$1/dangling" ] && echo still', dir)).toBe(
      "throughstill\n",
    );
    await files.write("dangling", "again");
    expect(await sh(opened.transport, 'cat "$1/real/new"; [ -L "$1/dangling" ] && echo still', dir)).toBe(
      "againstill\n",
    );
  });

  test("a path that leads elsewhere than when it was judged is not written", async () => {
    await sh(opened.transport, 'cd "$1" && mkdir judged && ln -s judged swap', dir);
    const { path } = await files.resolve("swap/file");
    await files.write("swap/file", "fine", { onlyAt: path });
    await sh(opened.transport, 'cd "$1" && rm swap && mkdir other && ln -s other swap', dir);
    await expect(files.write("swap/file", "bad", { onlyAt: path })).rejects.toThrow(buddyError("target", ELSEWHERE));
    expect(await sh(opened.transport, 'cat "$1/judged/file"; ls "$1/other"', dir)).toBe("fine");
  });

  test("a place where case does not count is reported", async () => {
    await sh(opened.transport, 'cd "$1" && echo x >folds && ln folds folDs && echo x >tells', dir);
    expect((await files.resolve("folds")).caseInsensitive).toBe(true);
    expect((await files.resolve("tells")).caseInsensitive).toBe(false);
    expect((await files.resolve("tells/123/45")).caseInsensitive).toBe(false);
  });

  test("lines, and how many are left: small and large files alike", async () => {
    const small = "one\ntwo\nthree";
    const large = Array.from({ length: 20_000 }, (_, at) => `line ${at + 1}\n`).join("");
    await files.write("small", small);
    await files.write("large", large);
    expect(await files.read("small")).toMatchObject({
      text: small,
      lines: 3,
      linesLeft: 0,
      sizeBytes: 13,
      binary: false,
      encoding: "utf-8",
    });
    expect(await files.read("small", { offset: 2, limit: 1 })).toMatchObject({ text: "two\n", lines: 1, linesLeft: 1 });
    expect(await files.read("small", { offset: 3 })).toMatchObject({ text: "three", lines: 1, linesLeft: 0 });
    expect(await files.read("small", { offset: 9 })).toMatchObject({ text: "", lines: 0, linesLeft: 0 });
    expect(await files.read("small", { limit: 0 })).toMatchObject({ text: "", lines: 0, linesLeft: 3 });
    expect(await files.read("large", { offset: 19_999 })).toMatchObject({
      text: "line 19999\nline 20000\n",
      lines: 2,
      linesLeft: 0,
    });
    expect(await files.read("large", { offset: 100, limit: 2 })).toMatchObject({
      text: "line 100\nline 101\n",
      lines: 2,
      linesLeft: 19_899,
    });
    expect((await files.read("large")).text).toBe(large);
    expect(await files.read("large", { maxBytes: 20 })).toMatchObject({
      text: "line 1\nline 2\n",
      lines: 2,
      linesLeft: 19_998,
    });
    expect(await files.read("small", { maxBytes: 9 })).toMatchObject({ text: "one\ntwo\n", lines: 2, linesLeft: 1 });
    await files.write("small", "");
    expect(await files.read("small")).toMatchObject({ text: "", lines: 0, linesLeft: 0, sizeBytes: 0, binary: false });
    expect((await files.read("/proc/self/status")).text).toContain("Name:");
  });

  test("one very long line is cut between characters", async () => {
    await files.write("wide", "ä".repeat(50_000));
    const slice = await files.read("wide", { maxBytes: 1001 });
    expect(slice).toMatchObject({ text: "ä".repeat(500), cutLine: true, encoding: "utf-8", lines: 1 });
  });

  test("binary files are not text", async () => {
    await files.write("binary", Buffer.from([1, 2, 0, 3]));
    await files.write("late", Buffer.concat([Buffer.alloc(100_000, "x\n"), Buffer.from([0]), Buffer.alloc(10, "y")]));
    expect(await files.read("binary")).toMatchObject({ binary: true, text: "", sizeBytes: 4 });
    expect((await files.read("late")).binary).toBe(true);
    expect((await files.read("late", { limit: 10 })).binary).toBe(false);
    expect((await files.read("/bin/sh")).binary).toBe(true);
  });

  test("text in other encodings can be read, and its bytes come with it", async () => {
    const bytes = Buffer.from("caf\xe9\r\n", "latin1");
    await files.write("latin1", bytes);
    const slice = await files.read("latin1");
    expect(slice).toMatchObject({ binary: false, encoding: "latin1", text: "café\r\n", lineEnds: "crlf" });
    expect(Buffer.from(slice.bytes)).toEqual(bytes);
  });

  test.each([5, 20_000, 200_000])("hard links stay together when the new text has %d bytes", async (size) => {
    await sh(opened.transport, 'cd "$1" && rm -f one two && yes old | head -c 20000 >one && ln one two', dir);
    const text = "n".repeat(size);
    await files.write("one", text);
    expect((await files.read("two")).text).toBe(text);
    expect((await files.read("one")).access.links).toBe(2);
    expect(await sh(opened.transport, 'ls -A "$1" | grep buddy || true', dir)).toBe("");
  });

  test("ten megabytes there and back, bytes unchanged", async () => {
    const bytes = Buffer.alloc(10_000_000);
    for (let at = 0; at < bytes.length; at++) bytes[at] = at % 97 === 0 ? 10 : 33 + (at % 90);
    expect(await files.write("big", bytes)).toEqual({ bytes: bytes.length, created: true });
    expect(Buffer.from((await files.read("big")).text).equals(bytes)).toBe(true);
  });

  test.each(["644", "600", "755", "4755", "2755", "1644", "000", "777", "2711"])("mode %s is kept", async (mode) => {
    const path = `${dir}/mode-${mode}`;
    await sh(opened.transport, 'echo old >"$1"; chown 1000:1000 "$1" 2>/dev/null; chmod "$2" "$1"', path, mode);
    const look = 'set -- $(ls -ldn "$1"); echo "$1 $3 $4"';
    const before = await sh(opened.transport, look, path);
    expect(await files.write(path, "new\n")).toEqual({ bytes: 4, created: false });
    expect(await sh(opened.transport, look, path)).toBe(before);
    expect(await sh(opened.transport, 'chmod u+r "$1"; cat "$1"', path)).toBe("new\n");
  });

  test("the umask counts for new files, and nothing else is left in the directory", async () => {
    await files.write("fresh/a/b", "x");
    const mode = (name: string) => sh(opened.transport, `ls -ld "$1/${name}" | cut -c1-10`, dir);
    expect(await sh(opened.transport, 'true >"$1/by-a-shell"; ls -A "$1/fresh/a"', dir)).toBe("b\n");
    expect(await mode("fresh/a/b")).toBe(await mode("by-a-shell"));
  });

  test("what cannot be is explained", async () => {
    await expect(files.read(dir)).rejects.toThrow(buddyError("target", dir, DIRECTORY));
    await expect(files.write(dir, "x")).rejects.toThrow(buddyError("target", dir, DIRECTORY));
    await expect(files.write(`${dir}/newdir/`, "x")).rejects.toThrow(buddyError("target", DIRECTORY));
    await expect(files.read("nothing-here")).rejects.toThrow(buddyError("target", "nothing-here", MISSING));
    await expect(files.read("/etc/passwd/x")).rejects.toThrow(buddyError("target", "/etc/passwd/x", NOT_DIRECTORY));
    await expect(files.write("/etc/passwd/x", "y")).rejects.toThrow(
      buddyError("target", "/etc/passwd/x", NOT_DIRECTORY),
    );
    await expect(files.write("/etc/passwd/x/y", "y")).rejects.toThrow(
      buddyError("target", "/etc/passwd/x", NOT_DIRECTORY),
    );
    await expect(files.write("/dev/null", "x")).rejects.toThrow(buddyError("target", SPECIAL));
    await expect(files.read("/dev/zero")).rejects.toThrow(buddyError("target", SPECIAL));
    await expect(files.write(`made/for/${"x".repeat(300)}`, "x")).rejects.toThrow("too long");
    expect((await files.resolve("made")).exists).toBe(false);
    await expect(files.write("/proc/nothing", "x")).rejects.toThrow(buddyError("target", "/proc/nothing"));
    await expect(files.read("")).rejects.toThrow("empty");
    await expect(files.read("a\0b")).rejects.toThrow("NUL");
    await opened.transport.run("true");
  });

  test("files of the kernel: their text, or a sentence that is not a tool's", async () => {
    if (!opened.transport.facts.os.includes("Linux")) return;
    expect((await files.read("/proc/version")).text).toStartWith("Linux version");
    expect((await files.read("/proc/self/status")).text).toContain("Threads:");
    await sh(opened.transport, 'ln -s /proc/version "$1"', `${dir}/to-version`);
    const attempts = [
      files.read("/proc/self/mem"),
      files.read("/sys/class/net/lo/speed"),
      files.write("/proc/version", "x"),
      files.write(`${dir}/to-version`, "x"),
      files.write("/sys/class/net/lo/address", "x"),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result.status).toBe("rejected");
      expect(String("reason" in result && result.reason.message)).not.toMatch(/\b(?:cat|tail|head|dd|sh|wc): /);
    }
  });

  test("reads and writes at once do not mix", async () => {
    const texts = Array.from({ length: 20 }, (_, at) => `${at} `.repeat(1000 * (at + 1)));
    await Promise.all(texts.map((text, at) => files.write(`many/${at}`, text)));
    const back = await Promise.all(texts.map(async (_, at) => (await files.read(`many/${at}`)).text));
    expect(back).toEqual(texts);
  });
});

asRoot.describe("what an ordinary user may not write, where cp does not say that owners are not kept", () => {
  test.each([
    ["in one's own directory", "chown 65534 .", "conf", "-rw-r--r--"],
    ["in a directory for all", "chmod 1777 .", "conf", "-rw-r--r--"],
    ["in a closed directory", "chmod 755 .; mkdir -m 700 in; mv conf in", "in/conf", "drwx------"],
    ["in a new directory", "chmod 755 .", "new/conf", "drwxr-xr-x"],
  ])("%s is named with owner and mode", (_, prepare, name, mode) => {
    const dir = mkdtempSync(join(tmpdir(), "buddy-denied-"));
    const run = (argv: string[], stdin = "x") => {
      const { exitCode, stdout } = Bun.spawnSync(argv, { cwd: dir, stdin: Buffer.from(stdin), stderr: "ignore" });
      return [exitCode, stdout.toString().split(/\s+/).slice(0, 4)];
    };
    try {
      run(["sh", "-c", `echo kept >conf; ${prepare}`]);
      const user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
      const [code, words] = run([...user, "sh", "-c", WRITE, "sh", `${dir}/${name}`, dir, "1", ".buddy-x", ""]);
      expect([code, words]).toEqual([13, [mode, expect.stringMatching(/^\d+$/), "root", "root"]]);
      expect(run(["sh", "-c", "cat conf in/conf; ls -A . in | grep [.]buddy"])[1]).toEqual(["kept", ""]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

container.describe("as an ordinary user in a container", () => {
  let opened: Opened;
  let files: FileAccess;
  beforeAll(async () => {
    const run = [
      "--user",
      "1000:1000",
      "--tmpfs",
      "/small:size=64k,mode=1777",
      "--tmpfs",
      "/ro:ro",
      "--tmpfs",
      "/home:mode=1777",
    ];
    opened = await openPlace("container", {}, { run });
    files = fileAccess(opened.transport, { cwd: () => "/tmp" });
    const asRoot = (script: string) =>
      opened.container?.engine("exec", "--user", "0", opened.container.name, "sh", "-c", script);
    await asRoot(
      "echo secret >/tmp/secret; chmod 600 /tmp/secret; echo shared >/tmp/shared; chmod 666 /tmp/shared; mkdir /tmp/closed; echo old >/tmp/closed/open; chmod 666 /tmp/closed/open; mkdir -m 700 /tmp/private",
    );
  });
  afterAll(async () => await opened[Symbol.asyncDispose]());

  test("permission denied is reported as such", async () => {
    await expect(files.read("/tmp/secret")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.write("/tmp/secret", "x")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.write("/etc/new", "x")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.write("/etc/a/b/c", "x")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.read("/tmp/private/x")).rejects.toBeInstanceOf(PermissionDenied);
    await sh(opened.transport, "ln -sf /tmp/secret /home/mine-to-it");
    await expect(files.read("/home/mine-to-it")).rejects.toThrow(/root:\w+ \(mode -rw-------\)/);
    await opened.transport.run("true");
  });

  test("a file of root in one's own directory is named as that, with owner and mode", async () => {
    await sh(opened.transport, "mkdir -p /home/own");
    await opened.container?.engine(
      "exec",
      "--user",
      "0",
      opened.container.name,
      "sh",
      "-c",
      "echo kept >/home/own/conf",
    );
    const failed = await files.write("/home/own/conf", "x").catch((error: unknown) => error as BuddyError);
    expect(failed).toBeInstanceOf(PermissionDenied);
    expect((failed as BuddyError).message).toMatch(/root:\w+ \(mode -rw-r--r--\)/);
    expect((failed as BuddyError).hint).toContain("sudo");
    expect(await sh(opened.transport, "cat /home/own/conf; ls -A /home/own")).toBe("kept\nconf\n");
  });

  test("a file below a directory that may not be entered is not called missing", async () => {
    await expect(files.read("/tmp/private/deep/er/x")).rejects.toBeInstanceOf(PermissionDenied);
    await sh(
      opened.transport,
      "cd /home && ln -sf /tmp/private/x into && ln -sfn /tmp/private/deep dir && ln -sf me me",
    );
    await expect(files.read("/home/into")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.read("/home/dir/x")).rejects.toBeInstanceOf(PermissionDenied);
    await expect(files.read("/home/me")).rejects.toThrow(buddyError("target", "/home/me", LINKS));
  });

  test("one's own file that is read-only in a read-only directory: its owner can change that, without sudo", async () => {
    await sh(opened.transport, "mkdir /home/mine && cd /home/mine && echo old >conf && chmod 444 conf && chmod 555 .");
    const failed = await files.write("/home/mine/conf", "x").catch((error: unknown) => error as BuddyError);
    expect((failed as BuddyError).message).toContain("(mode -r--r--r--)");
    expect((failed as BuddyError).hint).toContain("chmod u+rw");
  });

  test("set-id bits stay where a file has to be written in place", async () => {
    await sh(opened.transport, "cd /home && echo old >setid && ln setid other && chmod 4755 setid");
    await files.write("/home/setid", "new\n");
    expect(await sh(opened.transport, "cat /home/other; ls -l /home/setid | cut -c1-10")).toBe("new\n-rwsr-xr-x\n");
  });

  test("a write in place on a nearly full disk changes nothing", async () => {
    await sh(opened.transport, "cd /small && rm -f * && yes old | head -c 20000 >file && ln file link");
    const failed = files.write("/small/file", Buffer.alloc(36_000, "x"));
    await expect(failed).rejects.toMatchObject(DISK_FULL);
    expect((await files.read("/small/file")).text).toBe("old\n".repeat(5000));
    expect(await sh(opened.transport, "ls -A /small /tmp | grep [.]buddy- || true")).toBe("");
    await sh(opened.transport, "rm -f /small/*");
  });

  test("a write in place that fits on a nearly full disk is whole", async () => {
    await sh(opened.transport, "cd /small && rm -f * && yes old | head -c 30000 >file && ln file link");
    await files.write("/small/file", Buffer.alloc(31_000, "x"));
    expect((await files.read("/small/link")).text).toBe("x".repeat(31_000));
    await sh(opened.transport, "rm -f /small/*");
  });

  test("another user's file keeps its owner", async () => {
    await files.write("/tmp/shared", "ours\n");
    expect(await sh(opened.transport, "cat /tmp/shared; ls -ln /tmp/shared | tr -s ' ' | cut -d' ' -f1,3,4")).toBe(
      "ours\n-rw-rw-rw- 0 0\n",
    );
  });

  test("a writable file in a closed directory can be written", async () => {
    await files.write("/tmp/closed/open", "new\n");
    expect((await files.read("/tmp/closed/open")).text).toBe("new\n");
  });

  test("a mount over a single file can be written, and a read-only one is named", async () => {
    const run = ["-v", "/dev/null:/etc/nothing", "-v", `${import.meta.path}:/etc/locked:ro`];
    await using mounted = await openPlace("container", {}, { run });
    const here = fileAccess(mounted.transport, { cwd: () => "/" });
    const hosts = (await here.read("/etc/hosts")).text;
    await here.write("/etc/hosts", `${hosts}127.0.0.9 buddy\n`);
    expect((await here.read("/etc/hosts")).text).toBe(`${hosts}127.0.0.9 buddy\n`);
    await expect(here.write("/etc/locked", "x")).rejects.toThrow(buddyError("target", "/etc/locked", "read-only"));
  });

  test("a full disk leaves the old file and no rest", async () => {
    await files.write("/small/file", "old\n");
    const failed = files.write("/small/file", Buffer.alloc(200_000, "x"));
    await expect(failed).rejects.toMatchObject(DISK_FULL);
    await failed.catch(() => {});
    expect(await sh(opened.transport, "cat /small/file; ls -A /small")).toBe("old\nfile\n");
    expect((await opened.transport.run("echo in step")).stdout.toString()).toBe("in step\n");
  });

  test("a read-only file system is named", async () => {
    await expect(files.write("/ro/file", "x")).rejects.toThrow("read-only");
    await opened.transport.run("true");
  });
});

/** Why, by the exit codes of the scripts. */
const [ELSEWHERE, LINKS, NOT_DIRECTORY, DIRECTORY, SPECIAL, DANGLING, MISSING, GONE] = [
  3, 4, 20, 21, 22, 41, 42, 43,
].map((code) => CODES[code]!) as [string, string, string, string, string, string, string, string];
const DISK_FULL = {
  code: "target",
  message: expect.stringContaining("/small/file"),
  hint: expect.stringContaining("df -h"),
};

describe("on this machine", () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-attributes-")));
  const transport = new LocalTransport({ cwd: dir });
  const files = fileAccess(transport, { cwd: () => dir });
  afterAll(async () => {
    await transport[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  attributes.test("extended attributes are kept", async () => {
    await sh(transport, "echo old >noted && setfattr -n user.note -v kept noted");
    await files.write("noted", "new");
    expect(await sh(transport, "cat noted; getfattr --only-values -n user.note noted")).toBe("newkept");
  });

  lists.test("an access control list is kept", async () => {
    await sh(transport, "echo old >listed && setfacl -m u:daemon:rw listed");
    await files.write("listed", "new");
    expect(await sh(transport, "cat listed; getfacl -cp listed | grep daemon")).toBe("newuser:daemon:rw-\n");
  });

  asRoot.test.each([
    ["i", "immutable"],
    ["a", "append-only"],
  ])("chattr +%s: the file is left alone and called %s", async (flag, name) => {
    await sh(transport, `echo old >locked && chattr +${flag} locked`);
    try {
      await expect(files.write("locked", "much longer than before")).rejects.toThrow(name);
    } finally {
      await sh(transport, `chattr -${flag} locked`);
    }
    expect(await sh(transport, "cat locked; ls -A | grep buddy- || true")).toBe("old\n");
  });

  asRoot.test(
    "an append-only directory: files are changed in place, none is made, and nothing stays behind",
    async () => {
      await sh(transport, "mkdir log && echo old >log/file && chattr +a log");
      try {
        await files.write("log/file", "new\n");
        await expect(files.write("log/more", "x")).rejects.toThrow(buddyError("target", "log/more", "append-only"));
        expect(await sh(transport, "cat log/file; ls -A log")).toBe("new\nfile\n");
      } finally {
        await sh(transport, "chattr -a log");
      }
    },
  );

  test("what stands behind a file that cannot be rewritten is put back, or named", async () => {
    await sh(transport, "yes old | head -c 9000 >file && ln file link && mkdir bin");
    // A dd that fails after the first bytes, as a disk would that breaks.
    writeFileSync(
      join(dir, "bin/dd"),
      '#!/bin/sh\ncase $* in *.old*|*/dev/null*) exec /bin/dd "$@" ;; *notrunc*) /bin/dd "$@" count=1 bs=100; echo "dd: I/O error" >&2; exit 1 ;; esac\n',
      { mode: 0o755 },
    );
    const before = process.env["PATH"];
    process.env["PATH"] = `${dir}/bin:${before}`;
    await using broken = new LocalTransport({ cwd: dir });
    const failed = await fileAccess(broken, { cwd: () => dir })
      .write("file", "x".repeat(8000))
      .catch((error: unknown) => error as BuddyError);
    process.env["PATH"] = before;
    expect(failed).toEqual(buddyError("target", "file"));
    expect(readFileSync(join(dir, "link"), "utf8")).toBe("old\n".repeat(2250));
  });
});

ssh.test("a connection that dies in the middle of a write leaves the old file and no rest", async () => {
  using server = await useSshd();
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-cut-")));
  await using proxy = await proxyTo(server.port, { delayMs: 5 });
  const transport = await SshTransport.open({
    destination: `127.0.0.1:${proxy.port}`,
    interactive: false,
  });
  const files = fileAccess(transport, { cwd: () => dir });
  writeFileSync(join(dir, "file"), "old");
  const stop = new AbortController();
  const writing = files.write("file", Buffer.alloc(60_000_000, "new "), { signal: stop.signal });
  const rest = () => readdirSync(dir).find((name) => name.startsWith(".buddy-"));
  await until(() => statSync(join(dir, rest() ?? "none yet")).size > 100_000, "part of it has arrived", { everyMs: 1 });
  proxy.refuse(true);
  proxy.cut();
  await until(() => rest() === undefined, "the unfinished file is removed there");
  stop.abort(new Error("enough"));
  await expect(writing).rejects.toThrow("enough");
  await writing.catch(() => {});
  expect(readFileSync(join(dir, "file"), "utf8")).toBe("old");

  proxy.refuse(false);
  mkdirSync(join(dir, "sub"));
  expect(await files.write("sub/later", "fine")).toEqual({ bytes: 4, created: true });
  await transport[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});
