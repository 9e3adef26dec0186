/** What the REPL needs from the rest of the program (the command line puts it together) and from a screen. */
import type { Front, Seat } from "../../agent/calls/desk.ts";
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, TaskListener, Tasks } from "../../agent/tasks.ts";
import type { ApproveMode } from "../../lib/durations.ts";
import type { ApprovalMode } from "../../policy/approvals.ts";
import type { Choice } from "../questions/picker.ts";
import type { ThemeName } from "../theme.ts";
import type { Repl } from "./repl.ts";

export interface ReplHost {
  readonly version: string;
  readonly display: Display;
  /** Where prompts are remembered; undefined = nowhere. */
  readonly historyPath: string | undefined;
  /** What is known now; identity of the target once it is open. */
  facts(): ReplFacts;
  /** What the rules call the machine: PROD. */
  machineLabel(): string | undefined;
  /** The tasks of this REPL; the listener gets their events. */
  tasks(listener: TaskListener): Tasks;
  /**
   * `shown`: what the operator typed, where the prompt holds more. `ownWords`: the prompt without long pastes, which
   * name no files to attach and no hosts to fetch from.
   */
  runTurn(
    prompt: string,
    signal: AbortSignal,
    about?: { readonly shown?: string; readonly ownWords?: string },
  ): AsyncIterable<AgentEvent>;
  /** `!command`: in the shared pane, as the operator; its output joins the conversation. */
  runCommand(command: string, signal: AbortSignal): AsyncIterable<AgentEvent>;
  /** `focus`: what the summary should keep. */
  compact(signal: AbortSignal, focus?: string): AsyncIterable<AgentEvent>;
  /** What runs on the target besides the tasks. */
  work(): Promise<WorkInFlight>;
  /** How the shell ended. */
  killShell(id: string): Promise<string>;
  /** Presses Ctrl-C in the shared pane, or in the one of that name. */
  interruptPane(name?: string): Promise<void>;
  /** The full output of an earlier command, or of a background shell. */
  output(id: string, signal: AbortSignal): Promise<string>;
  /** The files changed in this session, oldest change first. */
  changes(): Promise<readonly ChangeListing[]>;
  /** The difference that one change made, or all of them; as lines. */
  changeDiff(number?: number): Promise<readonly string[]>;
  /** Undoes a change: a number, "all", or "" for the newest one that is not undone. */
  undo(which: string, signal: AbortSignal): AsyncIterable<AgentEvent>;
  /** Skills and runbooks, as lines. */
  skills(): Promise<readonly string[]>;
  /** MCP servers and what they offer, as lines. */
  mcp(): Promise<readonly string[]>;
  runbooks(): Promise<readonly RunbookRow[]>;
  /**
   * Name and parameters as typed; throws what is wrong with them. `on`: the machine it wants, where that is another
   * one.
   */
  runbook(words: string): Promise<{ readonly on?: string; run(signal: AbortSignal): AsyncIterable<AgentEvent> }>;
  /** Commands of the operator's own, as they are now. */
  customCommands(): CustomCommandRows;
  /** The conversation as a document. */
  exportSession(format: "markdown" | "html" | "script" | "cast" | "runbook"): Promise<string>;
  /** Settings in effect that are not defaults, and where they come from. */
  config(): readonly StatusRow[];
  /** News that belong to no task: the connection dropped, the operator ran something in the pane. */
  onEvent(listener: (event: AgentEvent) => void): () => void;
  readonly approvals: ApprovalsView;
  /** Questions and passwords are asked there until it leaves. */
  attach(front: Front): Seat;
  /** Works in the shell that the operator started in the shared pane; returns what to print. */
  adopt(): Promise<readonly string[]>;
  sudoState(): Promise<SudoState>;
  dropSudo(): Promise<void>;
  readonly privacy: PrivacyView;
  /** Labels and values of /status that only the command line knows. */
  status(): readonly StatusRow[];
  tools(): readonly ToolRow[];
  profiles(): readonly ProfileRow[];
  /** The models that the endpoint of a profile lists, by name. */
  offeredModels(profile: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Returns notes about the switch: another protocol, another sign-in. */
  switchModel(name: string): Promise<readonly string[]>;
  sessions(): Promise<readonly SessionRow[]>;
  /** Returns what to print. */
  newSession(): Promise<readonly string[]>;
  /** An answer of no leaves everything as it is. */
  resumeSession(name: string, ask: ResumeQuestions): Promise<readonly string[]>;
  /** The names of the configuration and the machines in use, or the machines that WHAT names. */
  targets(what?: string): Promise<readonly TargetRow[]>;
  /** For completion: at once, without asking any machine. */
  targetNames(begun?: string): Promise<readonly TargetRow[]>;
  /** Switches to other machines; with a + in front adds them, with a - leaves them. Returns what to print. */
  workOn(what: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Connects to the target again, with questions on the terminal; returns what to print. */
  reconnect(signal: AbortSignal): Promise<readonly string[]>;
  login(profile: string | undefined, screen: LoginScreen, signal: AbortSignal): Promise<void>;
  logout(profile: string | undefined, say: (line: string) => void): Promise<void>;
  /** Takes keys and tokens out of what is shown. */
  redact(text: string): string;
  /** Entries of a directory of the target, for completing @paths. */
  listDirectory(path: string, signal: AbortSignal): Promise<readonly DirectoryEntry[]>;
  /** Files below the working directory of the target, relative to it; a bounded number. */
  listFiles(signal: AbortSignal): Promise<readonly string[]>;
}

export interface TargetRow {
  readonly name: string;
  /** "ssh db1", "12 machines: web[01-12]", or why the name cannot be used. */
  readonly meaning: string;
  readonly current: boolean;
}

interface RunbookRow {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
    readonly choices: readonly string[];
    /** Its value names a machine. */
    readonly target: boolean;
  }[];
}

interface CustomCommandRows {
  readonly commands: readonly {
    readonly name: string;
    readonly args: string;
    readonly summary: string;
    /** The prompt, given what was typed after the name. */
    expand(args: string): string;
  }[];
  /** Files that cannot be used, and why. */
  readonly problems: readonly string[];
}

/** What sudo in the target's shell would do now. */
export type SudoState =
  | { readonly kind: "root" | "missing" | "free" | "none" }
  | {
      readonly kind: "alive";
      /** Undefined: not known, or without end. */
      readonly leftMs?: number;
      /** Checking has renewed it. */
      readonly renews: boolean;
    };

export interface WorkInFlight {
  readonly shells: readonly BackgroundRow[];
  readonly panes: readonly PaneRow[];
}

export interface ChangeListing {
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly where: string;
  readonly path: string;
  /** "edited by edit_file", "removed by: rm x". */
  readonly what: string;
  /** The change that undid it. */
  readonly undone?: number;
}

interface BackgroundRow {
  readonly id: string;
  readonly command: string;
  readonly status: "running" | "completed" | "failed" | "killed";
  readonly startedAt: number;
  readonly exitCode?: number;
}

interface PaneRow {
  readonly name: string;
  readonly shared: boolean;
  /** The program in its foreground, or the line that its shell carries out. */
  readonly command: string;
  /** The shell waits at its prompt. */
  readonly idle: boolean;
}

export interface Display {
  readonly color: boolean;
  readonly showTokens: boolean;
  readonly showToolCalls: boolean;
  readonly showReasoning: boolean;
  readonly markdown: boolean;
  /** Undefined: as dark or light as the terminal. */
  readonly theme?: ThemeName | undefined;
  /** How to alert an operator who looks elsewhere. */
  readonly notify: "auto" | "bell" | "osc9" | "off";
}

/** What must be agreed to before a stored session is continued. */
interface ResumeQuestions {
  /** Another process has it: continue in a copy? */
  copy(why: string): Promise<boolean>;
  /** It is not the user's own: continue anyway? */
  foreign(lines: readonly string[]): Promise<boolean>;
}

/** A mode that is not normal, and the machines it holds for where it is not all of them. */
export interface MachinesMode {
  readonly mode: "guarded" | "read-only";
  readonly machines?: string;
}

export interface ReplFacts {
  readonly target: {
    readonly kind: "local" | "ssh" | "container" | "via" | "fleet";
    /** As the user named it: "deploy@web1", "api". */
    readonly name: string;
    readonly user?: string;
    readonly host?: string;
    readonly cwd: string;
    /** Shell command that shows the shared pane. */
    readonly attach?: string;
    /** Of several machines: those that have a shared pane, and what shows it. */
    readonly machines?: readonly { readonly name: string; readonly attach: string }[];
    /** What the rules of the machine say: its label, modes that are not normal, what the operator noted. */
    readonly label?: string;
    readonly modes?: readonly MachinesMode[];
    readonly notes?: readonly string[];
    /** Still being opened, or why it could not be. */
    readonly state: "opening" | "open" | "failed";
    /** Since when the connection is down, while it is tried again. */
    readonly lostAt?: number;
    readonly problem?: string;
  };
  readonly profile: string;
  readonly model: string;
  readonly session: string;
  readonly resumed: boolean;
  /** What was asked last in this session. */
  readonly lastPrompt?: string;
  /** What was answered. */
  readonly lastAnswer?: string;
  /** `lastAnswer` came after `lastPrompt`: with an earlier one the two do not belong together. */
  readonly isAnswered?: boolean;
  readonly contextUsed: number;
  readonly contextLimit: number;
  /** From 80 % on there is a warning, at 90 % it is compacted. */
  readonly contextState: "ok" | "warn" | "compact";
  readonly dryRun: boolean;
}

interface LoginScreen {
  say(line: string): void;
  /** What buddy is waiting for, each time it changes; undefined when the wait is over. */
  waiting(text: string | undefined): void;
}

interface ApprovalsView {
  readonly mode: ApprovalMode;
  /** The rules of the machine let approvals without a question hold no longer than this. */
  readonly longestMs?: number | undefined;
  setMode(mode: ApproveMode): void;
  /** Prefixes allowed for this session. */
  remembered(): readonly string[];
}

/** The secrets of the session that were kept from the model. */
interface PrivacyView {
  /** False: [privacy] to_model is off. */
  readonly enabled: boolean;
  list(): readonly { readonly number: number; readonly name: string; readonly kind: string; readonly from: string }[];
  value(number: number): string | undefined;
  drop(number: number): boolean;
}

export interface StatusRow {
  readonly label: string;
  readonly value: string;
}

export interface ToolRow {
  readonly name: string;
  readonly description: string;
  /** Why it is not offered to the model, if it is not. */
  readonly off?: string;
}

export interface ProfileRow {
  readonly name: string;
  readonly model: string;
  readonly api: string;
  readonly auth: string;
  readonly active: boolean;
  /** The model that the profile names, where another one of its endpoint is in use. */
  readonly own?: string;
}

export interface SessionRow {
  readonly id: string;
  readonly lastUsed: string;
  readonly title: string;
  readonly target: string;
  readonly current: boolean;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly directory: boolean;
}

/** What the REPL needs of a screen: one that repaints a terminal, or one that prints line by line. */
export interface ReplScreen extends Required<Pick<Front, "ask" | "password">> {
  /** Columns a row may use. */
  readonly columns: number;
  /** The terminal opens OSC 8 links. */
  readonly links: boolean;
  /** The terminal itself keeps what was typed on the screen: nothing is echoed. */
  readonly echoes: boolean;
  /** The terminal accepts no more output: waiting for it would keep the process alive forever. */
  readonly stuck: boolean;
  start(repl: Repl): void;
  /** Something may have changed; `now`: a key caused it. */
  refresh(now?: boolean): void;
  /** Resolves when the screen has caught up with what waits to be printed; undefined when it has. */
  room(): Promise<void> | undefined;
  /** Ctrl-C: empties the input line; false when it was empty. */
  clearLine(): boolean;
  /** Empties the screen. */
  clear(): void;
  /** Into the clipboard of the terminal; false where there is none. */
  copy(text: string): boolean;
  pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined>;
  /** What a command waits for; undefined when it is over. */
  waiting(text: string | undefined): void;
  /** Shows a long text and comes back when it was read. */
  view(lines: readonly string[]): Promise<void>;
  /** A remark that goes away by itself. */
  hint(text: string, forMs: number): void;
  taskStarted(task: Task, echo: string | undefined): void;
  taskEnded(task: Task, elapsedMs: number, words: string): void;
  /** The operator is leaving: questions are given up, nothing waits for the terminal. */
  release(): void;
  close(): Promise<void>;
}
