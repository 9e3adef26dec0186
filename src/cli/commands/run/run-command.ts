/** Runs one command on the machines of `--on`, asks where the policy asks, and prints what they answered. */
import { type AgentEvent, PROPOSED_HEADING, type ProposedChange, proposedLines } from "../../../agent/events.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import { composeRun, type Run, type RunOptions } from "../../../app/run.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { foldNames } from "../../../lib/names.ts";
import type { Output } from "../../../lib/output.ts";
import { quoteAll } from "../../../lib/quote.ts";
import { isTerminal, lendTerminal } from "../../../lib/terminal.ts";
import type { ModelClient } from "../../../model/types.ts";
import { showText, TerminalText } from "../../../policy/screen/terminal-text.ts";
import { unifiedDiff } from "../../../tools/diff.ts";
import { groupResults, type MachineResult, type ResultGroup } from "../../../tools/group-results.ts";
import { withNotes } from "../../../tools/notes.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import { terminalFront } from "../../../ui/approval/terminal-front.ts";
import { JsonLines } from "../../../ui/exec-output/jsonl.ts";
import { LiveLine } from "../../../ui/exec-output/live-line.ts";
import { type MachineNotice, MachineNotices, oneLine, progressWords, withMachine } from "../../../ui/words.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { approvalNeeded, colorOf, type OneShot, oneShot } from "../../one-shot.ts";

interface RunCommandOptions {
  readonly words: readonly string[];
  /** They stood after --: each reaches the command unchanged. */
  readonly literal: boolean;
  readonly json: boolean;
  readonly diff: boolean;
  readonly fleet: RunOptions["fleet"];
  readonly timeoutMs: number | undefined;
}

export async function runCommand(options: RunCommandOptions, globals: GlobalOptions): Promise<ExitCode> {
  return oneShot({ globals, timeoutMs: options.timeoutMs }, (around) => onMachines(options, globals, around));
}

async function onMachines(options: RunCommandOptions, globals: GlobalOptions, around: OneShot): Promise<ExitCode> {
  const { signal, out, err } = around;
  const loaded = withoutMasking(await loadConfiguration(globals, { create: false }));
  const color = colorOf(globals, err, loaded.config.display.color);
  const printer = new RunPrinter({ out, err, quiet: globals.quiet, json: options.json, diff: options.diff });
  await using run = await composeRun({
    globals,
    loaded,
    client: NO_MODEL,
    record: false,
    audit: true,
    // An operator sees which machines are missing, and can stop.
    fleet: { patient: true, patience: { connect: CONNECT_MS, run: CONNECT_MS }, always: true, ...options.fleet },
    problem: (message) => printer.warn(message),
    // For a list of machines; the command on the target gets none of it.
    stdin: () => Bun.stdin.text(),
  });
  signal.addEventListener("abort", () => run.hurry());
  const lines = options.json ? new JsonLines(out, run.secrets.redact, run.secrets.redactedStream) : undefined;
  const show = (event: AgentEvent): void => {
    if (lines !== undefined) void lines.show(event);
    printer.show(event);
  };
  const terminal = terminalFront({
    color,
    theme: loaded.config.display.theme,
    signal,
    interrupt: around.interrupt,
    lend: (work) => printer.behind(work),
  });
  const seat = run.desk.attach({ ...terminal, show });
  const { results, refused } = await perform(run, commandText(options), signal);
  seat.leave();
  printer.stop();
  if (signal.aborted && results.length === 0) throw around.stopped();
  // One machine whose command was refused or stopped: the error below says so.
  const [only] = results.length === 1 ? results : [];
  const said = only !== undefined && (refused.length > 0 || (signal.aborted && STOPPED.has(only.result.outcome)));
  if (!said) await printer.results(results, (id) => fullText(run, id));
  if (signal.aborted) throw around.stopped();
  if (refused.length > 0) throw approvalNeeded(run.calls.turn, run.approvals.mode);
  return worst(results);
}

async function perform(
  run: Run,
  command: string,
  signal: AbortSignal,
): Promise<{ results: readonly MachineResult[]; refused: readonly string[] }> {
  let results: readonly MachineResult[] = [];
  const declared = { risk: "low", mutation: false, privesc: false, why: "the operator runs it" };
  const call = { id: "run-1", name: "run_shell", arguments: JSON.stringify({ command, wait: "24h", ...declared }) };
  run.calls.beginTurn(command);
  const turn = run.agent.operatorTurn(command, signal, async (publish, inner) => {
    await run.calls.run([call], {
      signal: inner,
      contextLimit: NO_MODEL.info.contextLimit,
      seesImages: false,
      operator: true,
      publish,
      onMachines: (all) => (results = all),
    });
    // The reason is the operator's own.
    const changes = run.calls.turn.proposed.map(({ why: _why, ...change }) => change);
    if (changes.length > 0) publish({ type: "proposed", changes });
    return undefined;
  });
  for await (const _ of turn);
  return { results, refused: run.calls.turn.unapproved };
}

/** Joined as ssh does it; after -- each word unchanged. */
function commandText({ words, literal }: RunCommandOptions): string {
  return literal && words.length > 1 ? quoteAll(words) : words.join(" ");
}

/** The operator may read secrets in the output; only for a model are they replaced by names. */
function withoutMasking(loaded: LoadedConfig): LoadedConfig {
  const { config } = loaded;
  return { ...loaded, config: { ...config, privacy: { ...config.privacy, to_model: "off" } } };
}

async function fullText(run: Run, id: string): Promise<string> {
  const shell = run.fleet?.machines.find(({ opened }) => opened !== undefined)?.opened?.shell;
  if (shell === undefined) return "";
  let text = "";
  for (let offset = 0; ;) {
    const page = await shell.readOutput(id, { offset, limit: PAGE });
    text += page.text;
    if (page.done || page.nextOffset <= offset) break;
    offset = page.nextOffset;
  }
  return text;
}

/**
 * The highest exit code; a machine where the command did not start counts as 1, one without an exit code as 255, as
 * with ssh.
 */
function worst(results: readonly MachineResult[]): ExitCode {
  const codes = results.map(({ result }) => {
    if (result.exitCode !== undefined) return result.exitCode;
    if (result.ok) return EXIT.ok;
    return NOT_STARTED.has(result.outcome) ? EXIT.failure : UNREACHED;
  });
  return Math.max(0, ...codes) as ExitCode;
}

const NO_MODEL: ModelClient = {
  profile: { name: "none", model: "none", api: "completions", auth: "api-key", baseUrl: "" },
  info: { contextLimit: 1_000_000, known: true },
  // oxlint-disable-next-line require-yield
  async *stream() {
    throw new BuddyError("internal", "buddy run has no model");
  },
};

/** How long to wait for a machine that is not connected yet when all others are done. */
const CONNECT_MS = 10_000;
const UNREACHED = 255;
const NOT_STARTED: ReadonlySet<string> = new Set(["denied", "invalid", "not-run"]);
const STOPPED: ReadonlySet<string> = new Set(["stopped", "cancelled", "timeout"]);
const PAGE = 1024 * 1024;

// ── What `buddy run` prints: one machine's output as it comes; of several, groups of equal output at the end.

interface RunPrinterOptions {
  readonly out: Output;
  readonly err: Output;
  readonly quiet: boolean;
  readonly json: boolean;
  readonly diff: boolean;
}

class RunPrinter {
  readonly #options: RunPrinterOptions;
  readonly #live: LiveLine | undefined;
  readonly #safe: { readonly stdout: (text: string) => string; readonly stderr: (text: string) => string };
  readonly #notices = new MachineNotices((one) => this.#say(one));
  #alone = false;
  /** What the rules call the machines. */
  #label = "";
  #title = "";
  #streamed = false;
  #proposed: readonly ProposedChange[] = [];

  constructor(options: RunPrinterOptions) {
    this.#options = options;
    const { out, err, quiet } = options;
    if (isTerminal(err.fd) && !quiet)
      this.#live = new LiveLine(
        (text) => void err.write(text),
        () => process.stderr.columns || 80,
      );
    this.#safe = { stdout: filterFor(out.fd), stderr: filterFor(err.fd) };
  }

  show(event: AgentEvent): void {
    switch (event.type) {
      case "session":
        this.#label = event.label === undefined ? "" : `${oneLine(event.label)} · `;
        return this.#announce(event.places?.map(({ name }) => name) ?? []);
      case "tool_started":
        this.#alone = (event.machines?.length ?? 1) === 1;
        this.#title = `${this.#label}${oneLine(event.title)}`;
        return this.#live?.wait(this.#title);
      case "approval_answered":
        return this.#live?.wait(this.#title);
      case "tool_output":
        if (event.stream === "info") return this.#notice(event);
        if (this.#alone && !this.#options.json) this.#stream(event.stream, event.text);
        return;
      case "machine_finished":
        return this.#live?.relabel(progressWords(event));
      case "machine":
        // Without --json the results say it.
        if (event.state === "unreachable" && this.#options.json)
          this.warn(`${event.machine}: ${event.message ?? "unreachable"}`);
        return;
      case "notice":
        // No further command misses the variables of a shell.
        if (event.kind !== "info" && event.kind !== "lost-state") this.#notice(event);
        return;
      case "warning":
        return this.warn(event.message);
      case "proposed":
        this.#proposed = event.changes;
        return;
      default:
        return;
    }
  }

  /** How many machines a name leads to, before anything runs on them. */
  #announce(machines: readonly string[]): void {
    const { quiet, json } = this.#options;
    if (machines.length > 1 && !quiet && !json) this.warn(`on ${machines.length} machines: ${foldNames(machines)}`);
  }

  #notice(event: MachineNotice): void {
    if (!this.#notices.add(event)) this.#say(event);
  }

  #say(one: MachineNotice): void {
    this.warn(withMachine({ ...one, text: one.type === "notice" ? one.message : one.text }));
  }

  warn(message: string): void {
    this.#live?.clear();
    void this.#options.err.write(`buddy: ${showText(message).trimEnd()}\n`);
  }

  /** A question has the terminal: what is said meanwhile comes after it. */
  async behind<T>(question: () => Promise<T>): Promise<T> {
    await this.#notices.pause();
    try {
      return await lendTerminal(question);
    } finally {
      void this.#notices.resume();
    }
  }

  /** At the end. */
  stop(): void {
    void this.#notices.flush();
    this.#live?.stop();
  }

  async results(results: readonly MachineResult[], textOf: (id: string) => Promise<string>): Promise<void> {
    const [only] = results;
    if (this.#options.json || only === undefined) return;
    await (results.length === 1 ? this.#one(only) : this.#several(results, textOf));
    if (this.#proposed.length > 0)
      await this.#write("err", `${[PROPOSED_HEADING, ...proposedLines(this.#proposed)].join("\n")}\n`);
  }

  async #several(results: readonly MachineResult[], textOf: (id: string) => Promise<string>): Promise<void> {
    const texts = new Map<string, Texts>();
    for (const one of results) texts.set(one.machine, await readTexts(one, textOf));
    const printed = (to: keyof Texts): MachineResult[] =>
      results.map((one) => ({
        ...one,
        result: { ...one.result, printed: texts.get(one.machine)?.[to] ?? "", notes: [] },
      }));
    const groups = groupResults(printed("stdout").filter((one) => isAnswer(one) || one.result.printed !== ""));
    for (const group of groups) await this.#group(group, groups[0]!);
    const errors = printed("stderr").filter(({ result }) => result.printed !== "");
    for (const group of groupResults(errors)) await this.#write("err", section(group, group.text, "stderr"));
    const unfinished = results.filter((one) => !isAnswer(one));
    for (const group of groupResults(unfinished, failureText))
      await this.#write("err", section(group, group.text, group.sample.result.outcome));
    if (!this.#options.quiet) await this.#write("err", `${summary(results)}\n`);
  }

  async #one({ result }: MachineResult): Promise<void> {
    if (ENDED.has(result.outcome)) return;
    const text = wordsOf(result);
    // What was printed is on the screen already.
    const [first = ""] = text.split("\n");
    await this.#write("err", `buddy: ${this.#streamed ? first : text}\n`);
  }

  async #group(group: ResultGroup, first: ResultGroup): Promise<void> {
    const diff =
      this.#options.diff && group !== first ? unifiedDiff(withEnd(first.text), withEnd(group.text)) : undefined;
    const what = [
      ...(isAnswer(group.sample) ? [] : [group.sample.result.outcome]),
      ...(diff === undefined ? [] : [`difference from ${foldNames(first.machines)}`]),
    ];
    await this.#write("out", section(group, diff ?? group.text, ...what));
  }

  #stream(stream: "stdout" | "stderr", text: string): void {
    this.#streamed = true;
    this.#live?.stop();
    void this.#options[stream === "stdout" ? "out" : "err"].write(this.#safe[stream](text));
  }

  #write(to: "out" | "err", text: string): Promise<void> {
    const output = this.#options[to];
    return output.write(isTerminal(output.fd) ? showText(text, { color: true }) : text);
  }
}

interface Texts {
  readonly stdout: string;
  readonly stderr: string;
}

/** An outcome whose text belongs on stdout; with any other, stdout gets only what the command printed. */
function isAnswer({ result: { outcome } }: MachineResult): boolean {
  return ENDED.has(outcome) || outcome === "dry-run";
}

/** With an exit code, by itself: `exit 3` ends the shell with the command. */
const ENDED: ReadonlySet<string> = new Set(["exited", "shell-ended"]);

async function readTexts({ result }: MachineResult, textOf: (id: string) => Promise<string>): Promise<Texts> {
  if (result.outcome === "dry-run") return { stdout: wordsOf(result), stderr: "" };
  const { outputs = [] } = result;
  const read = async (prefix: string): Promise<string> => {
    const id = outputs.find((one) => one.startsWith(prefix));
    return id === undefined ? "" : await textOf(id);
  };
  return { stdout: await read("out-"), stderr: await read("err-") };
}

function wordsOf(given: ToolResult): string {
  const { display, result } = withNotes(given);
  return display ?? (typeof result === "string" ? result : "");
}

/** Without the output, which follows the first line where there is any. */
function failureText({ result }: MachineResult): string {
  const words = wordsOf(result);
  const own = (result.outputs ?? []).length === 0 ? words : (words.split("\n")[0] ?? "");
  return own.startsWith(`${result.outcome}: `) ? own.slice(result.outcome.length + 2) : own;
}

/** `web[01-09] (9): text`, or a heading and the text below it. */
function section({ machines, sample: { result } }: ResultGroup, text: string, ...what: readonly string[]): string {
  const facts = [
    ...(machines.length > 1 ? [`${machines.length}`] : []),
    ...(result.exitCode === undefined || result.exitCode === 0 ? [] : [`exit ${result.exitCode}`]),
    ...what,
  ];
  const head = facts.length === 0 ? foldNames(machines) : `${foldNames(machines)} (${facts.join(", ")})`;
  const body = text.replace(/\n$/, "");
  if (body === "") return `${head}:\n`;
  return body.includes("\n") ? `${head}:\n${body}\n\n` : `${head}: ${body}\n`;
}

function summary(results: readonly MachineResult[]): string {
  const failed = results.filter(({ result }) => !result.ok).map(({ machine }) => machine);
  const others = results.filter(({ result }) => result.outcome === "left-out").length;
  const ok = results.length - failed.length - others;
  return [
    `buddy: ${results.length} machines: ${ok} ok`,
    ...(failed.length === 0 ? [] : [`${failed.length} not ok (${foldNames(failed)})`]),
    ...(others === 0 ? [] : [`${others} left out`]),
  ].join(", ");
}

function filterFor(fd: number): (text: string) => string {
  if (!isTerminal(fd)) return (text) => text;
  const filter = new TerminalText({ color: true });
  return (text) => filter.push(text);
}

function withEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
