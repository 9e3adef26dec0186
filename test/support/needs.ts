/**
 * What tests need beside Bun. Each thing is tried once for real; tests that need one which does not work are skipped,
 * and the end of `bun run test` says which and why.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isStatic } from "../../scripts/test-packages.ts";

export type Need = keyof typeof TRIES;

// In a new home fish reads all man pages in the background, for minutes, and the process outlives the test.
process.env["FISH_UNIT_TESTS_RUNNING"] = "1";

const OWN = { afterAll, afterEach, beforeAll, beforeEach, describe, test };
const nothing = (): void => {};
/** Hooks outside of any `describe` would run for skipped tests too. */
const SKIPPING = {
  afterAll: nothing,
  afterEach: nothing,
  beforeAll: nothing,
  beforeEach: nothing,
  describe: skipping(describe.skip),
  test: skipping(test.skip),
} as unknown as typeof OWN;

/** Bun's own throw where a condition is added, as in `test.if`; what is skipped anyway has none. */
function skipping(skip: typeof test.skip | typeof describe.skip): unknown {
  const own = (...given: readonly unknown[]) => (skip as (...all: readonly unknown[]) => unknown)(...given);
  return Object.assign(own, { each: skip.each.bind(skip), if: () => own, skipIf: () => own });
}

/**
 * `const { describe, test } = await needs("tmux", "sshd")`: bun's own where all of it works, skipping ones otherwise.
 */
export async function needs(...things: readonly Need[]): Promise<typeof OWN> {
  const file = basename(callerFile());
  const reasons = (await Promise.all(things.map(missing))).filter((why) => why !== undefined);
  if (reasons.length === 0) return OWN;
  record(file, reasons);
  return SKIPPING;
}

/** For the rows of `test.each`: those of the things that work; the others are listed at the end as skipped. */
export async function available<T extends Need>(...things: readonly T[]): Promise<T[]> {
  const file = basename(callerFile());
  const reasons = await Promise.all(things.map(missing));
  for (const why of reasons) if (why !== undefined) record(file, [why]);
  return things.filter((_, index) => reasons[index] === undefined);
}

function record(file: string, reasons: readonly string[]): void {
  if (RECORD !== undefined) appendFileSync(join(RECORD, "skipped"), `${file}: ${reasons.join("; ")}\n`);
}

/** Why it cannot be had; undefined when it works. */
export function missing(thing: Need): Promise<string | undefined> {
  return (known.get(thing) ?? known.set(thing, tryOnce(thing)).get(thing)) as Promise<string | undefined>;
}

/** Shared by the processes of one `bun run test`. */
const RECORD = process.env["BUDDY_TEST_NEEDS"];
const known = new Map<Need, Promise<string | undefined>>();

async function tryOnce(thing: Need): Promise<string | undefined> {
  const path = RECORD === undefined ? undefined : join(RECORD, `need-${thing}`);
  if (path !== undefined && existsSync(path)) return readFileSync(path, "utf8") || undefined;
  const why = await TRIES[thing]().catch((error: unknown) =>
    firstLine(error instanceof Error ? error.message : String(error)),
  );
  if (path !== undefined) {
    mkdirSync(RECORD as string, { recursive: true });
    writeFileSync(path, why === undefined ? "" : `${thing}: ${why}`);
  }
  return why === undefined ? undefined : `${thing}: ${why}`;
}

const TRIES = {
  linux: async () => (process.platform === "linux" ? undefined : "this is not Linux"),
  "linux-x64": async () => (process.platform === "linux" && process.arch === "x64" ? undefined : "another system"),
  root: async () => (process.getuid?.() === 0 ? undefined : "you are not root"),
  tmux: async () => {
    const directory = mkdtempSync(join(tmpdir(), "buddy-needs-"));
    const tmux = ["tmux", "-S", join(directory, "s")];
    try {
      return works([...tmux, "new-session", "-d", "sleep 60"]) ?? works([...tmux, "kill-server"]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
  bash: async () => works(["bash", "-c", "true"]),
  /** What sshd starts for the account, and tmux. */
  "bash-login": async () => {
    const shell =
      Bun.spawnSync(["sh", "-c", 'getent passwd "$(id -u)"']).stdout.toString().trim().split(":").at(-1) ?? "";
    return basename(shell) === "bash" ? undefined : `the login shell is ${shell || "not known"}`;
  },
  dash: async () => works(["dash", "-c", "true"]),
  zsh: async () => works(["zsh", "-fc", "true"]),
  fish: async () => works(["fish", "-c", "true"]),
  mksh: async () => works(["mksh", "-c", "true"]),
  busybox: async () =>
    works(["busybox", "sh", "-c", "true"]) ?? (isStatic("busybox") ? undefined : "it is not the static one"),
  sshd: async () => {
    const absent = ["ssh", "ssh-keygen", "sshd"].find((name) => Bun.which(name, { PATH: pathOf({}) }) === null);
    if (absent !== undefined) return `${absent} is not installed`;
    const { sshd } = await import("./sshd.ts");
    const { env } = await sshd();
    return works(["ssh", "-o", "BatchMode=yes", "lab", "true"], env);
  },
  podman: async () => {
    // Even its version costs podman a directory, which the one of the tests has elsewhere.
    if (Bun.which("podman") === null) return "not installed";
    const runc = works(["runc", "--version"]);
    if (runc !== undefined) return `runc: ${runc}`;
    const why = await missing("busybox");
    if (why !== undefined) return why;
    const { containerTarget } = await import("./container.ts");
    await using container = await containerTarget({ image: "busybox" });
    await container.engine("exec", container.name, "true");
    return undefined;
  },
  /** A root of one's own, with mounts in it. */
  chroot: async () => works(["unshare", "--mount", "chroot", "/", "true"]),
  /** A root of one's own, also without being root. */
  "chroot-as-user": async () =>
    process.getuid?.() === 0 ? works(["chroot", "/", "true"]) : works(["unshare", "-r", "chroot", "/", "true"]),
  /** Host names and networks of one's own, entered from outside. */
  namespaces: async () => works(["unshare", "--uts", "--net", "nsenter", "--version"]),
  /** Namespaces, an overlay of the whole machine, and strace in it. */
  "throw-away-root": async () => {
    const { effectsOf } = await import("./throw-away-root.ts");
    effectsOf([{ text: "true", shell: ["/bin/sh", "-c"], programs: new Set() }], () => {});
    return undefined;
  },
  chromium: async () => works(["chromium", "--version"]),
  man: async () => works(["man", "--version"]),
  musl: async () => works(["musl-gcc", "--version"]),
  /** Programs for 64-bit ARM: an emulator, and the C library. */
  arm64: async () => {
    if (process.arch === "arm64") return undefined;
    if (!existsSync("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1")) return "its C library is not installed";
    return works(["qemu-aarch64-static", "--version"]);
  },
  /** With the headers of the C library. */
  cc: async () => works(["cc", "-E", "-include", "dlfcn.h", "-x", "c", "/dev/null"]),
  git: async () => works(["git", "--version"]),
  /** This repository as git has it, not just its files. */
  checkout: async () => works(["git", "-C", import.meta.dir, "rev-parse", "HEAD"]),
  jq: async () => works(["jq", "-n", "1"]),
  curl: async () => works(["curl", "--version"]),
  wget: async () => works(["wget", "--help"]),
  asciinema: async () => works(["asciinema", "--version"]),
  ip: async () => works(["ip", "-V"]),
  openssl: async () => works(["openssl", "version"]),
  shellcheck: async () => works(["shellcheck", "--version"]),
  npm: async () => works(["npm", "--version"]),
  ruby: async () => works(["ruby", "--version"]),
  dpkg: async () => works(["dpkg-deb", "--version"]),
  rpm: async () => works(["rpm", "--version"]),
  zstd: async () => works(["zstd", "--version"]),
  /** Firewall rules in a network of one's own. */
  nft: async () => works(["unshare", "--net", "nft", "add table inet x"]),
  patch: async () => works(["patch", "--version"]),
  strace: async () => works(["strace", "-o", "/dev/null", "true"]),
  acl: async () => works(["setfacl", "--version"]),
  attr: async () => works(["setfattr", "--version"]),
  ssh: async () => works(["ssh", "-V"]),
  ps: async () => works(["ps", "-e"]) ?? works(["pgrep", "--version"]),
  nginx: async () => works(["nginx", "-v"]),
  ansible: async () => works(["ansible-inventory", "--version"]),
  sudo: async () => works(["sudo", "-n", "true"]),
} satisfies Record<string, () => Promise<string | undefined>>;

function works(argv: readonly string[], env: Record<string, string | undefined> = {}): string | undefined {
  const PATH = pathOf(env);
  const program = Bun.which(argv[0] as string, { PATH });
  if (program === null) return "not installed";
  const { exitCode, stderr } = Bun.spawnSync([program, ...argv.slice(1)], {
    env: { ...process.env, ...env, PATH },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return exitCode === 0 ? undefined : firstLine(stderr.toString()) || `exit code ${exitCode}`;
}

/** Programs of the administrator are not on everybody's path. */
function pathOf(env: Record<string, string | undefined>): string {
  return `${env["PATH"] ?? process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

/** The test file that calls. */
function callerFile(): string {
  return /([^\s(]+\.test\.ts)/.exec(new Error().stack ?? "")?.[1] ?? "a test";
}
