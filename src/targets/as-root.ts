/**
 * Runs scripts as root on the target: directly if buddy is root, with `sudo -n` if that needs no password, otherwise
 * with sudo in the target's shell, where the operator can enter one.
 */
import rootStage from "../../templates/target/root-stage.sh" with { type: "text" };
import { script } from "../lib/script.ts";
import { randomBytes } from "node:crypto";
import { BuddyError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { deadline } from "../lib/waiting.ts";
import { LOADER, loaderLine } from "./script-line.ts";
import type { AsRootOptions, RunOutcome, RunResult, ScriptOptions, ScriptResult, Shell, Transport } from "./target.ts";

export interface RootScript extends ScriptOptions {
  /** What it does, for `ps` and sudo's own log: "write /etc/hosts". */
  readonly purpose: string;
}

export type RunAsRoot = (script: string, options: RootScript) => Promise<ScriptResult>;

export function runAsRoot(transport: Transport, shell: Shell | undefined, how: AsRootOptions): RunAsRoot {
  return async (script, { purpose, args = [], input = "", signal, ...rest }) => {
    const { home, uid } = transport.facts;
    if (uid === 0) return transport.run(script, { args, input, signal, ...rest });
    const data = typeof input === "string" ? Buffer.from(input) : input;
    const text = `${STARTED}HOME=${quote(home)}; ${TAKE}\n${script}`;
    const job: Job = { name: `buddy: ${purpose}`, input: Buffer.concat([Buffer.from(loaderLine(text, args)), data]) };
    const direct = await transport.run(WITHOUT_PASSWORD, { args: [job.name], input: job.input, signal, ...rest });
    const started = answered(direct);
    if (started !== undefined) return started;
    const why = refusalOf(direct);
    if (why !== "password" || shell === undefined) throw refused(why, direct.stderr, transport, purpose);
    const typed = await inShell(transport, shell, job, how, signal);
    return answered(typed) ?? Promise.reject(refused(refusalOf(typed), typed.stderr, transport, purpose));
  };
}

interface Job {
  readonly name: string;
  readonly input: Uint8Array;
}

/** The first line of the output: sudo has started the script. */
const MARK = "buddy-root";
const STARTED = `printf '${MARK}\\n'; `;
/** A function that script runners have and root's shell does not. */
const TAKE = `case $(printf ab | head -c 1 2>/dev/null) in a) take() { head -c "$1"; } ;; *) take() { dd ibs=1 obs=65536 count="$1" 2>/dev/null; } ;; esac`;

const NO_SUDO = 61;
const WITHOUT_PASSWORD = `
command -v sudo >/dev/null 2>&1 || exit ${NO_SUDO}
LC_ALL=C LANGUAGE=C sudo -n -- /bin/sh -c '${LOADER}' "$1"
`;

function answered(result: ScriptResult): ScriptResult | undefined {
  const start = `${MARK}\n`;
  if (result.stdout.subarray(0, start.length).toString("latin1") !== start) return undefined;
  return { ...result, stdout: result.stdout.subarray(start.length) };
}

type Refusal = "missing" | "password" | "forbidden" | "wrong-password" | "other";

/** sudo has no exit codes of its own, only messages, here in the C locale. */
const SAID: readonly (readonly [RegExp, Refusal])[] = [
  [/incorrect password attempt|authentication failure/i, "wrong-password"],
  [
    /password is required|terminal is required|must have a tty|no askpass program|no password was provided/i,
    "password",
  ],
  [/not allowed to|not in the sudoers|may not run sudo|not allowed to run sudo|is not permitted/i, "forbidden"],
];

function refusalOf({ code, stderr }: ScriptResult): Refusal {
  if (code === NO_SUDO) return "missing";
  return SAID.find(([pattern]) => pattern.test(stderr))?.[1] ?? "other";
}

function refused(why: Refusal, stderr: string, { facts }: Transport, purpose: string): BuddyError {
  const who = `${facts.user}@${facts.host}`;
  const said = stderr.trim().split("\n").at(-1) ?? "";
  const nothing = `cannot ${purpose} as root`;
  switch (why) {
    case "missing":
      return new BuddyError("target", `${nothing}: sudo is not installed on ${facts.host}`, {
        hint: "Connect as root, or ask the operator to install sudo.",
      });
    case "forbidden":
      return new BuddyError("target", `${nothing}: the sudoers rules do not let ${who} run a shell as root`, {
        hint: `sudo said: ${said.replace(/\.$/, "")}. Ask the operator; sudo -l shows what is allowed.`,
      });
    case "wrong-password":
      return new BuddyError("target", `${nothing}: sudo did not get the right password`, {
        hint: "Nothing was changed. Ask the operator before you try again.",
      });
    case "password":
      return new BuddyError("target", `${nothing}: sudo needs a password, and none was given`, {
        hint: "The operator can enter it on buddy's terminal or in the pane, or allow this without one (NOPASSWD in sudoers).",
      });
    case "other":
      return new BuddyError("target", `${nothing}: sudo did not start${said === "" ? "" : `: ${said}`}`, {
        hint: "Nothing was changed.",
      });
  }
}

/** How long the operator may take to enter the password. */
const PASSWORD_MS = 5 * 60_000;

const STAGE = script(rootStage);
const COLLECT = `cat "$1/err" >&2; cat "$1/out"; :`;

async function inShell(
  transport: Transport,
  shell: Shell,
  job: Job,
  how: AsRootOptions,
  signal: AbortSignal | undefined,
): Promise<ScriptResult> {
  const staged = await transport.run(STAGE, { args: [`.buddy-${randomBytes(8).toString("hex")}`], input: job.input });
  if (staged.code !== 0) throw new BuddyError("target", `cannot prepare a command for sudo: ${staged.stderr.trim()}`);
  const directory = staged.stdout.toString();
  const [from, to, errors] = ["in", "out", "err"].map((name) => quote(`${directory}/${name}`));
  // A pane's shell may have an alias for sudo; in a direct shell, buddy's own function gets the password.
  const sudo = shell.kind === "direct" ? "sudo" : "command sudo";
  const line = `${sudo} -- /bin/sh -c ${quote(LOADER)} ${quote(job.name)} <${from} >${to} 2>${errors}`;
  using limit = deadline(PASSWORD_MS);
  try {
    const ran = await shell.run(line, {
      signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
      keep: 2000,
      ...how,
    });
    signal?.throwIfAborted();
    const code = exitCode(ran, limit.signal.aborted);
    const collected = await transport.run(COLLECT, { args: [directory] });
    return { ...collected, code };
  } finally {
    await transport.run('rm -rf -- "$1"', { args: [directory] });
  }
}

function exitCode({ outcome, notes }: RunResult, late: boolean): number {
  if (outcome.kind === "exited") return outcome.code;
  const why = late ? "no password was given in time" : WHY[outcome.kind](outcome);
  throw new BuddyError("target", `sudo could not ask for its password: ${why}`, {
    hint: [...notes, "Nothing was changed."].join(" "),
  });
}

const WHY: { readonly [K in RunOutcome["kind"]]: (outcome: RunOutcome) => string } = {
  exited: () => "",
  running: () => "another program runs in the pane",
  waiting: () => "a program in the pane waits for input",
  incomplete: () => "the shell did not accept the command",
  "shell-ended": () => "the shell ended",
  stopped: () => "it was stopped",
  lost: (outcome) => (outcome.kind === "lost" ? outcome.why : ""),
};
