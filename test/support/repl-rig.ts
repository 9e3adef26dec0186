/** A REPL inside the test process, on an emulator instead of a terminal, with turns of the test's choice. */
import { Desk } from "../../src/agent/calls/desk.ts";
import type { AgentEvent, AgentEventBody } from "../../src/agent/events.ts";
import { type TaskEnd, Tasks } from "../../src/agent/tasks.ts";
import type { ExitCode } from "../../src/lib/errors.ts";
import type { ApprovalRequest, Decision, RequestPlace } from "../../src/policy/approvals.ts";
import type { Display, ReplFacts, ReplHost } from "../../src/ui/repl/host.ts";
import { Repl } from "../../src/ui/repl/repl.ts";
import { TerminalScreen } from "../../src/ui/repl/terminal-screen.ts";
import { Terminal } from "../../src/ui/terminal/terminal.ts";
import { Emulator } from "./emulator.ts";
import { encode } from "./pty.ts";
import { until } from "./until.ts";
import { REPL } from "./wording.ts";

export type ScriptedTurn = (turn: TurnTools) => AsyncGenerator<AgentEventBody, void>;

export interface TurnTools {
  readonly prompt: string;
  readonly signal: AbortSignal;
  /** Waits until the test opens the gate of that name, or the turn is cancelled. */
  gate(name: string): Promise<void>;
  ask(request?: Partial<ApprovalRequest>, place?: () => Promise<RequestPlace>): Promise<Decision>;
}

export interface RigOptions {
  readonly cols?: number;
  readonly rows?: number;
  readonly turn?: ScriptedTurn;
  readonly display?: Partial<Display>;
  readonly facts?: Partial<ReplFacts>;
  readonly target?: Partial<ReplFacts["target"]>;
  readonly host?: Partial<ReplHost>;
  readonly env?: Record<string, string | undefined>;
  readonly historyPath?: string;
}

export class ReplRig implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly desk = new Desk();
  readonly approvals = this.desk.approvals;
  readonly repl: Repl;
  readonly host: ReplHost;
  readonly done: Promise<ExitCode>;
  readonly prompts: string[] = [];
  /** Set to make the terminal slow: writes wait until it is undefined again. */
  stalled: Promise<void> | undefined;
  raw = false;
  used = 0;
  #gates = new Map<string, PromiseWithResolvers<void>>();
  #listeners: Record<string, ((...values: any[]) => void) | undefined> = {};
  #news = new Set<(event: AgentEvent) => void>();

  constructor(options: RigOptions = {}) {
    this.emulator = new Emulator(options.cols, options.rows);
    this.host = this.#host(options);
    const terminal = new Terminal(
      {
        setRawMode: (on) => (this.raw = on),
        on: (event, listener) => (this.#listeners[event] = listener),
        off: (event) => (this.#listeners[event] = undefined),
        resume: () => {},
        pause: () => {},
      },
      {
        size: () => ({ columns: this.emulator.columns, rows: this.emulator.rows }),
        write: async (text) => {
          await this.stalled;
          this.emulator.write(text);
        },
        writeNow: (text) => this.emulator.write(text),
      },
    );
    this.emulator.onAnswer((text) => this.send(text));
    this.repl = new Repl(this.host, new TerminalScreen(terminal, options.env ?? {}));
    this.done = this.repl.run();
  }

  send(text: string): void {
    this.#listeners.data?.(Buffer.from(text));
  }

  key(...names: string[]): void {
    for (const name of names) this.send(encode(name));
  }

  resize(cols: number, rows: number): void {
    this.emulator.resize(cols, rows);
    process.emit("SIGWINCH", "SIGWINCH");
  }

  open(gate: string): void {
    this.#gate(gate).resolve();
  }

  /** Something that happens outside a task. */
  news(body: AgentEventBody): void {
    for (const listener of this.#news) listener(stamped(body));
  }

  async until(wanted: string | RegExp | ((screen: string) => boolean)): Promise<string> {
    return await this.emulator.until(wanted, 50_000);
  }

  /** How a task ended, once it has. */
  end(id: number): TaskEnd | undefined {
    const state = this.repl.tasks.get(id)?.state;
    return state?.kind === "over" ? state.status : undefined;
  }

  /** The task ended like that, and the screen says so. */
  async untilEnd(id: number, how: TaskEnd): Promise<string> {
    await until(() => this.end(id) === how, `task ${id}: ${how}`);
    return await this.until(REPL.ended(id, how));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.repl.leave(0);
    await this.done;
    this.emulator.dispose();
  }

  #gate(name: string): PromiseWithResolvers<void> {
    let gate = this.#gates.get(name);
    if (gate === undefined) this.#gates.set(name, (gate = Promise.withResolvers<void>()));
    return gate;
  }

  async *#run(turn: ScriptedTurn, prompt: string, signal: AbortSignal): AsyncGenerator<AgentEvent, void> {
    this.prompts.push(prompt);
    const tools: TurnTools = {
      prompt,
      signal,
      gate: async (name) => {
        signal.throwIfAborted();
        const { promise, reject } = Promise.withResolvers<never>();
        signal.addEventListener("abort", () => reject(signal.reason));
        await Promise.race([this.#gate(name).promise, promise]);
      },
      ask: (request = {}, place) => this.approvals.decide({ ...REQUEST, ...request }, signal, undefined, place),
    };
    for await (const body of turn(tools)) yield stamped(body);
  }

  #host(options: RigOptions): ReplHost {
    const turn = options.turn ?? (async function* () {} as ScriptedTurn);
    const { approvals } = this;
    return {
      version: "1.2.3",
      display: {
        color: false,
        showTokens: false,
        showToolCalls: true,
        showReasoning: true,
        markdown: true,
        notify: "bell",
        ...options.display,
      },
      historyPath: options.historyPath,
      machineLabel: () => undefined,
      facts: () => ({
        target: {
          kind: "local",
          name: "local",
          user: "ann",
          host: "desk",
          cwd: "/srv",
          state: "open",
          ...options.target,
        },
        profile: "main",
        model: "model-x",
        session: "aaaa-bbbb-cccc-dddd",
        resumed: false,
        contextUsed: this.used,
        contextLimit: 1000,
        contextState: "ok",
        dryRun: false,
        ...options.facts,
      }),
      tasks: (listener) => new Tasks(listener),
      runTurn: (prompt, signal) => this.#run(turn, prompt, signal),
      runCommand: (command, signal) => this.#run(turn, `!${command}`, signal),
      compact: (signal, focus = "") => this.#run(turn, `/compact ${focus}`.trimEnd(), signal),
      skills: async () => ["no skills"],
      mcp: async () => ["no MCP servers"],
      runbooks: async () => [],
      runbook: async (words) => ({ run: (signal) => this.#run(turn, `/run ${words}`, signal) }),
      customCommands: () => ({ commands: [], problems: [] }),
      work: async () => ({ shells: [], panes: [] }),
      killShell: async () => "killed",
      interruptPane: async () => {},
      output: async (id) => `the output of ${id}`,
      changes: async () => [],
      changeDiff: async () => [],
      undo: (which, signal) => this.#run(turn, `/undo ${which}`.trimEnd(), signal),
      exportSession: async (format) => `as ${format}`,
      config: () => [{ label: "display.notify", value: '"bell"' }],
      listFiles: async () => ["src/app/run.ts", "src/ui/repl/repl.ts", "README.md"],
      onEvent: (listener) => {
        this.#news.add(listener);
        return () => this.#news.delete(listener);
      },
      attach: (front) => this.desk.attach(front),
      adopt: () => Promise.resolve([]),
      sudoState: () => Promise.resolve({ kind: "none" }),
      dropSudo: () => Promise.resolve(),
      privacy: { enabled: true, list: () => [], value: () => undefined, drop: () => false },
      approvals: {
        get mode() {
          return approvals.mode;
        },
        setMode: (mode) => approvals.setMode(mode),
        remembered: () => approvals.remembered(REQUEST.subject).map(({ words }) => words.join(" ")),
      },
      status: () => [{ label: "tokens", value: "10 in, 20 out" }],
      tools: () => [
        { name: "run_shell", description: "runs a command" },
        { name: "web_search", description: "searches", off: "search_enabled = false" },
      ],
      profiles: () => [
        { name: "main", model: "model-x", api: "completions", auth: "api-key", active: true },
        { name: "spark", model: "model-y", api: "responses", auth: "login", active: false },
      ],
      offeredModels: async () => ["model-x", "model-z"],
      switchModel: async () => [],
      sessions: async () => [
        { id: "aaaa-bbbb-cccc-dddd", lastUsed: new Date().toISOString(), title: "now", target: "local", current: true },
        {
          id: "eeee-ffff-gggg-hhhh",
          lastUsed: "2020-01-01T00:00:00Z",
          title: "before",
          target: "local",
          current: false,
        },
      ],
      newSession: async () => ["session 1111-2222-3333-4444"],
      resumeSession: async (name) => [`resumed ${name}`],
      login: async () => {},
      logout: async () => {},
      targets: async () => [{ name: "local", meaning: "this machine", current: true }],
      targetNames: async () => [{ name: "web1", meaning: "from ~/.ssh/config", current: false }],
      workOn: async (what) => [`on ${what}`],
      reconnect: async () => ["connected: local (ann@desk)"],
      redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
      listDirectory: async () => [
        { name: "src", directory: true },
        { name: "some file.txt", directory: false },
        { name: ".hidden", directory: false },
      ],
      ...options.host,
    };
  }
}

export const REQUEST: ApprovalRequest = {
  id: "a1",
  call: "c1",
  tool: "run_shell",
  where: "ann@desk",
  subject: { machine: "m1", user: "ann", shell: "bash" },
  action: "systemctl restart nginx",
  risk: "high",
  mutation: true,
  privesc: false,
  why: "to apply the configuration",
  policy: "restarts a service",
  understated: true,
  declared: { risk: "low", mutation: false, privesc: false },
  found: { risk: "high", mutation: true, privesc: false },
  editable: true,
  prefixes: [{ words: ["systemctl", "restart"], open: true }],
};

export function stamped(body: AgentEventBody): AgentEvent {
  return { v: 1, ts: "2026-01-01T00:00:00.000Z", session: "aaaa-bbbb-cccc-dddd", target: "local", ...body };
}

/** The events of an answer that is only text. */
export async function* answer(text: string, pieces = 7): AsyncGenerator<AgentEventBody, void> {
  for (let at = 0; at < text.length; at += pieces) yield { type: "text", delta: text.slice(at, at + pieces) };
  yield { type: "message", message: { role: "assistant", content: text, toolCalls: [] } };
  yield { type: "done", turn: 1, status: "answered", text, iterations: 1, ms: 1 };
}
