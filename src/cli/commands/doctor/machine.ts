/** This machine (tmux and its control mode, ssh, container engines, the terminal, where sessions go) and the target. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isatty } from "node:tty";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { temporaryDirectory } from "../../../lib/local-directories.ts";
import { askProgram, type UnusableProgram, unusableProgram } from "../../../lib/start-child.ts";
import { printable } from "../../../lib/text.ts";
import { stateDirectory } from "../../../lib/user-directories.ts";
import type { TransportOptions } from "../../../targets/connection/open-transport.ts";
import type { MachineReport } from "../../../targets/machine-report.ts";
import { CleanChildren } from "../../../targets/read-only/clean-children.ts";
import type { SecondLock, TargetOptions, Transport } from "../../../targets/target.ts";
import { lockWords, wrapped } from "../../../ui/words.ts";

export async function checkMachine(): Promise<Finding[]> {
  const [tmux, ...rest] = await Promise.all([checkTmux(), checkSsh(), checkEngine("docker"), checkEngine("podman")]);
  return [tmux, ...rest.flat(), checkTerminal(), await checkSessions()];
}

/** Control mode is tried for real, on its own socket. */
async function checkTmux(): Promise<Finding> {
  const path = Bun.which("tmux");
  const without = "commands run in a shell you cannot attach to";
  if (path === null) return unusable("tmux", unusableProgram("tmux"), without, "warning");
  const asked = askProgram([path, "-V"], { timeoutMs: 4_000 });
  if (asked.failure !== undefined) return unusable("tmux", { file: path, ...asked.failure }, without);
  const version = asked.stdout.trim();
  // A path rather than a name: tmux leaves the socket behind.
  const directory = mkdtempSync(join(temporaryDirectory(), "buddy-doctor-"));
  const start = ["-C", "new-session", "-x", "80", "-y", "24", "sleep 5"];
  const tried = askProgram([path, "-u", "-S", join(directory, "s"), "-f", "/dev/null", ...start], {
    stdin: "kill-server\n",
    timeoutMs: 4_000,
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", LANG: "C.UTF-8" },
  });
  rmSync(directory, { recursive: true, force: true });
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(version) ?? [];
  if (!tried.stdout.includes("%begin"))
    return finding(
      "tmux",
      "warning",
      `${version} does not start in control mode`,
      "update tmux to 3.2 or newer, or use --no-tmux",
    );
  if (Number(major) * 100 + Number(minor) < 302)
    return finding(
      "tmux",
      "warning",
      `${version} is older than 3.2: commands work, but more slowly`,
      "update tmux to 3.2 or newer",
    );
  return finding("tmux", "ok", `${version}, control mode works`);
}

async function checkSsh(): Promise<Finding[]> {
  const path = Bun.which("ssh");
  const without = "--ssh cannot be used";
  if (path === null) return [unusable("ssh", unusableProgram("ssh"), without, "info", "openssh-client")];
  const { code, stdout, stderr, failure } = askProgram([path, "-V"], { timeoutMs: 4_000 });
  if (code === 0) return [finding("ssh", "ok", (stderr + stdout).trim())];
  const why = `${path} does not work: ${stderr.trim().split("\n")[0] || `exit code ${code}`}`;
  return [unusable("ssh", { text: why, file: path, ...failure }, without)];
}

async function checkEngine(name: "docker" | "podman"): Promise<Finding[]> {
  const path = Bun.which(name);
  const without = "--container cannot use it";
  if (path === null) {
    const found = unusableProgram(name);
    if (found?.file !== undefined) return [unusable(name, found, without)];
    // One engine is enough, and most machines need none.
    const none = Bun.which("podman") === null && unusableProgram("podman")?.file === undefined;
    return name === "docker" && none ? [NO_ENGINE] : [];
  }
  const { code, stdout, stderr, failure } = askProgram([path, "ps", "--format", "{{.Names}}"], { timeoutMs: 4_000 });
  if (failure?.file !== undefined) return [unusable(name, failure, without)];
  if (code !== 0)
    return [
      finding(
        name,
        "info",
        failure?.text ?? `${name} does not answer: ${stderr.trim().split("\n")[0] || `exit code ${code}`}`,
        name === "docker" ? "start its daemon, or check that you may use its socket" : "run: podman info",
      ),
    ];
  const running = stdout.split("\n").filter(Boolean);
  return [finding(name, "ok", running.length === 0 ? "no container is running" : `running: ${running.join(", ")}`)];
}

/** `missing`: the status of a program that is not installed. One that is installed and does not work is a warning. */
function unusable(
  check: string,
  program: UnusableProgram | undefined,
  without: string,
  missing: Finding["status"] = "warning",
  apt = check,
): Finding {
  const { text = `${check} is not installed`, file } = program ?? {};
  return finding(
    check,
    file === undefined ? missing : "warning",
    `${text}: ${without}`,
    file === undefined ? howToInstall(apt) : `check it: ls -l ${file}`,
  );
}

const NO_ENGINE: Finding = finding(
  "containers",
  "info",
  "neither docker nor podman: --container cannot be used",
  howToInstall("podman"),
);

function checkTerminal(): Finding {
  const { TERM = "", LANG = "", LC_ALL = "", LC_CTYPE = "", COLORTERM = "" } = process.env;
  if (!isatty(0) || !isatty(2))
    return finding("terminal", "info", "no terminal to ask on: nothing can be approved (see --approve)");
  const locale = LC_ALL || LC_CTYPE || LANG;
  const words = [TERM || "TERM is not set", COLORTERM, `${process.stderr.columns ?? 80} columns`]
    .filter(Boolean)
    .join(", ");
  if (TERM === "" || TERM === "dumb") return finding("terminal", "info", `${words}: plain line mode`);
  if (!/utf-?8/i.test(locale))
    return finding("terminal", "warning", `${words}; the locale is not UTF-8`, "export LANG=C.UTF-8");
  return finding("terminal", "ok", words);
}

async function checkSessions(): Promise<Finding> {
  const { sessionDirectory } = await import("../../../session/session-directory.ts");
  const state = stateDirectory();
  const { directory, notice, unwritable } = sessionDirectory(currentDirectory(), state);
  if (notice === undefined) return finding("sessions", "ok", `saved in ${directory}`);
  if (unwritable === undefined) return finding("sessions", "info", notice);
  const remedy = "set HOME or XDG_STATE_HOME to a directory you can write to";
  return finding("sessions", "warning", notice, remedy);
}

/** Tries how the machine confines read-only commands. */
export async function checkLocks(transport: Transport, lock: SecondLock = "auto"): Promise<Finding> {
  const children = new CleanChildren(transport, lock);
  children.start();
  const namespace = await children.settled;
  const text = lockWords({ shell: children.shell, namespace });
  await children.end();
  if (namespace.kind === "ready" || lock === "off") return finding("locks", "ok", text);
  if (lock !== "required") return finding("locks", "info", text);
  return finding(
    "locks",
    "warning",
    `${text}; read_only_namespace = "required", so every command needs approval`,
    'allow user namespaces or install util-linux on the machine, or set read_only_namespace = "auto"',
  );
}

/** The same in words that need no heading. */
export async function checkUnasked(transport: Transport, lock?: SecondLock): Promise<Finding> {
  const { text, ...finding } = await checkLocks(transport, lock);
  return { ...finding, text: `read-only commands run automatically ${text}` };
}

export interface Finding {
  /** A word for scripts: config, key, model, tmux, ... */
  readonly check: string;
  /** `broken`: buddy cannot do what was asked; `warning`: it can, with less; `info`: good to know. */
  readonly status: "ok" | "info" | "warning" | "broken";
  readonly text: string;
  /** What to do; for every problem. */
  readonly remedy?: string;
}

const SIGNS = { ok: ["ok", "32"], info: ["--", "90"], warning: ["! ", "33;1"], broken: ["NO", "31;1"] } as const;

/** A sign, the name in `width` columns, then the text and what to do. */
export function findingRows({ check, status, text, remedy }: Finding, width: number, color: boolean): string {
  const [sign, code] = SIGNS[status];
  const indent = " ".repeat(width + 5);
  const todo = remedy === undefined ? "" : `\n${indent}fix: ${rows(remedy, `${indent}     `)}`;
  const mark = color ? `\u001b[${code}m${sign}\u001b[0m` : sign;
  return `${mark} ${printable(check).padEnd(width)}  ${rows(text, indent)}${todo}`;
}

/** Below each other at the same indent, wrapped where a terminal would break words. */
function rows(text: string, indent: string): string {
  const columns = isatty(1) ? Math.max(process.stdout.columns || 80, 40) : Infinity;
  const lines = printable(text)
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
  return wrapped(lines, columns - indent.length).join(`\n${indent}`);
}

export function finding(check: string, status: Finding["status"], text: string, remedy?: string): Finding {
  return { check, status, text, ...(remedy === undefined ? {} : { remedy }) };
}

export function broken(check: string, { message, hint }: BuddyError): Finding {
  return finding(check, "broken", message, hint);
}

/** How to get a program on this system. */
export function howToInstall(name: string, isRoot = process.getuid?.() === 0): string {
  const found = ["apt-get install", "dnf install", "apk add", "pacman -S", "zypper install", "brew install"].find(
    (command) => Bun.which(command.split(" ")[0] as string) !== null,
  );
  if (found === undefined) return `install ${name} with the system's package manager`;
  const command = `${found} ${name}`;
  if (isRoot || found.startsWith("brew")) return command;
  return Bun.which("sudo") === null ? `as root: ${command}` : `sudo ${command}`;
}

// ── The machine named by --ssh or --container: who and where it is, tmux, shell, disk, sudo, clock.

export async function checkTarget(options: TransportOptions & Pick<TargetOptions, "secondLock">): Promise<Finding[]> {
  const { openTransport } = await import("../../../targets/connection/open-transport.ts");
  try {
    await using transport = await openTransport(options);
    const { machineReport } = await import("../../../targets/machine-report.ts");
    const found = findingsOf(await machineReport(transport), transport.facts);
    const locks = await checkUnasked(transport, options.secondLock);
    return [finding("target", "ok", `${transport.label} answers`), ...found, locks];
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return [broken("target", error)];
  }
}

function findingsOf(
  { who, shell, hasBash, disk, sudo, clockOffMs }: MachineReport,
  { tmuxVersion, tmuxProblem }: Transport["facts"],
): Finding[] {
  const findings: Finding[] = [finding("identity", "ok", who)];
  findings.push(
    tmuxVersion === undefined
      ? finding(
          "target tmux",
          "warning",
          `${tmuxProblem ?? "tmux is not installed"}: commands run in a shell you cannot attach to`,
          tmuxProblem === undefined ? "install tmux on the target" : "run tmux -V on the target",
        )
      : finding("target tmux", "ok", `tmux ${tmuxVersion}`),
  );
  findings.push(finding("shell", "ok", `${shell}${hasBash ? "" : ", no bash"}`));
  if (disk !== undefined) {
    const full = isFull(disk);
    const text = `${Math.round(disk.freeKiB / 1024)} MiB free in the working directory (${disk.used} used)`;
    findings.push(
      full ? finding("disk", "warning", text, "free some space on the target") : finding("disk", "ok", text),
    );
  }
  findings.push(finding("sudo", "info", SUDO_WORDS[sudo]));
  findings.push(
    isOff(clockOffMs)
      ? finding(
          "clock",
          "warning",
          clockWords(clockOffMs),
          "check time synchronisation (chrony, systemd-timesyncd, ntpd)",
        )
      : finding("clock", "ok", "agrees with this machine"),
  );
  return findings;
}

export function isFull({ used }: NonNullable<MachineReport["disk"]>): boolean {
  return Number.parseInt(used, 10) >= 95;
}

export function isOff(clockOffMs: number): boolean {
  return Math.abs(clockOffMs) >= 5_000;
}

export function clockWords(clockOffMs: number): string {
  return `${Math.round(Math.abs(clockOffMs) / 1000)} s ${clockOffMs < 0 ? "behind" : "ahead of"} this machine`;
}

const SUDO_WORDS: Readonly<Record<MachineReport["sudo"], string>> = {
  root: "runs as root: approve with care",
  none: "no sudo",
  free: "sudo needs no password",
  password: "sudo asks for a password: type it in the attached pane when asked",
  unknown: "unknown",
};
