/** What the program in the foreground of a pane is doing: working, or waiting for input. */
import probeText from "../../../templates/target/probe-foreground.sh" with { type: "text" };
import signalText from "../../../templates/target/signal-foreground.sh" with { type: "text" };
import groupText from "../../../templates/target/foreground-group.sh" with { type: "text" };
import placeText from "../../../templates/target/foreground-place.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { nameFrom } from "../../lib/byte-names.ts";
import { words } from "../../lib/text.ts";
import type { Transport } from "../target.ts";

export interface ForegroundState {
  readonly doing: "working" | "password" | "line" | "raw";
  /** Name of the program in the foreground. */
  readonly program: string;
  /** What it has started and waits for, without job control: as a shell does in its start-up files. */
  readonly child: string | undefined;
  /** CPU time so far, to distinguish a busy program from a waiting one. */
  readonly cpu: number;
  /** The pane's own shell is in the foreground, not a program started from it. */
  readonly shellItself: boolean;
  /** The last shell has ended, and the supervisor is starting a new one. */
  readonly betweenShells: boolean;
  /** The terminal does not show what is typed. */
  readonly silent: boolean;
  /** Ctrl-S stops its output, and Ctrl-Q resumes it. */
  readonly stoppable: boolean;
}

const SCRIPT = script(probeText);

export async function probeForeground(
  transport: Transport,
  pane: { readonly pid: number; readonly tty: string },
  prompting: boolean,
): Promise<ForegroundState> {
  const result = await transport.run(SCRIPT, { args: [String(pane.pid), pane.tty], timeoutMs: 5000, quick: true });
  return readProbe(result.stdout.toString(), pane.pid, prompting);
}

/** `prompting`: the last line on the screen is unfinished, like a prompt. */
export function readProbe(text: string, supervisor: number, prompting: boolean): ForegroundState {
  const lines = text.split("\n").filter((line) => line !== "");
  const [mode, echo, flow, group, own] = (lines.pop() ?? "").split(" ");
  const processes = lines.map((line) => {
    const [pid, parent, state = "", wchan = "?", files, cpu, call = "?", ...name] = line.split(" ");
    // Stopped, or blocked in a write: neither waits for input.
    const reads = !/^[Tt]/.test(state) && !WRITES.has(call);
    return { pid, parent, wchan, files, cpu: Number(cpu) || 0, reads, name: name.join(" ") };
  });
  const silent = echo === "off";
  let leader = processes.find((one) => one.pid === group) ?? processes.at(-1);
  // A shell that waits for its child is not the running program, unless it is the pane's own.
  while (leader !== undefined && leader.parent !== String(supervisor) && SHELL.test(leader.name)) {
    const { pid } = leader;
    const started = processes.findLast((one) => one.parent === pid);
    if (started === undefined) break;
    leader = started;
  }
  const reading =
    processes.find((one) => one.reads && isReading(one.wchan, one.files, prompting)) ??
    // busybox polls before it reads: at a prompt, if only the terminal can be polled.
    processes.find(
      (one) => prompting && /poll/.test(one.wchan) && one.files === "0" && (silent || BUSYBOX.test(one.name)),
    ) ??
    // busybox reads a line with poll: a shell that polls, alone in the foreground, reads.
    processes.find((one) => processes.length === 1 && one.parent === String(supervisor) && /poll/.test(one.wchan));
  const subject = reading ?? leader;
  const program = (subject?.name ?? "").replace(/^.*\//, "") || "unknown";
  const child = processes.findLast((one) => one.parent === subject?.pid)?.name;
  const cpu = processes.reduce((sum, one) => sum + one.cpu, 0);
  const betweenShells = group !== undefined && group === own;
  const shellItself = !betweenShells && subject !== undefined && subject.parent === String(supervisor);
  const unreadable = processes.length > 0 && processes.every((one) => one.reads && /^[?0]$/.test(one.wchan));
  const seen = { program, child, cpu, shellItself, betweenShells, silent, stoppable: flow === "on" };
  if (mode === "raw") return { doing: "raw", ...seen };
  if (silent && (reading !== undefined || unreadable)) return { doing: "password", ...seen };
  return { doing: reading === undefined ? "working" : "line", ...seen };
}

/**
 * Whether the program waits for a password. In raw mode the program itself, or a remote terminal (ssh), hides what is
 * typed: then the text before the cursor decides, or, for fish, the command that it runs.
 */
export function asksForPassword(
  { doing, program }: ForegroundState,
  beforeCursor: string,
  command: string | undefined,
): boolean {
  if (doing === "password") return true;
  if (doing !== "raw") return false;
  return isPasswordPrompt(beforeCursor) || (program === "fish" && SILENT_READ.test(command ?? ""));
}

/** The prompt of this `read` does not say that it is silent. */
const SILENT_READ = /\bread\b[^;|&\n]*\s(?:-[a-zA-Z]*s|--silent\b)/;

/**
 * Whether fish reads a line in a command that does not show how: in a function or a script, `read` may be silent.
 * `command` is the line that the pane's shell runs.
 */
export function mayReadSilently({ doing, program, shellItself }: ForegroundState, command: string): boolean {
  return doing === "raw" && program === "fish" && !(shellItself ? OPEN_READ : FISH_AT_PROMPT).test(command);
}

/** Nothing runs there but `read` and commands that cannot read. */
const OPEN_READ =
  /^(?:\s*(?:read|echo|printf|set|test|string|count|math)\b(?:(?!\s(?:-[a-zA-Z]*s|--silent\b))[^;|&()\n])*(?:[;\n]|$))+$/;
const FISH_AT_PROMPT = /(?:^|[\s/])fish(?:\s+(?:-[il]+|--interactive|--login|--private|--no-config))*\s*$/;

export function isPasswordPrompt(line: string): boolean {
  return PASSWORD_PROMPT.test(line);
}

/** The word for a password as sudo, su and ssh translate it, and other things that are typed unseen. */
const SECRETS = [
  "pass(?:word|phrase|code|wort|wd|ord)|kennwort|mot de passe|contrase(?:ña|nya)|contrasinal|senha|wachtwoord|lösenord",
  "adgangskode|salasana|salasõna|parool|parol[ae]|jelszó|hasło|heslo|geslo|lozinka|slaptažodis|lykilorð|pasvorto|pasahitza",
  "kata sandi|şifre|mật khẩu|пароль|парола|лозинка|κωδικός|συνθηματικό|密[码碼]|口令|パスワード|パスフレーズ|암호",
  "\\bsecret\\b|\\b(?:api|access|recovery)[ -]key\\b|\\btoken\\b|one-time|\\b(?:PIN|T?OTP|PUK)\\b",
  "(?:verification|authenticat(?:or|ion)|security|access|[2m]fa) code",
].join("|");
const PASSWORD_PROMPT = new RegExp(
  `(?:${SECRETS})(?:[^\\n]{0,80}[:：]|\\?)\\s*(?:\\(press [^()]*\\)\\s*)?[*•●]*\\s*$`,
  "iu",
);

const BUSYBOX = /^(?:busybox|-?a?sh)$/;
const SHELL = /^-?(?:ba|z|da|a|mk|k)?sh$/;

/** System call numbers of write, pwrite and writev on x86-64, arm64 and 32-bit systems; none is a read on another. */
const WRITES = new Set(words("1 4 18 20 64 66 68 146"));

/**
 * `wait_woken` is also a blocking read from a socket: counts if the terminal is open, without a socket or at a prompt.
 */
function isReading(wchan: string, files: string | undefined, prompting: boolean): boolean {
  if (/n_tty_read|tty_read|ttyin|ttread/.test(wchan)) return true;
  if (wchan === "wait_woken") return files === "0" || (files === "1" && prompting);
  return wchan === "?" && prompting;
}

const SIGNAL = script(signalText);

export async function signalForeground(
  transport: Transport,
  pane: { readonly pid: number },
  signal: string,
): Promise<void> {
  await transport.run(SIGNAL, { args: [String(pane.pid), signal], timeoutMs: 5000, quick: true });
}

const GROUP = script(groupText);

/** 0 if there is none. */
export async function foregroundGroup(transport: Transport, pane: { readonly pid: number }): Promise<number> {
  const { stdout } = await transport.run(GROUP, { args: [String(pane.pid)], timeoutMs: 5000, quick: true });
  return Math.max(0, Number(stdout.toString()) || 0);
}

const PLACE = script(placeText);

export interface ForegroundPlace {
  readonly cwd: string;
  readonly user: string;
  readonly program: string;
  readonly shellItself: boolean;
}

/** Undefined without /proc. */
export async function foregroundPlace(
  transport: Transport,
  pane: { readonly pid: number },
  runsClean: boolean,
): Promise<ForegroundPlace | undefined> {
  const args = [String(pane.pid), runsClean ? "1" : "0"];
  const { stdout } = await transport.run(PLACE, { args, timeoutMs: 5000, quick: true });
  const [cwd = "", user = "", program = "", itself] = nameFrom(stdout).split("\0");
  return itself === undefined ? undefined : { cwd, user, program, shellItself: itself === "1" };
}
