/**
 * A shell that the operator started inside the shared pane (`sudo -i`, `ssh other`, `docker exec -it`): buddy's hooks are
 * typed into it, and its commands begin and end with marks of their own. It ends when the pane's own prompt is back.
 */
import { randomBytes, randomInt } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { Condition, within } from "../../lib/waiting.ts";
import { quote } from "../quote.ts";
import { Recording } from "../output/recording.ts";
import type { OutputStore } from "../output/output-store.ts";
import type { OutputPage, ReadOutputOptions, RunOptions, RunOutcome, RunResult, Shell, ShellPlace } from "../target.ts";
import { Turns } from "../turns.ts";
import { type Mark, MarkScanner } from "./markers.ts";

export interface InnerMachine {
  readonly user: string;
  readonly uid: number;
  readonly host: string;
  readonly machine: string;
  readonly os: string;
  readonly home: string;
  readonly bash: boolean;
}

export interface AdoptedPane {
  readonly outputStore: OutputStore;
  /** Clears the line and types the text and Enter. */
  type(text: string): Promise<void>;
  interrupt(): Promise<void>;
}

/** How long the shell may take to answer what is typed. */
const ANSWER_MS = 5000;
/** How long a command waits for the prompt before it is reported as busy. */
const READY_MS = 1500;
/** From Ctrl-C to giving up. */
const INTERRUPT_MS = 2000;
/** A terminal without a line editor takes no more in one line. */
const MOST_TYPED = 3500;
const QUIET_MS = 1500;

interface Running {
  readonly tag: number;
  readonly recording: Recording;
  outcome: RunOutcome | undefined;
  started: boolean;
  lastActivity: number;
}

export class AdoptedShell implements Shell {
  readonly kind = "tmux";
  readonly #pane: AdoptedPane;
  readonly #key = randomBytes(12).toString("hex");
  readonly #scanner: MarkScanner;
  readonly #changes = new Condition();
  readonly #turns = new Turns();
  #name = "sh";
  #cwd = "/";
  #ready = false;
  #ended = false;
  #current: Running | undefined;
  #last: RunResult | undefined;
  #machine: InnerMachine | undefined;

  constructor(pane: AdoptedPane) {
    this.#pane = pane;
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

  get machine(): InnerMachine {
    if (this.#machine === undefined) throw new Error("the shell has not been adopted");
    return this.#machine;
  }

  where(): Promise<ShellPlace> {
    const busy = this.#ready ? {} : { program: "a program in the adopted shell" };
    return Promise.resolve({ cwd: this.#cwd, user: this.#machine?.user ?? "", typed: "", ...busy });
  }

  /** Puts the hooks in, and asks who and where it is. */
  async start(): Promise<void> {
    const kind = Promise.withResolvers<string>();
    this.#onKind = kind.resolve;
    await this.#pane.type(
      ` printf '\\033]7771;%s;K;%s;%s;%s\\a' ${this.#key} "$BASH_VERSION" "$ZSH_VERSION" "$FISH_VERSION"`,
    );
    const silent = new BuddyError("usage", "what runs in the pane does not answer like a shell at its prompt", {
      hint: "Bring the inner shell to its prompt in the pane, then /adopt again.",
    });
    this.#name = (await within(kind.promise, ANSWER_MS)) ?? (await Promise.reject(silent));
    await this.#pane.type(hooks(this.#name, this.#key));
    await this.#changes.until(() => this.#ready || this.#ended, ANSWER_MS);
    if (!this.#ready) throw silent;
    const { outcome, output } = await this.run(`sh -c ${this.#quote(WHO)}`, { waitMs: ANSWER_MS });
    const [user = "", uid = "", host = "", machine = "", os = "", home = "", bash = ""] = output.head.split("\n");
    if (outcome.kind !== "exited" || user === "" || host === "" || !/^\d+$/.test(uid.trim())) throw silent;
    const trimmed = { user: user.trim(), host: host.trim(), machine: machine.trim(), os: os.trim(), home: home.trim() };
    this.#machine = { ...trimmed, uid: Number(uid), bash: bash.trim() === "yes" };
  }

  #onKind: (name: string) => void = () => {};

  /** Bytes of the pane. */
  feed(bytes: Buffer): void {
    if (!this.#ended) this.#scanner.feed(bytes);
  }

  /** The pane's own prompt is back, or the pane is gone. */
  end(): void {
    this.#ended = true;
    this.#finish({ kind: "shell-ended", code: 0 });
    this.#changes.changed();
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#turns.take(() => this.#run(command, options), options.signal);
    return result ?? this.#notRun({ kind: "stopped", by: "user" }, ["It had not begun."]);
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
    if (this.#ended) return this.#notRun({ kind: "lost", why: "the adopted shell has ended; it did not run" }, []);
    if (options.onlyIn !== undefined && options.onlyIn !== this.#cwd) {
      const why = `the shell is in ${this.#cwd} now; the command was approved for ${options.onlyIn}. It did not run`;
      return this.#notRun({ kind: "lost", why }, []);
    }
    await this.#changes.until(() => this.#ready || this.#ended, READY_MS, options.signal);
    if (!this.#ready) {
      const note = "Nothing was typed: something else runs in the adopted shell.";
      return this.#notRun({ kind: "running", why: "busy" }, [note]);
    }
    const tag = randomInt(1, 2 ** 31 - 1);
    const line = this.#line(this.#child(command, options), tag);
    if (Buffer.byteLength(line) > MOST_TYPED) {
      throw new BuddyError("tool", "the command is too long for an adopted shell, where it has to be typed", {
        hint: "Split it, or ask the operator to connect buddy to that machine itself.",
      });
    }
    const recording = new Recording(this.#pane.outputStore.open(), options, "stdout");
    const running: Running = { tag, recording, outcome: undefined, started: false, lastActivity: performance.now() };
    this.#current = running;
    this.#ready = false;
    await this.#pane.type(line);
    if (options.noWait === true) return this.#result(running, { kind: "running", why: "no-wait" });
    return this.#watch(running, options);
  }

  async #watch(running: Running, options: RunOptions): Promise<RunResult> {
    const started = performance.now();
    for (;;) {
      const left = (options.waitMs ?? Number.POSITIVE_INFINITY) - (performance.now() - started);
      if (running.outcome === undefined && left > 0 && options.signal?.aborted !== true)
        await this.#changes.until(() => running.outcome !== undefined, Math.min(left, QUIET_MS), options.signal);
      if (running.outcome !== undefined) return this.#result(running, running.outcome);
      if (options.signal?.aborted === true) {
        await this.#pane.interrupt();
        await this.#changes.until(() => running.outcome !== undefined, INTERRUPT_MS);
        return this.#result(running, { kind: "stopped", by: "user" });
      }
      const asks = /pass(word|phrase)|\bPIN\b/i.test(running.recording.lastLine);
      if (left <= 0) {
        if (asks) return this.#result(running, { kind: "waiting", for: "password", program: "a program" });
        return this.#result(running, { kind: "running", why: "deadline" });
      }
      if (asks && performance.now() - running.lastActivity > QUIET_MS)
        options.onWaiting?.({ kind: "waiting", for: "password", program: "a program" });
    }
  }

  /** What nobody was asked about runs as a child that knows nothing of this shell. */
  #child(command: string, { unasked }: RunOptions): string {
    if (unasked === undefined) return command;
    return `${this.machine.bash ? "bash -p" : "sh"} -c ${this.#quote(command)}`;
  }

  #line(command: string, tag: number): string {
    const fish = this.#name === "fish";
    // oxlint-disable-next-line no-control-regex
    if (/[\0-\x1f\x7f!]/.test(command)) {
      const text = Array.from(Buffer.from(command), printed).join("");
      return fish
        ? ` set -g __buddy_c (printf '${text}' | string collect); __buddy_run ${tag}`
        : ` __buddy_c=$(printf '${text}'); __buddy_run ${tag}`;
    }
    return fish
      ? ` set -g __buddy_c ${this.#quote(command)}; __buddy_run ${tag}`
      : ` __buddy_c=${this.#quote(command)}; __buddy_run ${tag}`;
  }

  #quote(word: string): string {
    return this.#name === "fish" ? `'${word.replaceAll(/[\\']/g, "\\$&")}'` : quote(word);
  }

  #text(bytes: Buffer): void {
    const running = this.#current;
    if (running?.started === true) {
      running.lastActivity = performance.now();
      running.recording.write(bytes);
    } else if (this.#ready && (bytes.includes(10) || bytes.includes("\u001b[?1049h"))) {
      // A line was entered that is not buddy's.
      this.#ready = false;
    }
  }

  #mark(mark: Mark): void {
    const running = this.#current;
    const ours = running !== undefined && "tag" in mark && mark.tag === running.tag;
    switch (mark.kind) {
      case "shell-kind":
        this.#onKind(mark.name);
        break;
      case "started":
        if (ours) running.started = true;
        break;
      case "prompt":
        if (!ours) break;
        this.#cwd = mark.cwd || this.#cwd;
        this.#finish({ kind: "exited", code: mark.code });
        break;
      case "ready":
        // A prompt without the end of the command: Ctrl-C, or a syntax error.
        if (running?.started === true) this.#finish({ kind: "exited", code: INTERRUPTED });
        if (this.#current === undefined) this.#ready = true;
        break;
      default:
        break;
    }
    this.#changes.changed();
  }

  #finish(outcome: RunOutcome): void {
    const running = this.#current;
    if (running === undefined) return;
    this.#current = undefined;
    running.outcome = outcome;
    running.recording.end();
  }

  #result(running: Running, outcome: RunOutcome): RunResult {
    const { recording } = running;
    const result: RunResult = {
      outcome,
      output: recording.captured(),
      cwd: this.#cwd,
      outputId: recording.id,
      notes: [],
      durationMs: performance.now() - running.lastActivity,
    };
    this.#last = result;
    return result;
  }

  #notRun(outcome: RunOutcome, notes: readonly string[]): RunResult {
    const output = { head: "", tail: "", omittedBytes: 0, totalBytes: 0 };
    return { outcome, output, cwd: this.#cwd, notes, durationMs: 0 };
  }
}

const INTERRUPTED = 130;

/** For `printf` in any shell, between single quotes. */
function printed(byte: number): string {
  const character = String.fromCharCode(byte);
  if (/[A-Za-z0-9 _./:=,@+-]/.test(character)) return character;
  return character === "%" ? "%%" : `\\${byte.toString(8).padStart(3, "0")}`;
}

/** One line for the shell: a function that runs a text between marks, and a mark behind the prompt. */
function hooks(name: string, key: string): string {
  const begins = `printf '\\033]7771;${key};C;%s\\a'`;
  const ends = `printf '\\033]7771;${key};P;0;%s;%s;%s\\a'`;
  const mark = `]7771;${key};B`;
  if (name === "fish") {
    return (
      ` function __buddy_run; ${begins} $argv[1]; eval $__buddy_c; set -l c $status; ${ends} $c $argv[1] $PWD; return $c; end; ` +
      `functions -q __buddy_prompt; or functions -c fish_prompt __buddy_prompt; ` +
      `function fish_prompt; __buddy_prompt; printf '\\033${mark}\\a'; end`
    );
  }
  const run = ` __buddy_run() { ${begins} "$1"; eval "$__buddy_c"; set -- "$1" "$?"; ${ends} "$2" "$1" "$PWD"; return "$2"; }`;
  if (name === "zsh") {
    const set = `case $PROMPT in *${key}*) ;; *) PROMPT=$PROMPT$'%{\\e${mark}\\a%}' ;; esac`;
    return `${run}; __buddy_ps() { ${set}; }; precmd_functions+=(__buddy_ps)`;
  }
  if (name === "bash") {
    const set = `case $PS1 in *${key}*) ;; *) PS1="$PS1"'\\[\\e${mark}\\a\\]' ;; esac`;
    return `${run}; __buddy_ps() { ${set}; }; PROMPT_COMMAND=\${PROMPT_COMMAND:+"$PROMPT_COMMAND"$'\\n'}__buddy_ps`;
  }
  return `${run}; PS1="$PS1$(printf '\\033${mark}\\a')"`;
}

/** Who and where, for sh: as many lines as there are facts. */
const WHO =
  "id -un; id -u; hostname 2>/dev/null || uname -n; { cat /etc/machine-id || cat /etc/hostname || echo; } 2>/dev/null | head -n 1; " +
  'uname -sr; printf "%s\\n" "${HOME:-/}"; command -v bash >/dev/null 2>&1 && echo yes || echo no';
