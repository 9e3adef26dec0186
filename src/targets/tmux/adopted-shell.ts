/**
 * A shell that the operator started and buddy works in: hooks that buddy types into it mark the start and end of
 * commands. `sudo -i`, `ssh other`, `docker exec -it` in the shared pane, or any shell in a pane of the operator's
 * tmux.
 */
import { isTerminalReply, TypedLine, YANK } from "./typed-line.ts";
import { movedAway } from "./typed-keys.ts";
import { isPasswordPrompt } from "./probe.ts";
import { randomBytes, randomInt } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { shorten } from "../../lib/text.ts";
import { Condition, OneAtATime, within } from "../../lib/waiting.ts";
import { NO_OUTPUT, Recording } from "../output/recording.ts";
import type { OutputStore } from "../output/output-store.ts";
import type {
  MachineFacts,
  OutputPage,
  ReadOutputOptions,
  RunOptions,
  RunOutcome,
  RunResult,
  Shell,
  ShellPlace,
} from "../target.ts";
import { BARE_IN_FISH, bareFunction, settings } from "../read-only/clean-environment.ts";
import { cleanChild } from "../read-only/clean-script.ts";
import {
  type AdoptedShellName,
  askKind,
  commandLines,
  hooks,
  quoteFor,
  TAKE_OUT,
  unseenKey,
  unseenLine,
  unseenText,
  VIEW,
  WHO,
} from "./adopted-hooks.ts";
import { hexKeys, typeKeys } from "./capture.ts";
import { type Mark, MarkScanner } from "./markers.ts";
import { ADOPT } from "./watch-command.ts";

export interface InnerMachine extends Pick<MachineFacts, "user" | "uid" | "host" | "machine" | "os" | "home"> {
  readonly bash: boolean;
  /** The same for two processes that see the same files. */
  readonly view: string;
}

export interface AdoptedPane {
  readonly outputStore: OutputStore;
  width(): number;
  /** Presses keys: arguments of send-keys. */
  send(keys: string): Promise<void>;
  /** Why nothing may be typed now; undefined if it may. */
  obstacle?(): Promise<string | undefined>;
}

/** How long the shell may take to respond. */
const ANSWER_MS = 5000;
/** How long a command waits for the prompt before it is reported as busy. */
const READY_MS = 1500;
/** How long to wait for the end after Ctrl-C. */
const INTERRUPT_MS = 2000;
/** The longest line that a terminal without a line editor accepts. */
const MOST_TYPED = 3500;
/** A longer command takes several lines: up to about 16 KB. */
const MAX_LINES = 20;
const BARE = {
  bash: bareFunction("\\builtin "),
  zsh: bareFunction("\\builtin "),
  fish: BARE_IN_FISH,
  sh: bareFunction("\\command "),
};
const MOST_SHOWN = 300;
const QUIET_MS = 1500;
/** A pause in the operator's typing, and how long a command waits for one. */
const PAUSE_MS = 1000;
const TYPING_MS = 15_000;
/** How long the prompt may take after the hooks were removed. */
const OUT_MS = 700;
const INTERRUPT = "C-c";
const INTERRUPTED = 130;
const LONGEST_PROMPT = 4096;

interface Running {
  readonly tag: number;
  readonly recording: Recording;
  readonly notes: string[];
  outcome: RunOutcome | undefined;
  started: boolean;
  lastActivity: number;
}

export class AdoptedShell implements Shell {
  readonly kind = "tmux";
  readonly #pane: AdoptedPane;
  readonly #atPrompt: () => void;
  readonly #key = randomBytes(12).toString("hex");
  readonly #scanner: MarkScanner;
  readonly #changes = new Condition();
  readonly #turns = new OneAtATime();
  #name: AdoptedShellName = "sh";
  #cwd = "/";
  /** The directory of the shell is unknown. */
  #disputed = false;
  #ready = false;
  #ended = false;
  #current: Running | undefined;
  #last: RunResult | undefined;
  #machine: InnerMachine | undefined;
  #worded: MarkScanner | undefined;
  /** Part of the names of its functions. */
  #word = "";
  /** It has the function that empties the environment of a command. */
  #hasBare = false;
  #typed = new TypedLine();
  /** The output before the prompt was ready: its last line is the prompt. */
  #before = Buffer.alloc(0);
  #typedAt = 0;
  /** What the operator had typed when a command was sent. */
  #aside = "";
  #out: "" | "marked" | "prompt" = "";

  /** `atPrompt`: called at each prompt, when whatever was started from the shell has ended. */
  constructor(pane: AdoptedPane, atPrompt: () => void = () => {}) {
    this.#pane = pane;
    this.#atPrompt = atPrompt;
    this.#scanner = new MarkScanner(
      this.#key,
      (bytes) => this.#text(bytes),
      (mark) => this.#mark(mark),
    );
  }

  get cwd(): string {
    return this.#cwd;
  }

  /** bash, zsh, fish or sh. */
  get name(): string {
    return this.#name;
  }

  /** The shell is at its prompt. */
  get isReady(): boolean {
    return this.#ready && !this.#ended;
  }

  get machine(): InnerMachine {
    if (this.#machine === undefined) throw new Error("the shell has not been adopted");
    return this.#machine;
  }

  where(): Promise<ShellPlace> {
    const busy = this.#ready ? {} : { program: "a program in the adopted shell" };
    const typed = this.#ready ? this.#typed.text() : "";
    return Promise.resolve({ cwd: this.#disputed ? "" : this.#cwd, user: this.#machine?.user ?? "", typed, ...busy });
  }

  /** Installs the hooks, and asks who and where the shell is. */
  async start(): Promise<void> {
    const { word, kind, unseen } = this.#listen();
    this.#word = word;
    await this.#type(askKind(word));
    const silent = new BuddyError("usage", "the program in the pane does not respond like a shell at its prompt", {
      hint: "Bring the shell to its prompt in the pane, then try again.",
    });
    this.#name = (await within(kind, ANSWER_MS)) ?? (await Promise.reject(silent));
    for (const line of hooks(this.#name, word)) await this.#type(line);
    if ((await within(unseen, ANSWER_MS)) === undefined) {
      await this.#pane.send(INTERRUPT);
      throw silent;
    }
    await this.#typeUnseen(unseenKey(this.#key));
    this.#worded = undefined;
    await this.#changes.until(() => this.#ready || this.#ended, ANSWER_MS);
    if (!this.#ready) throw silent;
    const asked = `sh -c ${quoteFor(this.#name, `{ ${WHO}${VIEW}; } 2>/dev/null`)}`;
    const { outcome, output } = await this.run(asked, { waitMs: ANSWER_MS });
    const [user = "", uid = "", host = "", machine = "", os = "", home = "", bash = "", view = ""] = output.head
      .split("\n")
      .map((line) => line.trim());
    if (outcome.kind !== "exited" || user === "" || host === "" || !/^\d+$/.test(uid)) throw silent;
    this.#machine = { user, uid: Number(uid), host, machine: machine || host, os, home, bash: bash !== "", view };
  }

  /** For marks that a typed line prints: the line is on the screen, so they have a word of their own, not the key. */
  #listen(): { word: string; kind: Promise<AdoptedShellName>; unseen: Promise<true> } {
    const kind = Promise.withResolvers<AdoptedShellName>();
    const unseen = Promise.withResolvers<true>();
    const word = randomBytes(6).toString("hex");
    this.#worded = new MarkScanner(
      word,
      () => {},
      (mark) => {
        if (mark.kind === "shell-kind") kind.resolve(mark.name);
        else if (mark.kind === "no-editor") unseen.resolve(true);
      },
    );
    return { word, kind: kind.promise, unseen: unseen.promise };
  }

  /** Removes the hooks, if the shell is at its prompt. */
  async leave(): Promise<void> {
    // After a command that has just ended, the prompt follows.
    if (this.#current === undefined) await this.#changes.until(() => this.#ready || this.#ended, OUT_MS);
    if (!this.isReady || (await this.#pane.obstacle?.()) !== undefined || !this.isReady) return;
    // tmux has answered, so everything typed before is known.
    const typed = this.#typed.text();
    this.#ready = false;
    await this.#type(TAKE_OUT);
    if (typed === "" || isTerminalReply(typed)) return;
    // At the next prompt, which is the first text after the last mark.
    await this.#changes.until(() => this.#out === "prompt", OUT_MS);
    await this.#type(typed, false);
  }

  /** Bytes of the pane. */
  feed(bytes: Buffer): void {
    if (this.#ended) return;
    this.#worded?.feed(bytes);
    this.#scanner.feed(bytes);
  }

  /** The shell has ended: the outer shell is at its prompt again, or the pane is gone. */
  end(): void {
    this.#ended = true;
    this.#finish({ kind: "lost", why: "the adopted shell ended before the command" });
    this.#changes.changed();
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#turns.take(() => this.#run(command, options), options.signal);
    return result ?? this.#notRun({ kind: "stopped", by: "user" }, ["It had not started."]);
  }

  async wait(options: Omit<RunOptions, "noWait"> = {}): Promise<RunResult> {
    if (this.#current !== undefined) return this.#watch(this.#current, options);
    if (this.#last !== undefined) return this.#last;
    throw new BuddyError("tool", "no command has been run in this shell yet", { hint: "Run one first." });
  }

  async readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage> {
    return await this.#pane.outputStore.read(id, options);
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    if (command.includes("\0")) throw new BuddyError("tool", "a command cannot contain a NUL byte");
    if (options.unasked !== undefined && !this.#hasBare) {
      this.#hasBare = true;
      const defined = await this.#run(BARE[this.#name], { waitMs: ANSWER_MS });
      if (defined.outcome.kind !== "exited") return defined;
    }
    const tag = randomInt(1, 2 ** 31 - 1);
    const text = this.#child(command, options);
    const { shown } = options;
    const unseen = shown === undefined ? undefined : { ...this.#listen(), text: unseenText(text, tag) };
    const lines =
      shown === undefined || unseen === undefined
        ? commandLines(this.#word, text, tag)
        : [unseenLine(this.#word, shorten(shown, MOST_SHOWN), unseen.word)];
    if (lines.length > MAX_LINES || (unseen?.text.length ?? 0) > MOST_TYPED) {
      throw new BuddyError("tool", "the command is too long for an adopted shell, where it must be typed", {
        hint: "Split it, or ask the operator to connect buddy to that machine itself.",
      });
    }
    await this.#changes.until(() => this.#ready || this.#ended, READY_MS, options.signal);
    await this.#operatorTypes(options);
    const obstacle = this.#ready ? await this.#pane.obstacle?.() : undefined;
    if (options.signal?.aborted === true) return this.#notRun({ kind: "stopped", by: "user" }, ["It had not started."]);
    if (this.#ended)
      return this.#notRun({ kind: "lost", why: "the adopted shell has ended; it did not run", notRun: true }, []);
    if (options.onlyIn !== undefined && options.onlyIn !== this.#cwd) {
      const why = movedAway(this.#cwd, options.onlyIn);
      return this.#notRun({ kind: "lost", why, notRun: true }, []);
    }
    if (!this.#ready || obstacle !== undefined) {
      // The program in front may be on another machine: only the operator can see whether it is a shell.
      const adopt = this.#current === undefined ? ADOPT : "";
      const note = `Nothing was typed: ${obstacle ?? "another program runs in the adopted shell"}.${adopt}`;
      return this.#notRun({ kind: "running", why: "busy" }, [note]);
    }
    const running = this.#begin(tag, options);
    for (const line of lines) await this.#type(line);
    if (unseen !== undefined && (await within(unseen.unseen, ANSWER_MS)) === undefined) {
      await this.#pane.send(INTERRUPT);
      this.#finish({
        kind: "lost",
        why: "the shell could not read the command without showing it; it did not run",
        notRun: true,
      });
      return this.#result(running, running.outcome ?? { kind: "stopped", by: "user" });
    }
    if (unseen !== undefined) await this.#typeUnseen(unseen.text);
    this.#worded = undefined;
    if (options.noWait === true) return this.#result(running, { kind: "running", why: "no-wait" });
    return this.#watch(running, options);
  }

  #begin(tag: number, options: RunOptions): Running {
    const typed = this.#typed.text();
    this.#aside = isTerminalReply(typed) ? "" : this.#typed.isScrolled ? YANK : typed;
    const notes = this.#aside === "" ? [] : ["A line that the operator had typed was set aside and put back."];
    const recording = new Recording(this.#pane.outputStore.open(), options, "stdout");
    const lastActivity = performance.now();
    const running: Running = { tag, recording, notes, outcome: undefined, started: false, lastActivity };
    this.#current = running;
    this.#ready = false;
    return running;
  }

  /** Waits for a pause in the operator's typing: their Enter must not run half a line. */
  async #operatorTypes(options: RunOptions): Promise<void> {
    const end = performance.now() + Math.min(TYPING_MS, (options.waitMs ?? Infinity) / 2);
    const types = () => this.isReady && this.#typed.text() !== "" && performance.now() - this.#typedAt < PAUSE_MS;
    if (types()) options.onDelay?.("The operator is typing in the pane; the command waits for a pause.");
    while (types() && performance.now() < end && options.signal?.aborted !== true)
      await this.#changes.until(() => !this.isReady, PAUSE_MS / 4, options.signal);
    await this.#changes.until(() => this.#ready || this.#ended, READY_MS, options.signal);
  }

  async #watch(running: Running, options: RunOptions): Promise<RunResult> {
    const started = performance.now();
    for (;;) {
      const left = (options.waitMs ?? Number.POSITIVE_INFINITY) - (performance.now() - started);
      if (running.outcome === undefined && left > 0 && options.signal?.aborted !== true)
        await this.#changes.until(() => running.outcome !== undefined, Math.min(left, QUIET_MS), options.signal);
      if (running.outcome !== undefined) return this.#result(running, running.outcome);
      if (options.signal?.aborted === true) {
        await this.#pane.send(INTERRUPT);
        await this.#changes.until(() => running.outcome !== undefined, INTERRUPT_MS);
        return this.#result(running, { kind: "stopped", by: "user" });
      }
      const asks = isPasswordPrompt(running.recording.lastLine);
      if (left <= 0) {
        if (asks) return this.#result(running, { kind: "waiting", for: "password", program: "a program" });
        return this.#result(running, { kind: "running", why: "deadline" });
      }
      if (asks && performance.now() - running.lastActivity > QUIET_MS)
        options.onWaiting?.({ kind: "waiting", for: "password", program: "a program" });
    }
  }

  /** Clears the line and types the text. */
  #type(text: string, enter = true): Promise<void> {
    return this.#pane.send(typeKeys(text, enter));
  }

  /** Types text that the terminal does not show, and Enter. */
  #typeUnseen(text: string): Promise<void> {
    return this.#pane.send(`-H ${hexKeys(text)} 0d`);
  }

  /** A command without approval runs as a child that knows nothing about this shell. */
  #child(command: string, { unasked }: RunOptions): string {
    if (unasked === undefined) return command;
    const shell = this.machine.bash ? ({ kind: "bash", path: "bash" } as const) : ({ kind: "sh", path: "sh" } as const);
    const own = settings({ ...this.machine, path: "" });
    return cleanChild(command, shell, own, (word) => quoteFor(this.#name, word));
  }

  #text(bytes: Buffer): void {
    if (this.#out !== "") {
      this.#out = "prompt";
      this.#changes.changed();
      return;
    }
    const running = this.#current;
    if (!this.#ready)
      this.#before = Buffer.concat([this.#before, bytes.subarray(-LONGEST_PROMPT)]).subarray(-LONGEST_PROMPT);
    if (running?.started === true) {
      running.lastActivity = performance.now();
      running.recording.write(bytes);
    } else if (this.#ready && (bytes.includes(10) || bytes.includes("\u001b[?1049h"))) {
      // The operator entered a line.
      this.#ready = false;
      this.#changes.changed();
    } else if (this.#ready) {
      this.#typed.write(bytes);
      this.#typedAt = performance.now();
    }
  }

  #mark(mark: Mark): void {
    const running = this.#current;
    const ours = running !== undefined && "tag" in mark && mark.tag === running.tag;
    switch (mark.kind) {
      case "started":
        if (ours) running.started = true;
        break;
      case "prompt":
        if (!ours) break;
        this.#cwd = mark.cwd || this.#cwd;
        this.#disputed = mark.cwd === "";
        this.#finish({ kind: "exited", code: mark.code });
        break;
      case "ready":
        // A prompt without the mark of the end: Ctrl-C, or a syntax error.
        if (running?.started === true) this.#finish({ kind: "exited", code: INTERRUPTED });
        if (this.#current !== undefined) break;
        this.#takePlace(mark.cwd ?? this.#cwd);
        this.#promptDrawn();
        break;
      case "shell-ended":
        this.#out ||= "marked";
        break;
      default:
        break;
    }
    this.#changes.changed();
  }

  /** Two prompts in two directories without a line between them: one of the marks is not from the shell. */
  #takePlace(cwd: string): void {
    if (this.#ready) this.#disputed ||= cwd !== this.#cwd;
    else [this.#cwd, this.#disputed] = [cwd || this.#cwd, cwd === ""];
  }

  #promptDrawn(): void {
    this.#ready = true;
    const prompt = this.#before.subarray(this.#before.lastIndexOf(10) + 1);
    this.#typed = new TypedLine({ prompt, width: () => this.#pane.width() });
    const line = this.#aside;
    this.#aside = "";
    if (line !== "") void this.#type(line, false).catch(() => {});
    this.#atPrompt();
  }

  #finish(outcome: RunOutcome): void {
    const running = this.#current;
    if (running === undefined) return;
    this.#current = undefined;
    running.outcome = outcome;
    running.recording.end();
  }

  #result(running: Running, outcome: RunOutcome): RunResult {
    const { recording, notes } = running;
    const result: RunResult = {
      outcome,
      output: recording.captured(),
      cwd: this.#cwd,
      outputId: recording.id,
      notes: notes.splice(0),
    };
    this.#last = result;
    return result;
  }

  #notRun(outcome: RunOutcome, notes: readonly string[]): RunResult {
    return { outcome, output: NO_OUTPUT, cwd: this.#cwd, notes };
  }
}

/**
 * The adopted shells of one pane, one inside the other: when an outer one is at its prompt, the inner ones have ended.
 */
export class AdoptedShells {
  readonly #shells: { readonly shell: AdoptedShell; ended: () => void }[] = [];

  get innermost(): AdoptedShell | undefined {
    return this.#shells.at(-1)?.shell;
  }

  feed(bytes: Buffer): void {
    for (const { shell } of this.#shells.slice()) shell.feed(bytes);
  }

  /** Adopts the shell in the foreground of the pane. */
  async adopt(pane: AdoptedPane, ended: () => void): Promise<AdoptedShell> {
    const shell = new AdoptedShell(pane, () => this.#endInside(shell));
    const entry = { shell, ended: () => {} };
    this.#shells.push(entry);
    try {
      await shell.start();
      entry.ended = ended;
      return shell;
    } catch (error) {
      const at = this.#shells.indexOf(entry);
      if (at >= 0) this.#shells.splice(at, 1);
      throw error;
    }
  }

  /** The pane's own prompt is back, or the pane is gone. */
  endAll(): void {
    this.#endFrom(0);
  }

  /** Removes the hooks of the innermost shell, if it is at its prompt. */
  async leave(): Promise<void> {
    await this.innermost?.leave();
  }

  #endInside(outer: AdoptedShell): void {
    const at = this.#shells.findIndex(({ shell }) => shell === outer);
    if (at >= 0) this.#endFrom(at + 1);
  }

  #endFrom(first: number): void {
    for (const { shell, ended } of this.#shells.splice(first).toReversed()) {
      shell.end();
      ended();
    }
  }
}
