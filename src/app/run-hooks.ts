/** The hooks of a run: what they hear of, with session and machine filled in and secrets masked. */
import type { AgentEvent, AgentEventBody } from "../agent/events.ts";
import type { CallHooks, HookedCall, Objection } from "../agent/call-hooks.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { HookEvent, HookMachine, Hooks } from "../extend/hooks/hooks.ts";
import { mapTexts } from "../lib/values.ts";
import { within } from "../lib/waiting.ts";
import type { Target } from "../targets/target.ts";

export interface RunHooksOptions {
  readonly loaded: LoadedConfig;
  session(): string;
  /** What is known of a machine: the names of its place, and what the operator calls it. */
  machine(target: Target | undefined): { readonly names: readonly string[]; readonly label?: string };
  /** The machine of the run, once it is open. */
  opened(): Target | undefined;
  readonly redact: (text: string) => string;
  publish(body: AgentEventBody): void;
}

/** Undefined without hooks: then nothing is loaded. */
export function runHooks(options: RunHooksOptions): RunHooks | undefined {
  return options.loaded.config.hooks.length === 0 ? undefined : new RunHooks(options);
}

export class RunHooks implements CallHooks {
  readonly #options: RunHooksOptions;
  #hooks: Promise<Hooks> | undefined;
  /** The session that has begun, and has not ended yet. */
  #session: string | undefined;
  readonly #titles = new Map<string, { readonly title: string; readonly args: unknown }>();
  readonly #working = new Set<Promise<void>>();

  constructor(options: RunHooksOptions) {
    this.#options = options;
  }

  async before({ target, ...call }: HookedCall, signal: AbortSignal): Promise<Objection | undefined> {
    const { tool } = call;
    const event = this.#event("before-tool", this.#options.session(), target, { ...call });
    return (await this.#load()).before({ ...event, tool }, signal);
  }

  /** What has happened: no one waits for these. */
  onEvent(event: AgentEvent): void {
    switch (event.type) {
      case "turn":
        if (this.#session === event.session) break;
        this.#endSession();
        this.#session = event.session;
        this.#tell("session-start", event.session, { prompt: event.shown ?? event.prompt });
        break;
      case "tool_started":
        this.#titles.set(event.call, { title: event.title, args: event.args });
        break;
      case "approval_asked": {
        const { session, call, tool, where, action, diff, risk, mutation, privesc, why, policy } = event;
        const change = diff === undefined ? {} : { diff };
        const question = { call, tool, where, action, ...change, risk, mutation, privesc, why, policy };
        this.#tell("approval", session, question);
        break;
      }
      case "tool_finished": {
        const { call, tool, ok, outcome, exit_code, ms, result, session } = event;
        const { title, args } = this.#titles.get(call) ?? { title: "", args: {} };
        this.#titles.delete(call);
        const code = exit_code === undefined ? {} : { exit_code };
        const text = result.length > MOST_RESULT ? `${result.slice(0, MOST_RESULT)}…` : result;
        this.#tell("after-tool", session, { tool, call, title, input: args, ok, outcome, ...code, ms, result: text });
        break;
      }
    }
  }

  /** Ends the session, and waits for what still runs; each hook has its own time limit. */
  async close(): Promise<void> {
    this.#endSession();
    const limits = this.#options.loaded.config.hooks.map(({ timeout }) => timeout);
    await within(Promise.all(this.#working), Math.max(0, ...limits) + SPARE_MS);
  }

  #endSession(): void {
    if (this.#session !== undefined) this.#tell("session-end", this.#session, {});
    this.#session = undefined;
  }

  #tell(name: HookEvent["event"], session: string, fields: object): void {
    if (!this.#options.loaded.config.hooks.some(({ on }) => on === name)) return;
    const event = this.#event(name, session, this.#options.opened(), fields);
    const work = this.#load().then((hooks) => hooks.tell(event));
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  #event(event: HookEvent["event"], session: string, target: Target | undefined, fields: object): HookEvent {
    const whole = { event, v: 1, ts: new Date().toISOString(), session, machine: this.#machine(target), ...fields };
    return mapTexts(whole, this.#options.redact) as HookEvent;
  }

  #machine(target: Target | undefined): HookMachine {
    const { names, label } = this.#options.machine(target);
    const known = { names, ...(label === undefined ? {} : { label }) };
    if (target === undefined) return { target: "local", ...known };
    const { label: name, user, host, machine } = target.identity;
    return { target: name, ...known, user, host, id: machine };
  }

  #load(): Promise<Hooks> {
    return (this.#hooks ??= import("../extend/hooks/hooks.ts").then(({ Hooks }) => {
      const { loaded, publish } = this.#options;
      return new Hooks({
        hooks: loaded.config.hooks,
        cwd: loaded.cwd,
        home: loaded.env.HOME,
        problem: (message) => publish({ type: "warning", message }),
      });
    }));
  }
}

const MOST_RESULT = 16_000;
const SPARE_MS = 1000;
