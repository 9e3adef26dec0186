/**
 * Finds a release, checks it and replaces the binary with it: the sum of the archive, the sum of the binary, the
 * version it reports, then one rename. The old binary is kept for a rollback.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { BuddyError } from "../../../lib/errors.ts";
import { fileError } from "../../../lib/files.ts";
import { askProgram, lookUpEnv } from "../../../lib/start-child.ts";
import { printable } from "../../../lib/text.ts";
import { sha256 } from "../../../lib/values.ts";
import { RELEASES } from "../../../lib/version.ts";
import { download } from "./download.ts";

export interface UpdateOptions {
  /** The file to replace. */
  readonly executable: string;
  readonly current: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly progress?: (done: number, of: number | undefined) => void;
}

interface FoundRelease {
  readonly state: "newest" | "newer" | "older" | "differs";
  readonly newest: string;
  readonly words: string;
  readonly base: string;
  /** Name of the archive without its ending. */
  readonly archive: string;
  readonly sums: ReadonlyMap<string, string>;
  /** Of the binary itself. */
  readonly expected: string;
}

/** The running binary; refuses where there is none to replace. */
export function ownExecutable(): string {
  if (Bun.main.startsWith("/$bunfs/")) return realpathSync(process.execPath);
  throw new BuddyError("usage", "this buddy runs from source", { hint: "Update the checkout instead: git pull" });
}

export class Update {
  readonly #options: UpdateOptions;

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  /** Refuses first if a package manager owns the file: then only that may replace it. */
  async findRelease(version?: string): Promise<FoundRelease> {
    const { executable, current } = this.#options;
    refusePackaged(executable);
    const { base, sums } = await this.#sums(version);
    const target = buildTarget();
    const expected = sums.get(`buddy-${target}`);
    const archive = [...sums.keys()]
      .map((name) => /^(buddy-(\d+\.\d+\.\d+(?:-[\w.]+)?)-(?:linux|darwin)-.+)\.tar\.zst$/.exec(name))
      .find((match) => match?.[1]?.endsWith(`-${target}`));
    const [, name, newest] = archive ?? [];
    if (expected === undefined || name === undefined || newest === undefined)
      throw new BuddyError("tool", `${base} has no build for ${target}`);
    if (version !== undefined && newest !== version)
      throw new BuddyError("tool", `${base} holds buddy ${newest}, not ${version}`);
    const found = { newest, base, archive: name, sums, expected };
    if (sha256(readFileSync(executable)) === expected)
      return {
        ...found,
        state: "newest",
        words: `buddy ${current} is ${version === undefined ? "the newest version" : "installed"}`,
      };
    const order = compareVersions(newest, current);
    if (order === 0)
      return {
        ...found,
        state: "differs",
        words: `this binary is not the buddy ${newest} of the release; buddy update replaces it`,
      };
    if (order < 0 && version === undefined)
      return { ...found, state: "older", words: `buddy ${current} is newer than the newest release, ${newest}` };
    return { ...found, state: "newer", words: `buddy ${newest} is available, this is ${current}: buddy update` };
  }

  /** Returns what to say. */
  async install({ base, archive, sums, expected, newest }: FoundRelease): Promise<string> {
    const { executable, signal, say, progress } = this.#options;
    const directory = dirname(executable);
    const staged = join(directory, `.buddy-update.${process.pid}`);
    try {
      // Before the download: it shows whether the directory can be written.
      this.#write(staged, new Uint8Array());
      discardOld(directory);
      const name = `${archive}.tar.zst`;
      say(`downloading ${base}/${name}`);
      const packed = await download(`${base}/${name}`, { env: this.#options.env, signal, most: MOST_BYTES, progress });
      this.#verify(name, packed, sums.get(name));
      const files = readTar(await unpacked(packed), `${archive}/`);
      const binary = files.get("buddy");
      if (binary === undefined) throw new BuddyError("tool", `${name} does not contain buddy; nothing was changed`);
      this.#verify(`buddy in ${name}`, binary, expected);
      this.#write(staged, binary);
      chmodSync(staged, 0o755);
      const said = askProgram([staged, "--version"], { timeoutMs: 30_000 });
      if (said.code !== 0 || said.stdout.trim() !== `buddy ${newest}`)
        throw new BuddyError("tool", `the new binary does not run on this machine; nothing was changed`, {
          hint: printable((said.failure?.text || said.stderr || said.stdout).trim().split("\n")[0] ?? ""),
        });
      keepPrevious(executable, directory, expected);
      renameSync(staged, executable);
      this.#updateShared(directory, files);
      return `installed buddy ${newest} as ${executable}; buddy update --rollback goes back to ${this.#options.current}`;
    } catch (error) {
      throw this.#explained(error, directory);
    } finally {
      discard(staged);
    }
  }

  /** Returns the version that is in place now. The two swap places, so that a second rollback undoes the first. */
  async rollback(): Promise<string> {
    const { executable } = this.#options;
    refusePackaged(executable);
    const directory = dirname(executable);
    const previous = join(directory, PREVIOUS);
    const aside = join(directory, `.buddy-update.${process.pid}`);
    if (!existsSync(previous))
      throw new BuddyError("usage", "there is no earlier version to go back to", {
        hint: "buddy update keeps the version it replaces; buddy update VERSION installs any other",
      });
    const said = askProgram([previous, "--version"], { timeoutMs: 30_000 });
    if (said.code !== 0) throw new BuddyError("tool", `${previous} does not run; nothing was changed`);
    try {
      linkOrCopy(executable, aside);
      renameSync(previous, executable);
      renameSync(aside, previous);
    } catch (error) {
      throw this.#explained(error, directory);
    } finally {
      discard(aside);
    }
    return said.stdout.trim();
  }

  async #sums(version: string | undefined): Promise<{ base: string; sums: ReadonlyMap<string, string> }> {
    const { env, signal } = this.#options;
    const mirror = env["BUDDY_INSTALL_BASE_URL"]?.replace(/\/$/, "");
    if (!mirror && RELEASES === undefined)
      throw new BuddyError("usage", "this buddy was built from a checkout, which has no releases to update from", {
        hint: "Update the checkout and build again, or name a mirror with BUDDY_INSTALL_BASE_URL.",
      });
    const latest = version === undefined ? `${RELEASES}/latest/download` : `${RELEASES}/download/v${version}`;
    const places = mirror ? [...(version === undefined ? [] : [`${mirror}/v${version}`]), mirror] : [latest];
    let problem: unknown;
    for (const base of places) {
      try {
        const bytes = await download(`${base}/SHA256SUMS`, { env, signal, most: 1 << 20 });
        const sums = readSums(new TextDecoder().decode(bytes));
        if (sums.size > 0) return { base, sums };
        throw new BuddyError("tool", `${base}/SHA256SUMS is not a list of checksums`, {
          hint: "A proxy or a log-in page may have answered; check the address and the network.",
        });
      } catch (error) {
        if (signal.aborted) throw error;
        problem ??= error;
      }
    }
    throw problem;
  }

  #verify(what: string, bytes: Uint8Array, expected: string | undefined): void {
    const got = sha256(bytes);
    if (got === expected) return;
    throw new BuddyError("tool", `the checksum of ${what} is wrong; nothing was changed`, {
      hint: `Expected ${expected ?? "one in SHA256SUMS"}\nGot      ${got}\nThe download was cut off or changed on the way; try again.`,
    });
  }

  #write(path: string, bytes: Uint8Array): void {
    writeFileSync(path, bytes, { mode: 0o700 });
  }

  /** Man page and completions that install.sh put next to the binary; where there are none, none are added. */
  #updateShared(directory: string, files: ReadonlyMap<string, Uint8Array>): void {
    const { env, say } = this.#options;
    const shares = [
      join(dirname(directory), "share"),
      env["XDG_DATA_HOME"],
      env["HOME"] && join(env["HOME"], ".local/share"),
    ];
    for (const [from, to] of SHARED) {
      const data = files.get(from);
      const path = shares.map((share) => (share ? join(share, to) : "")).find((one) => one !== "" && existsSync(one));
      if (data === undefined || path === undefined) continue;
      try {
        writeFileSync(path, data);
      } catch (error) {
        say(`could not write ${path}: ${fileError(error)}`);
      }
    }
  }

  #explained(error: unknown, directory: string): unknown {
    const { signal } = this.#options;
    if (signal.aborted) return signal.reason;
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof BuddyError || !code) return error;
    return new BuddyError("tool", `cannot write to ${directory}: ${fileError(error)}; nothing was changed`, {
      ...(code === "EACCES" || code === "EPERM" ? { hint: "Run it as the user who installed buddy." } : {}),
      ...(code === "ENOSPC" || code === "EDQUOT" ? { hint: "It needs about 150 MB of free space." } : {}),
      cause: error,
    });
  }
}

const PREVIOUS = ".buddy-previous";
const DAY_MS = 24 * 3_600_000;
const MOST_BYTES = 512 * 1024 * 1024;

/** As in install.sh. */
const SHARED: readonly (readonly [from: string, to: string])[] = [
  ["buddy.1", "man/man1/buddy.1"],
  ["completions/buddy.bash", "bash-completion/completions/buddy"],
  ["completions/_buddy", "zsh/site-functions/_buddy"],
  ["completions/buddy.fish", "fish/vendor_completions.d/buddy.fish"],
];

/**
 * The file itself stays where it is, until the new one is renamed over it. If another update was quicker, it is the
 * new one already, and that update kept the old one.
 */
function keepPrevious(executable: string, directory: string, expected: string): void {
  const aside = join(directory, `.buddy-update-old.${process.pid}`);
  try {
    linkOrCopy(executable, aside);
    if (sha256(readFileSync(aside)) !== expected) renameSync(aside, join(directory, PREVIOUS));
  } finally {
    discard(aside);
  }
}

/** What runs that were killed left there, as install.sh does it: after a day. */
function discardOld(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (/^\.buddy-(?:install\.|update)/.test(name) && Date.now() - statSync(path).mtimeMs > DAY_MS) discard(path);
  }
}

/** On a read-only file system this fails even for a file that does not exist. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The error before this one is the one to report.
  }
}

function linkOrCopy(from: string, to: string): void {
  discard(to);
  try {
    linkSync(from, to);
  } catch {
    // Some file systems have no links.
    copyFileSync(from, to);
  }
}

function readSums(text: string): ReadonlyMap<string, string> {
  const lines = [...text.matchAll(/^([0-9a-f]{64}) [ *](\S+)$/gm)];
  return new Map(lines.map(([, sum = "", name = ""]) => [name, sum]));
}

async function unpacked(packed: Uint8Array): Promise<Uint8Array> {
  try {
    return await Bun.zstdDecompress(packed);
  } catch (cause) {
    throw new BuddyError("tool", DAMAGED, { cause });
  }
}

const DAMAGED = "the archive is damaged; nothing was changed";

/** Regular files of a ustar archive below `prefix`, by their names without it. */
function readTar(bytes: Uint8Array, prefix: string): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (from: number, length: number) =>
    new TextDecoder().decode(bytes.subarray(from, from + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const name = [text(at + 345, 155), text(at, 100)].filter(Boolean).join("/");
    const type = text(at + 156, 1);
    if (!(size >= 0) || at + 512 + size > bytes.length) throw new BuddyError("tool", DAMAGED);
    if ((type === "0" || type === "") && name.startsWith(prefix))
      files.set(name.slice(prefix.length), bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** By the loader on disk, as install.sh does. */
function buildTarget(): string {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return name;
  const has = (directory: string, pattern: RegExp) =>
    existsSync(directory) && readdirSync(directory).some((file) => pattern.test(file));
  const glibc = ["/lib", "/lib64"].some((directory) => has(directory, /^ld-linux-.*\.so\./));
  return !glibc && has("/lib", /^ld-musl-.*\.so\.1$/) ? `${name}-musl` : name;
}

/** Positive when `a` is newer; a candidate (1.0.0-rc.1) comes before its release. */
export function compareVersions(a: string, b: string): number {
  const parts = (version: string) => {
    const [numbers = "", candidate] = version.split("-");
    return { numbers: numbers.split(".").map(Number), candidate };
  };
  const [one, other] = [parts(a), parts(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (one.numbers[i] ?? 0) - (other.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (one.candidate === other.candidate) return 0;
  if (one.candidate === undefined) return 1;
  if (other.candidate === undefined) return -1;
  return one.candidate.localeCompare(other.candidate, "en", { numeric: true });
}

// ── The package manager that installed a file: only it may replace it.

interface PackageOwner {
  readonly manager: string;
  /** The command that updates it. */
  readonly how: string;
}

function refusePackaged(executable: string): void {
  const owner = packageOwner(executable);
  if (owner === undefined) return;
  throw new BuddyError("usage", `${executable} belongs to ${owner.manager}`, {
    hint: `Update it with ${owner.manager}: ${owner.how}`,
  });
}

/** `path` without links in it. */
export function packageOwner(path: string): PackageOwner | undefined {
  const byPath = PATHS.find(([pattern]) => pattern.test(path));
  if (byPath !== undefined) return byPath[1];
  return DATABASES.find(({ ask, files }) => files.some((file) => existsSync(file)) && owns(ask, path));
}

const PATHS: readonly (readonly [RegExp, PackageOwner])[] = [
  [/\/(?:Cellar|linuxbrew|homebrew)\//, { manager: "Homebrew", how: "brew upgrade buddy" }],
  [/\/node_modules\//, { manager: "npm", how: "npm install --global the two newer .tgz files" }],
  [/^\/nix\/store\//, { manager: "Nix", how: "nix profile upgrade buddy" }],
  [/^\/snap\//, { manager: "snap", how: "snap refresh buddy" }],
];

/** `files`: of its database. Without one, rpm is not asked: it would make an empty one in HOME. */
const DATABASES: readonly (PackageOwner & { readonly ask: readonly string[]; readonly files: readonly string[] })[] = [
  {
    manager: "dpkg",
    how: "install the newer .deb: apt install ./buddy_VERSION_ARCH.deb",
    ask: ["dpkg", "-S"],
    files: ["/var/lib/dpkg/status"],
  },
  {
    manager: "rpm",
    how: "install the newer .rpm: dnf install ./buddy-VERSION.ARCH.rpm",
    ask: ["rpm", "-qf"],
    files: ["/usr/lib/sysimage/rpm", "/var/lib/rpm"].flatMap((directory) =>
      ["rpmdb.sqlite", "Packages.db", "Packages"].map((name) => join(directory, name)),
    ),
  },
  {
    manager: "apk",
    how: "install the newer .apk: apk add --allow-untrusted FILE",
    ask: ["apk", "info", "--who-owns"],
    files: ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"],
  },
  { manager: "pacman", how: "pacman -Syu", ask: ["pacman", "-Qo"], files: ["/var/lib/pacman/local"] },
];

function owns([program = "", ...args]: readonly string[], path: string): boolean {
  const PATH = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  if (Bun.which(program, { PATH }) === null) return false;
  const env = lookUpEnv({ PATH, LC_ALL: "C" });
  return askProgram([program, ...args, path], { timeoutMs: 10_000, env }).code === 0;
}
