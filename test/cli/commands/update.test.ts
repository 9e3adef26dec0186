/** `buddy update` on a small program in the place of the binary, with a real server for its releases. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostTarget } from "../../../scripts/build.ts";
import { archives, contents } from "../../../scripts/release.ts";
import { compareVersions, packageOwner, Update, type UpdateOptions } from "../../../src/cli/commands/update/update.ts";
import { buddyBinary } from "../../support/buddy.ts";
import { buddyError } from "../../support/errors.ts";
import { needs } from "../../support/needs.ts";
import { runHere } from "../../support/stdout.ts";

const program = (version: string) => Buffer.from(`#!/bin/sh\necho "buddy ${version}"\n`);
const PARTS = contents(new Uint8Array());
const target = hostTarget();

let files: Map<string, Uint8Array>;
let redirect: ((path: string) => string | undefined) | undefined;
/** Without the length of what is sent. */
let streamed = false;
let server: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const path = new URL(request.url).pathname.slice(1);
      const to = redirect?.(path);
      if (to !== undefined) return Response.redirect(to);
      const bytes = files.get(path);
      if (bytes === undefined) return new Response("", { status: 404 });
      const pull = (stream: ReadableStreamDefaultController) => {
        stream.enqueue(bytes);
        stream.close();
      };
      return new Response(streamed ? new ReadableStream({ pull }) : (bytes as Uint8Array<ArrayBuffer>));
    },
  });
});
afterAll(() => server.stop(true));

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "buddy-update-"));
  mkdirSync(join(home, "bin"));
  redirect = undefined;
  streamed = false;
  put("1.0.0");
  release("1.1.0");
});
afterEach(() => {
  chmodSync(join(home, "bin"), 0o755);
  rmSync(home, { recursive: true, force: true });
});

const executable = () => join(home, "bin/buddy");

function put(version: string): void {
  writeFileSync(executable(), program(version), { mode: 0o755 });
}

function release(version: string, binary = program(version)): void {
  const facts = { version, homepage: "https://example.com", mtime: 0 };
  files = new Map<string, Uint8Array>([
    [`buddy-${target}`, binary],
    ...archives(target, { ...PARTS, binary }, facts, { gzip: 1, zstd: 1 }),
  ]);
  seal();
}

function seal(): void {
  const sum = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  files.delete("SHA256SUMS");
  files.set("SHA256SUMS", Buffer.from([...files].map(([name, data]) => `${sum(data)}  ${name}\n`).join("")));
}

function update(options: Partial<UpdateOptions> = {}): Update {
  return new Update({
    executable: executable(),
    current: "1.0.0",
    env: { BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}`, HOME: home },
    signal: new AbortController().signal,
    say: () => {},
    ...options,
  });
}

const inPlace = () => readFileSync(executable(), "utf8");
const leftovers = () => readdirSync(join(home, "bin")).filter((name) => !["buddy", ".buddy-previous"].includes(name));

describe("buddy update", () => {
  test("replaces the binary by the newest, keeps the old one, and goes back", async () => {
    const found = await update().findRelease();
    expect(found).toMatchObject({ state: "newer", newest: "1.1.0" });
    await update().install(found);
    expect(inPlace()).toContain("1.1.0");
    expect(readFileSync(join(home, "bin/.buddy-previous"), "utf8")).toContain("1.0.0");
    expect(await update().rollback()).toBe("buddy 1.0.0");
    expect(inPlace()).toContain("1.0.0");
    expect(await update().rollback()).toBe("buddy 1.1.0");
    expect(leftovers()).toEqual([]);
  });

  test.each([false, true])("the progress ends with the download, also of unknown length: %p", async (unknown) => {
    streamed = unknown;
    const calls: (readonly [number, number | undefined])[] = [];
    const one = update({ progress: (done, of) => calls.push([done, of]) });
    await one.install(await one.findRelease());
    const [[done, of] = []] = calls.splice(-1);
    expect(done).toBeGreaterThan(0);
    expect(of).toBe(done!);
    expect(calls.some(([, total]) => total === undefined)).toBe(unknown);
    files.set(
      [...files.keys()].find((name) => name.endsWith(".tar.zst"))!,
      new Uint8Array(3),
    );
    await expect(one.install(await one.findRelease("1.1.0"))).rejects.toThrow(buddyError("tool", "checksum"));
    expect(calls.at(-1)?.[0]).toBe(3);
  });

  test("says what is newest, older, the same version of another build", async () => {
    release("1.0.0");
    expect(await update().findRelease()).toMatchObject({ state: "newest" });
    release("0.9.0");
    expect(await update().findRelease()).toMatchObject({ state: "older" });
    release("1.0.0", Buffer.from('#!/bin/sh\n# another build\necho "buddy 1.0.0"\n'));
    expect(await update().findRelease()).toMatchObject({ state: "differs" });
  });

  test("installs an older version when it is asked for, from its directory of the mirror", async () => {
    release("0.9.0");
    files = new Map([...files].map(([name, data]) => [`v0.9.0/${name}`, data]));
    const found = await update().findRelease("0.9.0");
    expect(found.base).toEndWith("/v0.9.0");
    await update().install(found);
    expect(inPlace()).toContain("0.9.0");
    await expect(update().findRelease("7.7.7")).rejects.toThrow(buddyError("tool", "404"));
  });

  test("a mirror that holds another version than asked is refused", async () => {
    await expect(update().findRelease("9.9.9")).rejects.toThrow(buddyError("tool", "1.1.0", "9.9.9"));
  });

  test.each([
    ["the archive was changed on its way", () => files.set(zst(), program("6.6.6"))],
    [
      "the binary in the archive is not the one that the sums name",
      () => {
        const honest = files.get(`buddy-${target}`) as Uint8Array;
        release("1.1.0", program("6.6.6"));
        files.set(`buddy-${target}`, honest);
        seal();
      },
    ],
    ["the new binary says another version", () => release("1.1.0", program("6.6.6"))],
    ["the new binary does not run", () => release("1.1.0", Buffer.from("#!/bin/sh\nexit 3\n"))],
  ])("%s: nothing changes", async (_, spoil) => {
    spoil();
    await expect(update().install(await update().findRelease())).rejects.toThrow(buddyError("tool"));
    expect(inPlace()).toContain("1.0.0");
    expect(existsSync(join(home, "bin/.buddy-previous"))).toBe(false);
    expect(leftovers()).toEqual([]);
  });

  test("brings man page and completions along where install.sh put them, and makes none", async () => {
    mkdirSync(join(home, "share/man/man1"), { recursive: true });
    writeFileSync(join(home, "share/man/man1/buddy.1"), "old");
    await update().install(await update().findRelease());
    expect(readFileSync(join(home, "share/man/man1/buddy.1"), "utf8")).toStartWith(".TH BUDDY");
    expect(existsSync(join(home, "share/bash-completion"))).toBe(false);
  });

  test("two updates at once lost the version to go back to", async () => {
    const [one, other] = [await update().findRelease(), await update().findRelease()];
    await update().install(one);
    await update().install(other);
    expect(inPlace()).toContain("1.1.0");
    expect(await update().rollback()).toBe("buddy 1.0.0");
    expect(leftovers()).toEqual([]);
  });

  test("a file left by a run that was killed stayed for ever", async () => {
    const [old, young] = [".buddy-update.1", ".buddy-install.2"].map((name) => join(home, "bin", name)) as [
      string,
      string,
    ];
    for (const path of [old, young]) writeFileSync(path, "half");
    utimesSync(old, new Date(), new Date(Date.now() - 49 * 3_600_000));
    await update().install(await update().findRelease());
    expect(leftovers()).toEqual([".buddy-install.2"]);
  });

  test("a page in the place of the checksums is not a release without a build for this machine", async () => {
    files.set("SHA256SUMS", Buffer.from("<html>log in</html>\n"));
    await expect(update().findRelease()).rejects.toThrow(buddyError("tool", "SHA256SUMS"));
  });

  test("interrupted, it leaves nothing behind", async () => {
    const found = await update().findRelease();
    const stop = new AbortController();
    const slow = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch() {
        stop.abort(new Error("stopped"));
        return new Promise<Response>(() => {});
      },
    });
    const base = `http://127.0.0.1:${slow.port}`;
    await expect(update({ signal: stop.signal }).install({ ...found, base })).rejects.toThrow("stopped");
    await slow.stop(true);
    expect(inPlace()).toContain("1.0.0");
    expect(leftovers()).toEqual([]);
  });

  test("a version that is not one came onto the screen with its control characters", async () => {
    for (const version of ["\u001b]0;x\u0007", "1.0\u202e", "../1", "abc"]) {
      release(version);
      await expect(update().findRelease()).rejects.toThrow(buddyError("tool", "has no build"));
    }
  });

  test("a damaged archive is an error, and nothing is left: not zstd, sizes below zero", async () => {
    const name = [...files.keys()].find((one) => one.endsWith(".tar.zst")) ?? "";
    const archive = await Bun.zstdDecompress(files.get(name) as Uint8Array<ArrayBuffer>);
    archive.write("-0000001000\0", 124);
    for (const bytes of [Buffer.from("not zstd"), Bun.zstdCompressSync(archive)]) {
      files.set(name, bytes);
      seal();
      const found = await update().findRelease();
      await expect(update().install(found)).rejects.toThrow(buddyError("tool", "damaged"));
      expect(inPlace()).toContain("1.0.0");
      expect(leftovers()).toEqual([]);
    }
  });

  test("a redirect to a file of this machine is not followed", async () => {
    const sums = join(home, "SHA256SUMS");
    writeFileSync(sums, files.get("SHA256SUMS") ?? "");
    redirect = () => `file://${sums}`;
    await expect(update().findRelease()).rejects.toThrow(buddyError("tool", "protocol"));
  });

  test("redirects are followed, and a download that ends early is an error", async () => {
    redirect = (path) => (path.startsWith("new/") ? undefined : `http://127.0.0.1:${server.port}/new/${path}`);
    files = new Map([...files].map(([name, data]) => [`new/${name}`, data]));
    expect(await update().findRelease()).toMatchObject({ newest: "1.1.0" });
    redirect = (path) => `http://127.0.0.1:${server.port}/again/${path}`;
    await expect(update().findRelease()).rejects.toThrow(buddyError("tool", "redirects"));
  });

  test("without an earlier version there is nothing to go back to", async () => {
    await expect(update().rollback()).rejects.toThrow(buddyError("usage"));
  });

  test("a build from a checkout knows no releases, and one that runs from source is not a file to replace", async () => {
    await expect(update({ env: {} }).findRelease()).rejects.toThrow(buddyError("usage", "checkout"));
    expect(await runHere("update", "--check")).toMatchObject({ code: 2 });
    expect(await runHere("update", "--check", "--rollback")).toMatchObject({ code: 2 });
    expect(await runHere("update", "--json")).toMatchObject({ code: 2 });
  });

  test("the compiled binary looks at a release and leaves itself alone with --check", async () => {
    const child = Bun.spawn([await buddyBinary(), "update", "--check", "--json"], {
      cwd: home,
      env: { HOME: home, PATH: process.env["PATH"] ?? "", BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}` },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ newest: "1.1.0", update: true });
  });
});

const zst = () => `buddy-1.1.0-${target}.tar.zst`;

const user = await needs("linux");
user.test("a directory that cannot be written is named before anything is downloaded", async () => {
  const found = await update().findRelease();
  files.clear();
  const nowhere = update({ executable: "/proc/self/buddy" });
  await expect(nowhere.install(found)).rejects.toThrow(buddyError("tool", "/proc/self"));
});

const mounts = await needs("chroot");
mounts.test.each([
  ["a full disk", "size=8k", "", "the disk is full", "150 MB"],
  ["a read-only file system", "", "mount -o remount,ro $0", "the file system is read-only", undefined],
])("%s is named, and nothing is left behind", async (_, options, then, why, hint) => {
  release("1.1.0", Buffer.concat([program("1.1.0"), Buffer.alloc(1 << 20, "#")]));
  const place = join(home, "mounted");
  mkdirSync(place);
  const script = join(home, "update.ts");
  writeFileSync(
    script,
    `import { Update } from ${JSON.stringify(join(import.meta.dir, "../../../src/cli/commands/update/update.ts"))};
    const update = new Update({ executable: "${place}/buddy", current: "1.0.0", env: process.env,
      signal: new AbortController().signal, say: () => {} });
    await update.install(await update.findRelease()).catch(({ message, hint }) => console.log(JSON.stringify({ message, hint })));
    console.log(JSON.stringify((await import("node:fs")).readdirSync("${place}")));`,
  );
  const setup = `mount -t tmpfs -o ${options || "size=8m"} none $0 && cp "$1" $0/buddy && ${then || ":"} && exec "$2" "$3"`;
  const child = Bun.spawn(["unshare", "--mount", "sh", "-c", setup, place, executable(), process.execPath, script], {
    env: { ...process.env, BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}`, HOME: home },
    stdout: "pipe",
    stderr: "inherit",
  });
  const [said, left] = (await child.stdout.text()).trim().split("\n");
  expect(JSON.parse(said ?? "")).toEqual({
    message: `cannot write to ${place}: ${why}; nothing was changed`,
    ...(hint === undefined ? {} : { hint: expect.stringContaining(hint) }),
  });
  expect(JSON.parse(left ?? "")).toEqual(["buddy"]);
});

describe("what a package manager owns is its to replace", () => {
  test.each([
    ["/opt/homebrew/Cellar/buddy/1.0.0/bin/buddy", "Homebrew"],
    ["/home/linuxbrew/.linuxbrew/Cellar/buddy/1.0.0/bin/buddy", "Homebrew"],
    ["/usr/lib/node_modules/buddy/node_modules/buddy-linux-x64/bin/buddy", "npm"],
    ["/nix/store/abc-buddy/bin/buddy", "Nix"],
  ])("%s: %s", async (path, manager) => {
    expect(packageOwner(path)?.manager).toBe(manager);
    await expect(update({ executable: path }).findRelease()).rejects.toThrow(buddyError("usage", path, manager));
  });

  test("a file of one's own belongs to none, and to ask leaves nothing in the home", async () => {
    expect(packageOwner(executable())).toBeUndefined();
    const child = Bun.spawn([await buddyBinary(), "update", "--check"], {
      env: { HOME: home, PATH: process.env["PATH"] ?? "", BUDDY_INSTALL_BASE_URL: `http://127.0.0.1:${server.port}` },
      stdout: "ignore",
    });
    expect(await child.exited).toBe(0);
    expect(readdirSync(home)).toEqual(["bin"]);
  });

  test("going back is refused, too", async () => {
    const packaged = update({ executable: "/usr/lib/node_modules/buddy/bin/buddy" });
    await expect(packaged.rollback()).rejects.toThrow(buddyError("usage", "npm"));
  });
});

const debian = await needs("linux", "dpkg");
debian.test("a file of dpkg is found in its database", () => {
  const known = Bun.spawnSync(["dpkg", "-S", "/usr/bin/dpkg"]).exitCode === 0;
  expect(packageOwner("/usr/bin/dpkg")?.manager).toBe(known ? "dpkg" : undefined);
});

test.each([
  ["1.2.0", "1.1.9", 1],
  ["1.10.0", "1.9.0", 1],
  ["1.0.0-rc.1", "1.0.0", -1],
  ["1.0.0-rc.10", "1.0.0-rc.9", 1],
  ["1.0.0", "1.0.0", 0],
])("%s against %s: %d", (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});
