/** Who and where: what a machine reports about itself, in one round trip. */
import tmuxVersion from "../../../templates/target/tmux-version.sh" with { type: "text" };
import machineFacts from "../../../templates/target/machine-facts.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { nameFrom } from "../../lib/byte-names.ts";
import { readFileSync, realpathSync, statSync } from "node:fs";
import os from "node:os";
import { BuddyError } from "../../lib/errors.ts";
import { homeDirectory } from "../../lib/local-directories.ts";
import { expandTilde } from "../../lib/user-directories.ts";
import { askProgram, unusableProgram } from "../../lib/start-child.ts";
import type { MachineFacts, ScriptResult, Transport } from "../target.ts";
import { type DirectoryState, trustedPath } from "./trusted-path.ts";

const PROGRAMS = ["tmux", "bash", "zsh", "fish", "dash", "ash", "mksh", "ksh", "sh", "setsid"] as const;

/** A tmux that does not answer must not delay the start. */
const VERSION_MS = 4_000;

const TMUX_VERSION = script(tmuxVersion, { seconds: String(VERSION_MS / 1000) });
/** tmux is installed; its version was not asked. */
const LATER = "later";

export const FACTS_SCRIPT = script(machineFacts, { programs: PROGRAMS.join(" "), tmuxVersion: TMUX_VERSION });

export function parseFacts(result: ScriptResult, label: string, wanted?: string): ReportedFacts {
  if (result.code === 3) {
    throw new BuddyError("target", `${label} has no directory ${wanted}`, {
      // Without the script name and line number that the shell prints first.
      hint: `${result.stderr.trim().replace(/^.*?\b\d+: (?=cd: )/s, "")}\nName another one with --cd.`,
    });
  }
  const fields = nameFrom(result.stdout).split("\0");
  const [user, uid, host, machine, system, cwd, home, loginShell, tmux] = fields;
  if (result.code !== 0 || !user || !host || !cwd?.startsWith("/") || fields.length < 12 + PROGRAMS.length) {
    throw new BuddyError("target", `${label} did not report user, host and directory`, {
      hint: result.stderr.trim() || "It needs a POSIX sh with id, uname and pwd.",
    });
  }
  const programs: Record<string, string> = {};
  PROGRAMS.forEach((name, at) => {
    const path = fields[9 + at]?.trimEnd();
    if (path) programs[name] = path;
  });
  return {
    user,
    uid: Number(uid),
    host,
    machine: machine || host,
    os: system ?? "",
    cwd,
    home: home ?? "/",
    loginShell: loginShell ?? "",
    programs,
    ...(tmux === LATER ? { tmuxUnasked: true } : tmuxFacts(tmux)),
    path: trustedPath(fields[9 + PROGRAMS.length] ?? "", statesOf(fields[10 + PROGRAMS.length] ?? ""), {
      uid: Number(uid),
      cwd,
      home: home ?? "/",
    }),
    directory: fields[11 + PROGRAMS.length] ?? "",
    leads: fields[12 + PROGRAMS.length] === "leads",
  };
}

export interface ReportedFacts extends MachineFacts {
  readonly directory: string;
  readonly leads: boolean;
}

export function localMachine(): string {
  return firstText("/etc/machine-id").trim() || os.hostname();
}

/** The same for this machine, from the runtime: starts no process, except to ask tmux for its version. */
export function localFacts(cwd: string): MachineFacts {
  const uid = process.getuid?.() ?? 0;
  const [username, shell] = account(uid);
  const programs: Record<string, string> = {};
  for (const name of PROGRAMS) {
    const path = Bun.which(name, { PATH: process.env["PATH"] ?? "" });
    if (path !== null) programs[name] = path;
  }
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(firstText("/etc/os-release"))?.[1];
  return {
    user: username,
    uid,
    host: os.hostname(),
    machine: localMachine(),
    os: `${name === undefined ? "" : `${name}, `}${os.type()} ${os.release()}`,
    cwd,
    home: homeDirectory(),
    path: trustedPath(process.env["PATH"] ?? "", stateHere, { uid, cwd, home: homeDirectory() }),
    loginShell: shell,
    programs,
    ...localTmux(programs["tmux"]),
  };
}

/** Not from os.userInfo(), which trusts the environment. */
function account(uid: number): [name: string, shell: string] {
  for (const line of firstText("/etc/passwd").split("\n")) {
    const [name = "", , id, , , , shell = ""] = line.split(":");
    if (id === String(uid)) return [name, startable(shell)];
  }
  const id = Bun.which("id");
  const asked = id === null ? "" : askProgram([id, "-un"], { env: {}, timeoutMs: ACCOUNT_MS }).stdout.trim();
  return [asked || String(uid), startable(process.env["SHELL"] ?? "")];
}

/** A directory service that does not answer. */
const ACCOUNT_MS = 2_000;

/** "" if the account's shell is not installed. */
function startable(shell: string): string {
  return Bun.which(shell) === null ? "" : shell;
}

/** tmux does not even print its version without a UTF-8 locale. */
function locale(): Record<string, string> {
  const { LANG = "", LC_ALL = "", LC_CTYPE = "" } = process.env;
  return { LANG, LC_ALL, LC_CTYPE };
}

type TmuxFacts = Pick<MachineFacts, "tmuxVersion" | "tmuxProblem">;

function localTmux(path: string | undefined): TmuxFacts {
  if (path === undefined) {
    const unusable = unusableProgram("tmux");
    return unusable?.file === undefined ? {} : { tmuxProblem: unusable.text };
  }
  const { code, stdout, stderr, failure } = askProgram([path, "-V"], { env: locale(), timeoutMs: VERSION_MS });
  return failure === undefined ? tmuxFacts(`${stdout}${stderr} ${code} ${path}`) : { tmuxProblem: failure.text };
}

/** From the output of `tmux -V`; if that is no version, its exit code and the path of the file follow. */
function tmuxFacts(said = ""): TmuxFacts {
  const version = /^tmux (?:next-)?(\S+)/m.exec(said)?.[1];
  if (version !== undefined) return { tmuxVersion: version };
  const [, words = "", code, file = ""] = /^([^]*) (\d+) (.*)\n?$/.exec(said) ?? [];
  if (file === "") return {};
  if (code === "137") return { tmuxProblem: `${file} did not answer within ${VERSION_MS / 1000} s` };
  // Without the script name and line number that the shell prints first.
  const [why = ""] = words
    .replace(/^.*?: (?:line )?\d+: (?:eval: )?/, "")
    .replace(/^\S*tmux: /, "")
    .split("\n");
  return code === "126" || code === "127"
    ? { tmuxProblem: `${file} cannot be executed: ${why}` }
    : { tmuxProblem: `tmux does not start: ${why || "it gave no reason"}` };
}

/** Asks for the version if that was left for later. */
export async function askTmux(transport: Transport): Promise<TmuxFacts> {
  if (transport.facts.tmuxUnasked !== true) return transport.facts;
  const { stdout } = await transport.run(`${TMUX_VERSION}printf %s "$t"`, { quick: true });
  return tmuxFacts(stdout.toString());
}

/** The directory to work in on this machine, links followed; throws if it does not exist. */
export function directory(path: string): string {
  const full = expandTilde(path, homeDirectory());
  try {
    if (statSync(full).isDirectory()) return nameFrom(realpathSync(full, { encoding: "buffer" }));
  } catch {
    // Reported below, like a file that is not a directory.
  }
  throw new BuddyError("target", `this machine has no directory ${path}`, { hint: "Name another one with --cd." });
}

function stateHere(path: string): DirectoryState | undefined {
  const { mode, uid, gid } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return mode === undefined ? undefined : { mode, uid: uid ?? -1, gid: gid ?? -1 };
}

/** From `ls -ldn`. */
function statesOf(listing: string): (path: string) => DirectoryState | undefined {
  const states = new Map<string, DirectoryState>();
  for (const line of listing.split("\n")) {
    const [, rights = "", uid, gid, path = ""] = /^(d\S+)\s+\d+\s+(\d+)\s+(\d+)\s.*?\s(\/.*)$/.exec(line) ?? [];
    const bit = (at: number, letters: string, value: number) => (letters.includes(rights[at] ?? "?") ? value : 0);
    if (path !== "")
      states.set(path, {
        mode: bit(5, "w", 0o20) + bit(8, "w", 0o2) + bit(9, "tT", 0o1000),
        uid: Number(uid),
        gid: Number(gid),
      });
  }
  return (path) => states.get(path);
}

function firstText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
