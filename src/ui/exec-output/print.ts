/** What a person sees of `buddy exec`: the answer on stdout, everything else, short, on stderr. */
import { type AgentEvent, PROPOSED_HEADING, proposedLines } from "../../agent/events.ts";
import { clip } from "../../lib/text.ts";
import type { Output } from "../../lib/output.ts";
import type { TerminalText } from "../../policy/screen/terminal-text.ts";
import type { Theme, ThemeName } from "../theme.ts";
import type { ToolView, ToolViewOptions } from "../transcript/tool-view.ts";
import type { MachineNotice, MachineNotices } from "../words.ts";
import type { LiveLine } from "./live-line.ts";

export interface PrintOptions {
  readonly out: Output;
  readonly err: Output;
  /**
   * stdout is a terminal: the answer is streamed and made safe for it; otherwise it is written verbatim, once whole.
   */
  readonly stream: boolean;
  /** stderr is a terminal: live line, reasoning. */
  readonly live: boolean;
  readonly color: boolean;
  readonly theme: ThemeName | "auto";
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly showToolCalls: boolean;
  readonly showReasoning: boolean;
  readonly showTokens: boolean;
  /** Renders the streamed answer, made for each message; without it the text is shown as it is. */
  readonly rows?: (() => RowStream) | undefined;
  /** Columns of stderr, where that is a terminal. */
  readonly columns?: (() => number) | undefined;
  /** The answer is printed by the caller (after it was validated). */
  readonly holdAnswer: boolean;
  readonly redact: (text: string) => string;
  /** For the answer itself: takes only buddy's own secrets out. */
  readonly hideSecrets: (text: string) => string;
}

/** Text in, finished rows out. */
export interface RowStream {
  push(text: string): void;
  end(): void;
  take(): string[];
}

type EventOf<Type extends AgentEvent["type"]> = AgentEvent & { type: Type };

export class Printer {
  readonly #options: PrintOptions;
  #live: LiveLine | undefined;
  #rows: RowStream | undefined;
  #text: TerminalText | undefined;
  #reasoning: TerminalText | undefined;
  #answerOpen = false;
  #usage: EventOf<"usage"> | undefined;
  #attach: string | undefined;
  #announced = "";
  /** By call: output after the last whole line. */
  readonly #unfinished = new Map<string, string>();
  readonly #tools = new Map<string, ToolView>();
  readonly #announcements = new Map<string, ReturnType<typeof setTimeout>>();
  /** What the rules call the machine, shown before what buddy is waiting for. */
  #label = "";
  #look: Look | undefined;

  constructor(options: PrintOptions) {
    this.#options = options;
  }

  /** Loaded with the first text that is not the bare answer in a pipe: that needs none of it. */
  async #looks(): Promise<Look> {
    if (this.#look !== undefined) return this.#look;
    const [text, { terminalEncoder }, { theme }, words, { LiveLine }, { paintsOnTerminal }] = await Promise.all([
      import("../../policy/screen/terminal-text.ts"),
      import("../terminal/ascii.ts"),
      import("../theme.ts"),
      import("../words.ts"),
      import("./live-line.ts"),
      import("../../lib/terminal.ts"),
    ]);
    // Another event may have come first.
    if (this.#look !== undefined) return this.#look;
    const notices = new words.MachineNotices((one) => this.#say(one, words.withMachine));
    paintsOnTerminal(notices);
    const { color, theme: name, columns, redact, live, quiet, err } = this.#options;
    const style = theme(color, name);
    const width = () => columns?.() ?? PIPE_COLUMNS;
    const encode = terminalEncoder(process.env);
    if (live && !quiet) this.#live ??= new LiveLine((line) => void err.write(encode(line)), width);
    return (this.#look = { ...text, ...words, encode, style, notices, view: { style, lines: true, width, redact } });
  }

  /** How many machines a name leads to, before anything runs on them. */
  async #announce(machines: readonly string[]): Promise<void> {
    const names = machines.join("\n");
    if (machines.length < 2 || names === this.#announced) return;
    this.#announced = names;
    const { foldNames } = await import("../../lib/names.ts");
    await this.note(`on       ${machines.length} machines: ${foldNames(machines)}`);
  }

  async show(event: AgentEvent): Promise<void> {
    // While a question has the terminal nothing may be printed into it.
    const look = event.type === "approval_asked" ? await this.#looks() : this.#look;
    if (look !== undefined) await this.#gathered(event, look.notices);
    if (this.#options.live && !this.#options.quiet) this.#follow(event, this.#look ?? (await this.#looks()));
    if (event.type !== "reasoning") this.#endReasoning();
    switch (event.type) {
      case "text":
        return this.#delta(event.delta);
      case "reasoning":
        return this.#reason(event.delta);
      case "discard":
        return this.#discard();
      case "message":
        return this.#message(event);
      case "session":
        return this.#session(event);
      case "tool_started":
        return this.#toolStarted(event);
      case "tool_output":
        return this.#output(event);
      case "machine_finished":
        return this.#endToolOutput(event.call, event.machine);
      case "tool_finished":
        return this.#toolFinished(event);
      case "approval_answered":
        return this.#answered(event);
      case "usage":
        this.#usage = event;
        return;
      case "retry":
        return this.#retry(event);
      case "warning":
        return this.note(event.hint === undefined ? event.message : `${event.message}. ${event.hint}`, "warning");
      case "notice":
        return this.#notice(event);
      case "compacted":
        return this.note(
          `compacted ${event.before_tokens} → ${event.after_tokens} tokens; the summary:\n${event.summary}`,
        );
      case "proposed":
        return this.#proposed(event);
      case "done":
        return this.#done();
      case "turn":
      case "machine":
      case "error":
        return;
      case "approval_asked":
        return this.#tools.get(event.call)?.asked(event.diff);
    }
  }

  async #session({ label, places, attach }: EventOf<"session">): Promise<void> {
    this.#label = label === undefined ? "" : `${(await this.#looks()).oneLine(label)} · `;
    if (!this.#options.quiet) await this.#announce(places?.map(({ name }) => name) ?? []);
    if (attach === undefined || attach === this.#attach) return;
    this.#attach = attach;
    if (!this.#options.quiet) await this.note(`watch    ${attach}`);
  }

  async #output(event: EventOf<"tool_output">): Promise<void> {
    if (event.stream === "info") return this.#notice(event);
    if (event.machine === undefined) this.#tools.get(event.call)?.push(event.stream, event.text);
    if (this.#options.verbose) await this.#toolOutput(event, event.machine);
  }

  async #answered({ call, decision, by, edited, reason }: EventOf<"approval_answered">): Promise<void> {
    const tool = this.#tools.get(call);
    if (edited !== undefined) tool?.retitle(edited);
    if (decision === "approved" && by === "mode") tool?.remark("auto-approved");
    if (this.#options.verbose) await this.note(`${decision} by ${by}${reason === undefined ? "" : `: ${reason}`}`);
  }

  async #retry(event: EventOf<"retry">): Promise<void> {
    if (this.#options.quiet) return;
    const words = (await this.#looks()).retryWords(event);
    // On a terminal one line that changes; a log keeps each.
    return this.#live === undefined ? this.note(words, "warning") : this.#live.show(words);
  }

  async #notice(event: MachineNotice): Promise<void> {
    const { withMachine, notices } = await this.#looks();
    if (!notices.add(event)) await this.#say(event, withMachine);
  }

  #say(one: MachineNotice, withMachine: Look["withMachine"]): Promise<void> {
    const text = one.type === "notice" ? one.message : one.text.trimEnd();
    const level = one.type === "notice" && one.kind === "info" ? undefined : "warning";
    return this.note(withMachine({ ...one, text }), level);
  }

  /** Notices that were held come before what follows them; while a question has the terminal, they wait. */
  async #gathered({ type }: AgentEvent, notices: MachineNotices): Promise<void> {
    if (type === "approval_asked") await notices.pause();
    else if (type === "approval_answered" || type === "done") await notices.resume();
    else if (!MEANWHILE.has(type)) await notices.flush();
  }

  async #proposed({ changes }: EventOf<"proposed">): Promise<void> {
    await this.#closeStream();
    await this.note(PROPOSED_HEADING, "warning");
    const { showText } = await this.#looks();
    // To be copied as it is: only what a terminal must not get is escaped.
    return this.#err(`${showText(this.#options.redact(proposedLines(changes).join("\n")), { mode: "command" })}\n`);
  }

  /** What buddy waits for after this event. */
  #follow(event: AgentEvent, { commandLine, progressWords }: Look): void {
    switch (event.type) {
      case "turn":
      case "tool_finished":
        return this.#live?.wait(`${this.#label}thinking`);
      case "retry":
        return;
      case "tool_started":
        return this.#live?.wait(`${this.#label}${commandLine(this.#options.redact(event.title)) || event.tool}`);
      case "machine_finished":
        return this.#live?.relabel(progressWords(event));
      case "approval_answered":
        return this.#live?.wait(`${this.#label}working`);
      // A line that is being written must not be erased.
      case "text":
      case "reasoning":
      case "approval_asked":
      case "done":
      case "error":
        return this.#live?.stop();
      default:
        return this.#live?.clear();
    }
  }

  /** A line that is not part of the answer; `-q` keeps warnings only. */
  async note(text: string, level?: "warning"): Promise<void> {
    if (this.#options.quiet && level === undefined) return;
    const { showText, style } = await this.#looks();
    const safe = showText(this.#options.redact(text)).trimEnd();
    await this.#err(`${level === undefined ? style.grey(safe) : style.warning(safe)}\n`);
  }

  async answer(text: string): Promise<void> {
    void this.#options.out.write(text);
    // Apart: joining it to a text of megabytes would copy that.
    await this.#options.out.write(text.endsWith("\n") ? "" : "\n");
  }

  async #delta(delta: string): Promise<void> {
    if (!this.#options.stream || this.#options.holdAnswer) return;
    const { TerminalText, encode } = this.#look ?? (await this.#looks());
    if (this.#text === undefined) {
      this.#rows = this.#options.rows?.();
      // What is rendered gets its colours from the renderer.
      this.#text = new TerminalText({ color: this.#options.color && this.#rows === undefined });
    }
    this.#answerOpen = true;
    const safe = this.#text.push(delta);
    if (this.#rows === undefined) return this.#options.out.write(encode(safe));
    this.#rows.push(safe);
    await this.#printRows(this.#rows.take());
  }

  async #printRows(rows: readonly string[]): Promise<void> {
    if (rows.length > 0) await this.#options.out.write((await this.#looks()).encode(`${rows.join("\n")}\n`));
  }

  async #discard(): Promise<void> {
    if (!this.#answerOpen) return;
    await this.#closeStream();
    await this.note("connection lost; ignore the text above", "warning");
  }

  async #message({ message }: EventOf<"message">): Promise<void> {
    const text = message.content ?? "";
    const final = message.toolCalls.length === 0;
    if (this.#options.stream && !this.#options.holdAnswer) return this.#closeStream();
    if (text.trim() === "") return;
    if (!final) return this.note(text);
    if (!this.#options.holdAnswer) await this.answer(this.#options.hideSecrets(text));
  }

  async #closeStream(): Promise<void> {
    if (!this.#answerOpen || this.#text === undefined) return;
    const rest = this.#text.end();
    const rows = this.#rows;
    this.#text = undefined;
    this.#rows = undefined;
    this.#answerOpen = false;
    if (rows === undefined) return this.#options.out.write(rest.endsWith("\n") ? rest : `${rest}\n`);
    rows.push(rest);
    rows.end();
    await this.#printRows(rows.take());
  }

  async #reason(delta: string): Promise<void> {
    const { showReasoning, quiet, live, verbose } = this.#options;
    if (!showReasoning || quiet || !(live || verbose)) return;
    const { TerminalText, style } = this.#look ?? (await this.#looks());
    this.#reasoning ??= new TerminalText();
    await this.#err(style.reasoning(this.#reasoning.push(delta)));
  }

  #endReasoning(): void {
    if (this.#reasoning === undefined || this.#look === undefined) return;
    const rest = this.#reasoning.end();
    this.#reasoning = undefined;
    void this.#err(`${this.#look.style.reasoning(rest)}\n`);
  }

  /** On a terminal the live line names it; a log gets a line if it takes a while. */
  async #toolStarted(event: EventOf<"tool_started">): Promise<void> {
    if (this.#options.quiet || !this.#options.showToolCalls) return;
    this.#tools.set(event.call, await this.#toolView(event.tool, event.title));
    if (this.#live !== undefined) return;
    const { commandLine, oneLine, style, view } = await this.#looks();
    const what = commandLine(this.#options.redact(event.title)) || oneLine(event.tool);
    const line = `${clip(`${style.grey("›")} ${style.bold(what)}`, view.width())}\n`;
    // With -v its output follows at once; otherwise a short call is named only when it has ended.
    if (this.#options.verbose) return this.#err(line);
    const timer = setTimeout(() => void this.#err(line), SOON_MS);
    timer.unref();
    this.#announcements.set(event.call, timer);
  }

  /** Loaded with the first call: an answer without one does not need it. */
  async #toolView(tool: string, title: string): Promise<ToolView> {
    const [{ ToolView }, { view }] = await Promise.all([import("../transcript/tool-view.ts"), this.#looks()]);
    return new ToolView(tool, title, view);
  }

  /** By whole lines: a secret may arrive in two pieces, and calls that run in parallel must not mix. */
  async #toolOutput({ call, text }: EventOf<"tool_output">, machine = ""): Promise<void> {
    const key = `${call} ${machine}`;
    const all = (this.#unfinished.get(key) ?? "") + text;
    const cut = all.length > LONGEST_LINE ? all.length : all.lastIndexOf("\n") + 1;
    this.#unfinished.set(key, all.slice(cut));
    await this.#liveLines(all.slice(0, cut), machine);
  }

  async #endToolOutput(call: string, machine = ""): Promise<void> {
    const key = `${call} ${machine}`;
    const rest = this.#unfinished.get(key) ?? "";
    this.#unfinished.delete(key);
    if (rest !== "") await this.#liveLines(`${rest}\n`, machine);
  }

  /** With several machines each line names its machine. */
  async #liveLines(text: string, machine: string): Promise<void> {
    const { showText, oneLine } = await this.#looks();
    const shown = showText(this.#options.redact(text), { color: this.#options.color });
    await this.#err(machine === "" ? shown : shown.replaceAll(/^(?=.)/gm, `${oneLine(machine)}: `));
  }

  async #toolFinished(event: EventOf<"tool_finished">): Promise<void> {
    await this.#endToolOutput(event.call);
    if (this.#options.quiet || !this.#options.showToolCalls) return;
    const tool = this.#tools.get(event.call) ?? (await this.#toolView(event.tool, ""));
    this.#tools.delete(event.call);
    clearTimeout(this.#announcements.get(event.call));
    this.#announcements.delete(event.call);
    const whole = `buddy sessions output ${event.session.slice(0, 4)} ${event.output_id}`;
    const rows = tool.finished(event, event.output_id === undefined ? undefined : whole);
    const shown = this.#options.verbose && tool.hasOutput ? rows.slice(0, 1) : rows;
    await this.#err(`${shown.join("\n")}\n`);
  }

  async #done(): Promise<void> {
    if (this.#answerOpen) await this.#closeStream();
    const usage = this.#usage;
    if (usage === undefined || this.#options.quiet || !(this.#options.showTokens || this.#options.verbose)) return;
    const cost = usage.total_cost_usd === undefined ? "" : `, $${usage.total_cost_usd.toFixed(4)}`;
    const about = usage.estimated ? "about " : "";
    await this.note(
      `${about}${usage.total_input} tokens in, ${usage.total_output} out${cost}; ${Math.round((100 * usage.context_used) / usage.context_limit)} % of the context used`,
    );
  }

  #err(text: string): Promise<void> {
    // A pipe or a file gets every byte as it is.
    return this.#options.err.write(this.#options.live ? (this.#look?.encode(text) ?? text) : text);
  }
}

/** What text needs for a terminal or a log: words, colours, and a filter for what a terminal obeys. */
type Look = Pick<typeof import("../../policy/screen/terminal-text.ts"), "showText" | "TerminalText"> &
  Pick<typeof import("../words.ts"), "commandLine" | "oneLine" | "progressWords" | "retryWords" | "withMachine"> & {
    readonly encode: (text: string) => string;
    readonly style: Theme;
    readonly view: ToolViewOptions;
    readonly notices: MachineNotices;
  };

/** These come while machines still say the same. */
const MEANWHILE: ReadonlySet<AgentEvent["type"]> = new Set(["tool_output", "notice", "machine", "machine_finished"]);

const LONGEST_LINE = 65_536;

/** Where stderr is not a terminal. */
const PIPE_COLUMNS = 160;

/** A call that takes longer is named when it begins. */
const SOON_MS = 1000;
