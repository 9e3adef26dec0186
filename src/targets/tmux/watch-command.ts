/** Waits for a command: its end, a prompt for input or a password, the time limit, or an abort. */
import { words } from "../../lib/text.ts";
import { unlessAborted, within } from "../../lib/waiting.ts";
import type { RunOptions, RunOutcome, AskPassword } from "../target.ts";
import type { PaneInput } from "./pane-input.ts";
import { named } from "./pane-state.ts";
import { asksForPassword, type ForegroundState } from "./probe.ts";
import type { RunningCommand } from "./running-command.ts";

type Waiting = RunOutcome & { kind: "waiting" };

/** A program that is silent for this long is checked; a busy one less and less often. */
const QUIET_MS = 300;
const MAX_QUIET_MS = 1200;
/** Between two checks that must agree. */
const AGAIN_MS = 100;
/** A full-screen program is reported after this even if it keeps drawing. */
const FULL_SCREEN_MS = 1000;
/** fish has no second prompt: it just waits for the rest of the line. */
const UNSTARTED_MS = 1500;
/** A shell that reads a line but has not taken the command may be in the middle of a search or a key sequence. */
const UNTAKEN_MS = 1200;
/** A shell that reads a line for this long without taking the command will not take it. */
const UNANSWERED_MS = 10_000;
/** From Ctrl-C to TERM, and between the KILLs that follow. */
const INTERRUPT_MS = 350;
const ROUNDS = 12;
/** An answer takes a round trip or two; during a reconnect there is none. */
const REACH_MS = 1000;

export async function watchCommand(command: RunningCommand, options: RunOptions, pane: PaneInput): Promise<RunOutcome> {
  const prompt = new PasswordPrompt(command, pane, command.clean === undefined ? options.password : undefined);
  try {
    return await watched(command, options, pane, prompt);
  } finally {
    prompt.gone();
  }
}

async function watched(
  command: RunningCommand,
  options: RunOptions,
  pane: PaneInput,
  prompt: PasswordPrompt,
): Promise<RunOutcome> {
  const deadline = options.waitMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.waitMs;
  let pause = QUIET_MS;
  let looked = 0;
  let before: ForegroundState | undefined;
  let fullScreenSince = 0;
  let reported: string | undefined;
  let woken = 0;
  let resumed = false;
  for (;;) {
    const now = performance.now();
    const look = command.recording.fullScreen ? now + QUIET_MS : Math.max(command.lastActivity, looked) + pause;
    const event = await next(command, Math.min(look, deadline) - now, options.signal);
    if (command.outcome !== undefined) return command.outcome;
    if (event === "aborted") return stop(command, pane);
    if (performance.now() >= deadline) {
      return reported === undefined
        ? atDeadline(command, pane, before)
        : { kind: "waiting", for: "password", program: reported };
    }
    const silence = performance.now() - command.lastActivity;
    if (command.recording.fullScreen) {
      fullScreenSince ||= now;
      if (performance.now() - fullScreenSince < FULL_SCREEN_MS && silence < QUIET_MS) continue;
    } else {
      fullScreenSince = 0;
      if (command.lastActivity > looked) pause = QUIET_MS;
      if (silence < pause - 1) continue;
    }
    if (command.phase === "taken" && performance.now() - command.lastActivity > UNSTARTED_MS) {
      pane.abandonLine();
      continue;
    }
    const prompting = command.recording.lastLine.trim() !== "";
    // A look at a shell that has not taken the command says nothing about it, even if it is taken before the look ends.
    const isTaken = command.phase !== "sent";
    // A look takes two round trips: the end of the command does not wait for it.
    const looking = unlessAborted(options.signal, pane.lookInStep(prompting)).catch(() => undefined);
    const seen = await Promise.race([looking, command.ended.then(() => undefined)]);
    if (command.outcome !== undefined) return command.outcome;
    const idle = seen !== undefined && seen.shellItself && seen.doing !== "working";
    const isUntaken = command.phase === "sent" && performance.now() - command.lastActivity > UNTAKEN_MS;
    if (isUntaken && seen?.shellItself === true && seen.stoppable && !resumed) {
      resumed = true;
      await pane.resumeOutput().catch(() => {});
      looked = performance.now();
      continue;
    }
    if (isUntaken && idle && woken < 3) {
      const { lastActivity } = command;
      // In line mode there is no editor that could read the key.
      if (seen.doing === "line") await pane.type(command);
      else await pane.pressAgain(command, woken).catch(() => {});
      woken++;
      command.lastActivity = lastActivity;
      looked = performance.now();
      continue;
    }
    if (command.phase === "sent" && idle && performance.now() - command.lastActivity > UNANSWERED_MS) {
      if (await pane.withdraw(command)) return { kind: "lost", why: NOT_ACCEPTED, notRun: true };
      if (command.phase === "sent") pane.giveUp(command, { kind: "lost", why: UNANSWERED });
      continue;
    }
    const waiting = seen === undefined || !isTaken ? undefined : judge(seen, before, command);
    const first = before === undefined || before.doing !== seen?.doing;
    before = isTaken ? seen : undefined;
    looked = performance.now();
    if (waiting === undefined) {
      if (seen !== undefined) prompt.gone();
      const doubtful = first && (seen?.doing === "line" || seen?.doing === "raw");
      pause = doubtful ? AGAIN_MS : Math.min(Math.max(pause, QUIET_MS) * 1.5, MAX_QUIET_MS);
      if (seen?.doing === "working") reported = undefined;
      continue;
    }
    if (waiting.for !== "password") {
      options.onWaiting?.(waiting);
      return waiting;
    }
    // The operator is not asked for the password of a command that needed no approval.
    if (command.clean !== undefined) return { ...waiting, uninvited: true };
    // buddy types only what the operator enters for this prompt; the operator can also type it in the pane.
    prompt.stands(waiting.program);
    if (reported !== waiting.program) options.onWaiting?.(waiting);
    reported = waiting.program;
    pause = MAX_QUIET_MS;
  }
}

const NOT_ACCEPTED =
  "the shell in the pane does not accept commands; it did not run. Look at the pane, and close it to get a new one";
const UNANSWERED =
  "the shell in the pane does not report what happens to commands; look at the pane before you run it again, and close the pane to get a new one";

function judge(
  seen: ForegroundState,
  before: ForegroundState | undefined,
  command: RunningCommand,
): Waiting | undefined {
  const { program } = seen;
  if (command.phase === "sent") return undefined;
  if (command.recording.fullScreen) return { kind: "waiting", for: "full-screen", program };
  switch (seen.doing) {
    case "working":
      return undefined;
    case "password":
      return { kind: "waiting", for: "password", program };
    case "line":
      // A command may just have ended: its shell reads a moment before the mark of the end arrives.
      if (seen.shellItself && before?.doing !== "line") return undefined;
      // The shell of a clean child gets its text as an argument: it waits for a line for `read`.
      return {
        kind: "waiting",
        for: INTERPRETERS.test(program) && !seen.shellItself && command.clean === undefined ? "repl" : "line",
        program,
      };
    case "raw":
      if (asksForPassword(seen, command.recording.lastLine, command.text))
        return { kind: "waiting", for: "password", program };
      // Raw mode alone does not mean waiting: only twice in a row, without CPU time in between.
      if (before?.doing !== "raw" || before.program !== program || before.cpu !== seen.cpu) return undefined;
      return { kind: "waiting", for: "repl", program };
  }
}

const INTERPRETERS =
  /^(ba|z|fi|da|a|mk|k)?sh$|^(python|node|bun|irb|ruby|psql|mysql|sqlite|lua|ghci|bc|gdb|ftp|sftp|telnet)/;

async function next(
  command: RunningCommand,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<"event" | "aborted"> {
  if (signal?.aborted === true) return "aborted";
  const { promise, resolve } = Promise.withResolvers<"event" | "aborted">();
  const timer = Number.isFinite(ms) ? setTimeout(() => resolve("event"), Math.max(1, ms)) : undefined;
  const abort = () => resolve("aborted");
  signal?.addEventListener("abort", abort, { once: true });
  void command.ended.then(() => resolve("event"));
  const event = await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", abort);
  return event;
}

async function atDeadline(
  command: RunningCommand,
  pane: PaneInput,
  before: ForegroundState | undefined,
): Promise<RunOutcome> {
  if (command.phase === "sent" && (await pane.withdraw(command))) {
    command.notes.push("The command was not started: another program kept the pane busy. It was withdrawn.");
    return { kind: "stopped", by: "deadline" };
  }
  // The program may have begun to wait since the last check, and a short wait had no check.
  const seen = await reached(pane.lookInStep(command.recording.lastLine.trim() !== ""));
  const waiting = typeof seen === "object" ? judge(seen, before, command) : undefined;
  return command.outcome ?? waiting ?? { kind: "running", why: "deadline" };
}

/** Ctrl-C, then TERM and KILL to the foreground, until the prompt is back. Gives up if the target does not answer. */
async function stop(command: RunningCommand, pane: PaneInput): Promise<RunOutcome> {
  const stopped: RunOutcome = { kind: "stopped", by: "user" };
  if (command.phase === "sent") {
    const withdrawn = await reached(pane.withdraw(command));
    if (withdrawn === true) return stopped;
    if (withdrawn === "silent") return unreachable(command);
  }
  for (let round = 0; round < ROUNDS && command.outcome === undefined; round++) {
    const done = round === 0 || round === 3 ? pane.press() : pane.signal(round === 1 ? "TERM" : ("KILL" as const));
    if ((await reached(done)) === "silent" || pane.closed) return unreachable(command);
    await next(command, round === 0 ? INTERRUPT_MS : INTERRUPT_MS / 2, undefined);
  }
  if (command.outcome?.kind === "lost") return command.outcome;
  if (command.outcome !== undefined) return stopped;
  command.notes.push("The program could not be ended; it may still run in the pane.");
  return { ...stopped, unseen: true };
}

async function reached<T>(act: Promise<T>): Promise<T | false | "silent"> {
  const settled = act.catch(() => false as const).then((value) => ({ value }));
  const answer = await within(settled, REACH_MS);
  return answer === undefined ? "silent" : answer.value;
}

function unreachable(command: RunningCommand): RunOutcome {
  const stopped: RunOutcome = { kind: "stopped", by: "user" };
  if (command.outcome !== undefined) return stopped;
  command.notes.push("The target does not answer: the program may still run there.");
  return { ...stopped, unseen: true };
}

export const ADOPT = " If it is a shell at its prompt, the operator can let buddy work in it: /adopt.";

/** Programs that may run a shell inside. */
const SHELL_HOLDERS = new Set(
  words(
    "sh bash zsh fish dash ash mksh ksh oksh yash csh tcsh rbash busybox " +
      "sudo su doas run0 pkexec runuser setpriv gosu newgrp sg env nix-shell script chroot unshare nsenter proot bwrap " +
      "ssh slogin autossh sshpass mosh-client et tsh teleport boundary telnet rlogin plink socat cu picocom minicom " +
      "docker podman nerdctl crictl ctr kubectl oc k3s nomad lxc lxc-attach incus pct machinectl systemd-nspawn jexec " +
      "toolbox distrobox flatpak-spawn virsh multipass limactl aws session-manager-plugin gcloud az flyctl",
  ),
);

export function holdsShell(program: string): boolean {
  return SHELL_HOLDERS.has(program.replace(/^-/, ""));
}

/** What to report instead of running a command in a pane that is not free. */
export function busyOutcome(
  seen: ForegroundState,
  current: RunningCommand | undefined,
  operatorCommand: string | undefined,
): { readonly outcome: RunOutcome; readonly note: string } {
  const what = current?.text ?? operatorCommand;
  const by = current === undefined ? "the operator's" : "an earlier";
  const running = what === undefined ? `${by} program ${seen.program}` : `${by} command ${JSON.stringify(named(what))}`;
  const waitsFor = seen.doing === "raw" ? "repl" : seen.doing;
  const screen = current?.recording.fullScreen === true ? ("full-screen" as const) : waitsFor;
  return {
    outcome:
      screen === "working"
        ? { kind: "running", why: "busy", program: seen.program }
        : { kind: "waiting", for: screen, program: seen.program, earlier: true },
    note: `Nothing was typed: ${running} is still in the foreground of this pane.${holdsShell(seen.program) ? ADOPT : ""}`,
  };
}

interface PromptPane {
  look(prompting: boolean): Promise<ForegroundState>;
  /** Types the bytes and Enter. */
  typeSecret(bytes: Uint8Array): Promise<void>;
}

/** By then a program has read what was typed, even if it prints nothing. */
const READ_MS = 3000;

/**
 * A password prompt in the pane: asks the operator once, types the answer only while the prompt is there, keeps none.
 */
class PasswordPrompt {
  readonly #command: RunningCommand;
  readonly #pane: PromptPane;
  readonly #ask: AskPassword | undefined;
  #asking: { readonly abort: AbortController; readonly activity: number } | undefined;
  /** The prompt for which buddy does not ask: left to the operator, or just answered. */
  #settled: { readonly activity: number; readonly until: number } | undefined;

  constructor(command: RunningCommand, pane: PromptPane, ask: AskPassword | undefined) {
    this.#command = command;
    this.#pane = pane;
    this.#ask = ask;
  }

  /** The program waits for a password. */
  stands(program: string): void {
    const activity = this.#command.lastActivity;
    if (this.#ask === undefined || this.#asking?.activity === activity) return;
    if (this.#settled?.activity === activity && performance.now() < this.#settled.until) return;
    // The program has printed something since: this is another prompt.
    this.gone();
    const asking = (this.#asking = { abort: new AbortController(), activity });
    const prompt = this.#command.recording.lastLine.trim();
    void this.#answer(this.#ask({ program, prompt, into: "pane", signal: asking.abort.signal }), program, asking);
  }

  /** The program no longer waits. */
  gone(): void {
    this.#asking?.abort.abort();
    this.#asking = undefined;
  }

  async #answer(
    asked: Promise<Uint8Array | undefined>,
    program: string,
    asking: { readonly abort: AbortController; readonly activity: number },
  ): Promise<void> {
    const bytes = await asked.catch(() => undefined);
    try {
      if (this.#asking !== asking) return;
      const { activity } = asking;
      if (bytes === undefined) this.#settled = { activity, until: Number.POSITIVE_INFINITY };
      else if (await this.#stillStands(program, activity)) {
        this.#settled = { activity, until: performance.now() + READ_MS };
        await this.#pane.typeSecret(bytes);
      }
    } catch {
      // The connection is gone: the command reports it.
    } finally {
      bytes?.fill(0);
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  async #stillStands(program: string, activity: number): Promise<boolean> {
    const seen = await this.#pane.look(true);
    const command = this.#command;
    const hidden = seen.doing === "password" || (seen.doing === "raw" && seen.silent);
    return hidden && seen.program === program && command.outcome === undefined && command.lastActivity === activity;
  }
}
