/** What a release is made of, with a small program in the place of the binary: archives, packages, formula, notes. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dependencies, version } from "../../package.json";
import { type BuildTarget, hostTarget, TARGETS } from "../../scripts/build.ts";
import { archives, contents, formula, installText, releaseNotes } from "../../scripts/release.ts";
import { releaseAddress } from "../../scripts/release/address.ts";
import { file, sha256, tar } from "../../scripts/release/archives.ts";
import { linuxPackages } from "../../scripts/release/linux-packages.ts";
import { thirdPartyNotices } from "../../scripts/release/notices.ts";
import { mainPackage, npmName, platformPackage } from "../../scripts/release/npm-packages.ts";
import { needs } from "../support/needs.ts";
import { Pty } from "../support/pty.ts";

setDefaultTimeout(60_000);

const PROGRAM = Buffer.from(`#!/bin/sh
[ "$1" = fail ] && exit 7
[ "$1" = count ] && exec node -e '
  let n = 0;
  process.on("SIGINT", () => console.log("INT " + ++n)).on("SIGTERM", () => process.exit(console.log("ended after " + n)));
  setInterval(() => {}, 1000);
  console.log("ready");'
echo "buddy ${version}"
`);
const PARTS = contents(PROGRAM);
const FACTS = { version, homepage: "https://example.com/buddy", mtime: 1_700_000_000 };
const FAST = { gzip: 1, zstd: 1 } as const;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "buddy-packages-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function run(command: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: options.cwd ?? directory,
    env: { PATH: process.env["PATH"] ?? "", HOME: directory, ...options.env },
    stderr: "pipe",
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

function write(name: string, data: Uint8Array): string {
  writeFileSync(join(directory, name), data);
  return join(directory, name);
}

/** The packages of a target, by the ends of their names. */
function packageOf(target: BuildTarget, end: string): string {
  const [found] = [...linuxPackages(target, PARTS, FACTS)].filter(([name]) => name.endsWith(end));
  return write(found?.[0] ?? "none", found?.[1] ?? Buffer.alloc(0));
}

const zstd = await needs("zstd");

describe("an archive", () => {
  zstd.test("holds the binary 0755, the man page, the completions and the licences", () => {
    for (const [name, data] of archives("linux-x64", PARTS, FACTS, FAST)) {
      const listed = run(["tar", name.endsWith("zst") ? "--zstd" : "-z", "-tvf", write(name, data)]).out;
      expect(listed).toMatch(new RegExp(`^-rwxr-xr-x root/root .* buddy-${version}-linux-x64/buddy$`, "m"));
      for (const path of ["LICENSE", "THIRD-PARTY-NOTICES", "buddy.1", "completions/_buddy", "completions/buddy.bash"])
        expect(listed).toMatch(new RegExp(`^-rw-r--r-- .*/${path.replace(".", "\\.")}$`, "m"));
    }
  });

  test("made twice is the same to the byte", () => {
    const sums = () => archives("linux-x64", PARTS, FACTS, FAST).map(([name, data]) => [name, sha256(data)]);
    expect(sums()).toEqual(sums());
  });

  test("keeps names of more than 100 characters, and refuses what no reader could read", () => {
    const long = `${"d".repeat(60)}/${"e".repeat(60)}/f`;
    const path = write("long.tar", tar([file(long, "x")], 0));
    expect(run(["tar", "-tf", path]).out).toContain(long);
    expect(() => tar([file("n".repeat(300), "x")], 0)).toThrow("too long");
  });
});

const dpkg = await needs("dpkg");
dpkg.describe("the Debian package", () => {
  test("is one for dpkg, with the files in their places", () => {
    const path = packageOf("linux-x64", ".deb");
    const { out } = run(["dpkg-deb", "--field", path]);
    expect(out).toContain(`Version: ${version}\nArchitecture: amd64\n`);
    const root = join(directory, "deb");
    expect(run(["dpkg-deb", "-x", path, root])).toMatchObject({ code: 0, err: "" });
    expect(run([join(root, "usr/bin/buddy"), "--version"]).out).toBe(`buddy ${version}\n`);
    expect(existsSync(join(root, "usr/share/man/man1/buddy.1.gz"))).toBe(true);
    expect(run(["dpkg-deb", "-e", path, join(directory, "control")]).code).toBe(0);
    expect(run(["md5sum", "--quiet", "-c", join(directory, "control/md5sums")], { cwd: root }).code).toBe(0);
  });

  test("of a candidate sorts before that of the release", () => {
    const [name = ""] = [...linuxPackages("linux-arm64", PARTS, { ...FACTS, version: "1.0.0-rc.1" }).keys()];
    expect(name).toBe("buddy_1.0.0~rc.1_arm64.deb");
    expect(run(["dpkg", "--compare-versions", "1.0.0~rc.1", "lt", "1.0.0"]).code).toBe(0);
  });
});

const rpm = await needs("rpm");
rpm.describe("the rpm package", () => {
  test("has digests that rpm finds right, and the files in their places", () => {
    const path = packageOf("linux-x64", ".rpm");
    const checked = run(["rpm", "-Kv", "--nosignature", path]);
    expect(checked).toMatchObject({ code: 0 });
    expect(checked.out).toMatch(/Payload SHA256 digest: OK/);
    expect(run(["rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE}", path]).out).toBe(
      `buddy ${version} x86_64 MIT`,
    );
    const listed = run(["rpm", "-qplv", path]).out;
    expect(listed).toMatch(/^-rwxr-xr-x .* \/usr\/bin\/buddy$/m);
    // Otherwise it stays when the package is removed.
    expect(listed).toMatch(/^drwxr-xr-x .* \/usr\/share\/doc\/buddy$/m);
  });

  test("has a payload that rpm2cpio reads", () => {
    const path = packageOf("linux-x64", ".rpm");
    const payload = Bun.spawnSync(["rpm2cpio", path]).stdout;
    expect(payload.includes(PROGRAM)).toBe(true);
    expect(payload.toString("latin1")).toContain("./usr/share/zsh/site-functions/_buddy");
  });
});

test("the Alpine package names the hash of its data, and each file its own", () => {
  const path = packageOf("linux-x64-musl", ".apk");
  const bytes = readFileSync(path);
  // Two gzip members: control, then data.
  const second = bytes.indexOf(Buffer.from([0x1f, 0x8b, 0x08]), 3);
  const info = run(["tar", "-xzOf", path, ".PKGINFO"]).out;
  expect(info).toContain("arch = x86_64\n");
  expect(info).toContain(`datahash = ${sha256(bytes.subarray(second))}\n`);
  const root = join(directory, "apk");
  mkdirSync(root);
  expect(run(["tar", "-xzf", path, "-C", root]).code).toBe(0);
  expect(run([join(root, "usr/bin/buddy"), "--version"]).out).toBe(`buddy ${version}\n`);
  const record = `APK-TOOLS.checksum.SHA1=${new Bun.CryptoHasher("sha1").update(PROGRAM).digest("hex")}`;
  expect(Buffer.from(Bun.gunzipSync(bytes.subarray(second))).includes(record)).toBe(true);
});

const npm = await needs("npm");
npm.describe("the npm packages", () => {
  test("npm installs the one that fits, and the launcher runs it", async () => {
    const tarballs = new Map<string, Buffer>();
    const main = npmName(FACTS.homepage);
    const targets = Object.keys(TARGETS) as BuildTarget[];
    for (const target of targets)
      tarballs.set(npmName(FACTS.homepage, `buddy-${target}`), platformPackage(target, PARTS, FACTS)[1]);
    tarballs.set(main, mainPackage(PARTS, FACTS, "# buddy")[1]);
    using registry = serveRegistry(tarballs);
    const home = join(directory, "npm");
    mkdirSync(home);
    const flags = ["--no-audit", "--no-fund", "--ignore-scripts", `--registry=${registry.url}`, `--prefix=${home}`];
    // A child that is waited for in this process would keep the registry from answering.
    const child = Bun.spawn(["npm", "install", "--global", ...flags, main], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, npm_config_cache: join(home, "cache") },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ code, out, err }).toMatchObject({ code: 0 });
    const installed = [...new Bun.Glob("**/bin/buddy").scanSync(join(home, "lib/node_modules"))];
    // npm before 10 does not look at the C library and brings both.
    const old = Number.parseInt(run(["npm", "--version"]).out, 10) < 10;
    const fitting = installed.filter((path) => !old || path.includes(`buddy-${hostTarget()}/`));
    expect(fitting).toEqual([expect.stringContaining(`buddy-${hostTarget()}/bin/buddy`)]);
    expect(installed.every((path) => path.includes(`buddy-${process.platform}-${process.arch}`))).toBe(true);
    const buddy = join(home, "bin/buddy");
    expect(run([buddy, "--version"])).toMatchObject({ code: 0, out: `buddy ${version}\n`, err: "" });
    expect(run([buddy, "fail"])).toMatchObject({ code: 7 });
    // Without npm that looks at the C library both builds are there.
    if (process.platform === "linux") {
      const modules = join(home, "lib/node_modules", main, "node_modules");
      const musl = join(modules, `${main}-linux-${process.arch}-musl/bin/buddy`);
      mkdirSync(dirname(musl), { recursive: true });
      writeFileSync(musl, "#!/bin/sh\necho musl\n", { mode: 0o755 });
      const alpine = `require("node:fs").readdirSync = () => ["ld-musl-x86_64.so.1"];`;
      const env = { NODE_OPTIONS: `--require=${write("alpine.cjs", Buffer.from(alpine))}` };
      expect(run([buddy, "--version"], { env }).out).toBe("musl\n");
      expect(run([buddy, "--version"]).out).toBe(`buddy ${version}\n`);
      rmSync(musl);
    }
    // One Ctrl-C is one: a terminal sends it to the launcher and to what it started.
    await using pty = new Pty([buddy, "count"], { env: { PATH: process.env["PATH"] ?? "" } });
    await pty.until("ready");
    pty.key("ctrl-c");
    await pty.until("INT 1");
    pty.signal("SIGTERM");
    await pty.until("ended after 1");
    // Without it npm publishes no provenance.
    const manifests = [...new Bun.Glob("**/package.json").scanSync(join(home, "lib/node_modules"))];
    for (const path of manifests)
      expect(await Bun.file(join(home, "lib/node_modules", path)).json()).toMatchObject({
        repository: { url: `git+${FACTS.homepage}.git` },
      });
    for (const path of installed) rmSync(join(home, "lib/node_modules", path), { force: true });
    expect(run([buddy]).err).toContain("is not installed");
  });
});

function serveRegistry(tarballs: ReadonlyMap<string, Buffer>): Disposable & { readonly url: string } {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const url = new URL(request.url);
      const name = decodeURIComponent(url.pathname.slice(1)).replace(/\.tgz$/, "");
      const bytes = tarballs.get(name);
      if (bytes === undefined) return new Response("{}", { status: 404 });
      if (url.pathname.endsWith(".tgz")) return new Response(new Uint8Array(bytes));
      const text = Bun.spawnSync(["tar", "-xzOf", "-", "package/package.json"], { stdin: bytes }).stdout.toString();
      const integrity = `sha512-${new Bun.CryptoHasher("sha512").update(bytes).digest("base64")}`;
      const dist = { tarball: `${url.origin}/${name}.tgz`, integrity };
      const manifest = { ...(JSON.parse(text) as object), dist };
      return Response.json({ name, "dist-tags": { latest: version }, versions: { [version]: manifest } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, [Symbol.dispose]: () => void server.stop(true) };
}

const ruby = await needs("ruby");
describe("the Homebrew formula", () => {
  const sums = new Map(
    Object.keys(TARGETS).flatMap((target) =>
      archives(target, PARTS, FACTS, FAST).map(([name, data]) => [name, sha256(data)] as const),
    ),
  );
  const releases = "https://example.com/buddy/releases";

  test("has the version, the sums and the address of these files", () => {
    const text = formula(sums, releases);
    expect(text).not.toContain("@");
    expect(text).toContain(`${releases}/download/v${version}/buddy-${version}-darwin-arm64.tar.gz`);
    expect(() => formula(new Map(), releases)).toThrow(/was not built/);
  });

  ruby.test.each([
    ["linux", "x64"],
    ["linux", "arm64"],
    ["darwin", "x64"],
    ["darwin", "arm64"],
  ])("is unpacked, installed and run as Homebrew does on %s %s", (system, cpu) => {
    const downloads = join(directory, `brew-${system}-${cpu}`);
    mkdirSync(downloads);
    for (const [name, data] of archives(`${system}-${cpu}`, PARTS, FACTS, FAST))
      writeFileSync(join(downloads, name), data);
    const rb = write(`${system}-${cpu}.rb`, Buffer.from(formula(sums, releases)));
    const prefix = join(downloads, "prefix");
    const standIn = join(import.meta.dir, "../support/homebrew.rb");
    expect(run(["ruby", standIn, rb, downloads, prefix, system, cpu])).toMatchObject({ code: 0, out: "ok\n" });
    expect(statSync(join(prefix, "bin/buddy")).mode & 0o111).toBe(0o111);
    for (const path of [
      "share/man/man1/buddy.1",
      "etc/bash_completion.d/buddy",
      "share/zsh/site-functions/_buddy",
      "share/fish/vendor_completions.d/buddy.fish",
    ])
      expect([path, existsSync(join(prefix, path))]).toEqual([path, true]);
  });
});

describe("the notices", () => {
  test("name every package of the product with its licence, and those it brings", () => {
    const text = thirdPartyNotices();
    for (const [name, pinned] of Object.entries(dependencies)) expect(text).toContain(`\n${name}@${pinned}: `);
    expect(text).toMatch(/^domhandler@[\d.]+: BSD-2-Clause$/m);
    expect(text).not.toContain("oxlint");
  });
});

describe("the notes", () => {
  const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-01-01\n\n- first\n";

  test("are those of the version", () => {
    expect(releaseNotes(changelog, "1.0.0")).toBe("- first\n");
  });

  test("of a candidate are those it leads to, or what is unreleased", () => {
    expect(releaseNotes(changelog, "1.0.0-rc.2")).toBe("- first\n");
    expect(releaseNotes(changelog, "2.0.0-rc.1")).toBe("- new\n");
  });

  test("that are missing or empty end the release", () => {
    expect(() => releaseNotes(changelog, "2.0.0")).toThrow(/no notes/);
    expect(() => releaseNotes("## [2.0.0]\n\n## [1.0.0]\n- a\n", "2.0.0")).toThrow(/no notes/);
  });

  test("end with how to install from this very address", () => {
    const text = installText("https://example.com/o/r/releases");
    expect(text).toContain(`releases/download/v${version}/install.sh`);
    // In the registry of npm the plain name belongs to somebody else.
    expect(text).not.toMatch(/npm install --global (?!\.\/)/);
  });
});

test("the address is the repository of package.json, or the one that CI runs in", () => {
  expect(releaseAddress({}).releases).toMatch(/^https:\/\/.*[^.git]\/releases$/);
  expect(releaseAddress({ GITHUB_REPOSITORY: "me/fork" }).releases).toBe("https://github.com/me/fork/releases");
  const other = { GITHUB_REPOSITORY: "me/fork", GITHUB_SERVER_URL: "https://git.example.com" };
  expect(releaseAddress(other).homepage).toBe("https://git.example.com/me/fork");
});
