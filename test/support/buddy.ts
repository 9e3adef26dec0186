/** Runs the compiled binary as a user would, in a temporary home and directory with a clean environment. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { endTmuxIn } from "./end-tmux.ts";
import { oddDirectory } from "./temporary.ts";
import { until } from "./until.ts";

const ROOT = join(import.meta.dir, "../..");
const BINARY = join(ROOT, "dist/buddy");

export interface BuddyRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BuddyOptions {
  /** Text for stdin; `null` leaves it at end of file (the default), "open" keeps a silent pipe open. */
  readonly stdin?: string | Uint8Array | null | "open";
  /** Added to the clean environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The run is killed and the test fails after this long. */
  readonly timeoutMs?: number;
}

/** A temporary home and working directory; removed at the end of the `using` block. */
export interface Sandbox extends Disposable {
  readonly dir: string;
  readonly home: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writes a file below the sandbox (`home/…`, `cwd/…`) and returns its path. */
  write(path: string, text: string | Uint8Array, mode?: number): string;
  run(args: readonly string[], options?: BuddyOptions): Promise<BuddyRun>;
  /** Starts the binary and leaves it running; the caller ends it. */
  spawn(args: readonly string[], options?: BuddyOptions): Promise<BuddyChild>;
}

export type BuddyChild = Bun.Subprocess<"pipe", "pipe", "pipe">;

export function sandbox(): Sandbox {
  const dir = oddDirectory();
  const home = join(dir, "home");
  const cwd = join(dir, "cwd");
  mkdirSync(home);
  mkdirSync(cwd);
  mkdirSync(join(dir, "tmp"));
  const env = {
    HOME: home,
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    USER: process.env.USER ?? "root",
    TMPDIR: join(dir, "tmp"),
    // Also a run that was not told a socket must not meet the developer's own buddy.
    TMUX_TMPDIR: dir,
    // See needs.ts.
    FISH_UNIT_TESTS_RUNNING: "1",
  };
  const spawn = async (args: readonly string[], options: BuddyOptions = {}): Promise<BuddyChild> =>
    Bun.spawn([await buddyBinary(), ...args], {
      cwd: options.cwd ?? cwd,
      env: withoutUndefined({ ...env, ...options.env }),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
  return {
    dir,
    home,
    cwd,
    env,
    write(path, text, mode) {
      const full = join(dir, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text, mode === undefined ? {} : { mode });
      return full;
    },
    async run(args, options = {}) {
      const child = await spawn(args, options);
      const { stdin = null, timeoutMs = 30_000 } = options;
      if (stdin !== "open") {
        if (stdin !== null) child.stdin.write(stdin);
        // A program that never reads its input may be gone already.
        await Promise.resolve(child.stdin.end()).catch(() => {});
      }
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      clearTimeout(timer);
      if (child.signalCode === "SIGKILL") {
        throw new Error(`buddy ${args.join(" ")} did not end within ${timeoutMs} ms\n${stdout}\n${stderr}`);
      }
      return { code, stdout, stderr };
    },
    spawn,
    [Symbol.dispose]() {
      endTmuxIn(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** One run in a sandbox of its own. */
export async function buddy(args: readonly string[], options?: BuddyOptions): Promise<BuddyRun> {
  using box = sandbox();
  return await box.run(args, options);
}

/** Path of dist/buddy. */
export async function buddyBinary(): Promise<string> {
  return BINARY;
}

/** Builds dist/buddy when it is missing or older than what it is made of. */
async function freshBinary(): Promise<void> {
  if (!stale()) return;
  mkdirSync(dirname(BINARY), { recursive: true });
  const lock = join(dirname(BINARY), ".build-lock");
  // Test files run in parallel processes: one builds, the others wait for it.
  await until(() => !stale() || takeLock(lock), "another test process building dist/buddy", { timeoutMs: 120_000 });
  try {
    if (stale()) {
      const build = Bun.spawnSync([process.execPath, "scripts/build.ts"], { cwd: ROOT, stderr: "pipe" });
      if (build.exitCode !== 0) throw new Error(`bun run build failed:\n${build.stderr.toString()}`);
    }
  } finally {
    if (ownsLock(lock)) rmSync(lock, { recursive: true, force: true });
  }
}

function stale(): boolean {
  if (!existsSync(BINARY)) return true;
  const built = statSync(BINARY).mtimeMs;
  const parts = [...new Bun.Glob("{src,templates,docs}/**/*").scanSync(ROOT), "package.json", "scripts/build.ts"];
  return parts.some((part) => statSync(join(ROOT, part)).mtimeMs > built);
}

function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (!ownerAlive(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function ownsLock(lock: string): boolean {
  return lockOwner(lock) === process.pid;
}

function ownerAlive(lock: string): boolean {
  const owner = lockOwner(lock);
  if (owner === undefined) return true;
  try {
    process.kill(owner, 0);
    return true;
  } catch {
    return false;
  }
}

function lockOwner(lock: string): number | undefined {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function withoutUndefined(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

// When the file is loaded, not in the first test: that test's time-out would end the build.
await freshBinary();
