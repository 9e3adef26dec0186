/**
 * What a test run leaves behind. The run has a directory of its own, which its processes have in their environment,
 * command line or working directory: by that they are known, and no other process is ever touched.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from "node:fs";
import { basename, join } from "node:path";

export interface TestRun {
  /** TMPDIR of the tests. */
  readonly dir: string;
  /** First in their PATH. */
  readonly bin: string;
  /** For images and containers, which a path of more than 50 bytes is too long for. */
  readonly containers: string;
  /** What is left, and what could not be known; ends and removes what belongs to the run. */
  end(): Promise<{ readonly left: readonly string[]; readonly notes: readonly string[] }>;
}

/** What ends after the last test process may take this long on a busy machine. */
const GRACE_MS = 20_000;
const UID = process.getuid?.() ?? 0;
const USER = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
/** Ours, and what every user has: of fish, and of buddy, whose content is looked at. */
const STANDING = new Set(["bin", "pods", `fish.${USER}`, `buddy-${UID}`]);
/**
 * In the one of buddy: what it keeps for its next start, and what that removes where the last one was killed, on the next
 * day at the latest.
 */
const KEPT =
  /^(?:lock|shells|script-.*|(?:run|namespace)\.\d*\.\d+|direct-[0-9a-f]{12}|buddy\.buddy-[0-9a-f]{12}(?:_\d)?)$/;
/** Where programs write whatever TMPDIR says, with the names that tests cause. */
const SHARED: Readonly<Record<string, RegExp>> = {
  "/tmp": /^(?!buddy-run-)(?:buddy|it's |fish\.|containers-user-|podman-run-)/,
  [`/tmp/buddy-${UID}`]: /./,
  "/dev/shm": /^buddy-/,
  [`/dev/shm/buddy-${UID}`]: /./,
  [`/tmp/tmux-${UID}`]: /^(?:buddy|soak)/,
};

/** `base` is the directory for temporary files. */
export function startTestRun(base: string, graceMs = GRACE_MS): TestRun {
  const dir = mkdtempSync(join(base, "buddy-run-"));
  const [bin, containers] = [join(dir, "bin"), join(dir, "pods")];
  for (const path of [bin, containers, join(containers, "xdg")]) mkdirSync(path, { mode: 0o700 });
  // Other users of tests have files in it, as in /tmp.
  chmodSync(dir, 0o1777);
  chmodSync(bin, 0o755);
  const before = new Set(sharedFiles());
  const others = new Set(strangers(dir));
  const older = new Set(allProcesses(dir).map(({ pid }) => pid));
  return {
    dir,
    bin,
    containers,
    async end() {
      const notes: string[] = [];
      endContainers(dir, containers);
      const deadline = performance.now() + graceMs;
      while (processesOf(dir).length > 0 && performance.now() < deadline) await Bun.sleep(50);
      const processes = processesOf(dir);
      for (const { pid } of processes) end(pid);
      const left = processes.map(named);
      left.push(...filesIn(dir), ...filesIn(join(dir, `buddy-${UID}`)));
      try {
        rmSync(dir, { recursive: true, force: true });
      } catch (error) {
        left.push(`${dir}: ${String(error)}`);
      }
      for (const one of strangers(dir)) others.add(one);
      // Not a failure: whatever else uses this machine may write there, too.
      const files = sharedFiles().filter((path) => !before.has(path));
      const by = ["the tests", ...others, "something else"];
      if (files.length > 0) notes.push(`by ${by.join(" or ")}: ${files.join(", ")}`);
      if (!existsSync("/proc/self/environ")) notes.push("processes: there is no /proc to find them");
      const hidden = allProcesses(dir).filter(({ pid, isHidden }) => isHidden && !older.has(pid));
      if (hidden.length > 0)
        notes.push(`by another user, whose processes cannot be read: ${hidden.map(named).join(", ")}`);
      return { left, notes };
    },
  };
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** Names the directory of the run. */
  readonly marked: boolean;
  /** It is another user's: its environment cannot be read. */
  readonly isHidden: boolean;
}

/** Those that name the directory, and their children, also where these are another user's and cannot be read. */
function processesOf(dir: string): Process[] {
  const all = new Map(allProcesses(dir).map((one) => [one.pid, one]));
  const isOurs = (one: Process | undefined): boolean =>
    one !== undefined && (one.marked || (one.parent > 1 && isOurs(all.get(one.parent))));
  return [...all.values()].filter(isOurs);
}

/** Other buddies and tests: they may write to the same places. */
function strangers(dir: string): string[] {
  return allProcesses(dir)
    .filter(({ marked, command }) => !marked && /^(?:\S*\/)?(?:buddy|bun test)(?: |$)/.test(command))
    .map(named);
}

function named({ pid, command }: Process): string {
  return `process ${pid} (${command.slice(0, 200)})`;
}

function allProcesses(dir: string): Process[] {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = (file: string) => tried(() => readFileSync(join("/proc", name, file), "utf8"));
      const link = (file: string) => tried(() => `${readlinkSync(join("/proc", name, file))}/`);
      const stat = text("stat") ?? "";
      const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (/^[ZX]?$/.test(state)) return [];
      const command = text("cmdline")?.replaceAll("\0", " ").trim() ?? "";
      const environment = text("environ");
      const marked = [command, environment, link("cwd"), link("exe"), link("root")].some((one) =>
        one?.includes(`${dir}/`),
      );
      return [{ pid: Number(name), parent: Number(parent), command, marked, isHidden: environment === undefined }];
    });
}

function end(pid: number): void {
  // It may have ended meanwhile, or be another user's, which is reported as well.
  tried(() => process.kill(pid, "SIGKILL"));
}

/** Without root a process holds the namespace of all containers, and files in it are of numbers that only it has. */
function endContainers(dir: string, containers: string): void {
  const podman = join(containers, "podman");
  if (UID === 0) return;
  if (existsSync(podman))
    Bun.spawnSync([podman, "unshare", "rm", "-rf", join(containers, "store")], {
      stdio: ["ignore", "ignore", "ignore"],
    });
  for (const { pid, command } of processesOf(dir)) if (/^\S*podman$/.test(command)) end(pid);
}

function sharedFiles(): string[] {
  return Object.entries(SHARED).flatMap(([directory, names]) =>
    filesIn(directory).filter((path) => names.test(basename(path))),
  );
}

function filesIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => !STANDING.has(name) && !KEPT.test(name))
    .map((name) => join(directory, name));
}

function namesIn(directory: string): string[] {
  return tried(() => readdirSync(directory)) ?? [];
}

function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
