/** The hooks of a run: which events they get, with session and machine filled in and secrets masked. */
import type { AgentEvent, AgentEventBody } from "../agent/events.ts";
import type { CallHooks, HookedCall, Objection } from "../agent/calls/call-hooks.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { HookEvent, HookMachine, Hooks } from "../extend/hooks.ts";
import { mapTexts } from "../lib/values.ts";
import { within } from "../lib/waiting.ts";
import type { Target } from "../targets/target.ts";
import type { KnownMachine } from "./audit-recorder.ts";
import { shorten } from "../lib/text.ts";
import { messageOf } from "../lib/errors.ts";

export interface RunHooksOptions {
  readonly loaded: LoadedConfig;
  session(): string;
  /** What the operator calls a machine; undefined: those of the run. */
  known(target: Target | undefined): Promise<KnownMachine>;
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
  #session: Pick<AgentEvent, "session" | "target"> | undefined;
  readonly #titles = new Map<string, { readonly title: string; readonly args: unknown }>();
  readonly #working = new Set<Promise<void>>();

  constructor(options: RunHooksOptions) {
    this.#options = options;
  }

  async before({ target, ...call }: HookedCall, signal: AbortSignal): Promise<Objection | undefined> {
    const { tool } = call;
    const event = this.#event("before-tool", this.#options.session(), await this.#at(target), { ...call });
    return (await this.#load()).before({ ...event, tool }, signal);
  }

  /** Reports of what has happened: nothing waits for these. */
  onEvent(event: AgentEvent): void {
    switch (event.type) {
      case "turn":
        if (this.#session?.session === event.session) break;
        this.#endSession();
        this.#session = event;
        this.#tell("session-start", event, { prompt: event.shown ?? event.prompt });
        break;
      case "tool_started":
        this.#titles.set(event.call, { title: event.title, args: event.args });
        break;
      case "approval_asked": {
        const { call, tool, where, action, diff, risk, mutation, privesc, why, policy } = event;
        const change = diff === undefined ? {} : { diff };
        const question = { call, tool, where, action, ...change, risk, mutation, privesc, why, policy };
        this.#tell("approval", event, question);
        break;
      }
      case "tool_finished": {
        const { call, tool, ok, outcome, exit_code, ms, result } = event;
        const { title, args } = this.#titles.get(call) ?? { title: "", args: {} };
        this.#titles.delete(call);
        const code = exit_code === undefined ? {} : { exit_code };
        const text = shorten(result, MOST_RESULT);
        this.#tell("after-tool", event, { tool, call, title, input: args, ok, outcome, ...code, ms, result: text });
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

  #tell(name: HookEvent["event"], { session, target }: Pick<AgentEvent, "session" | "target">, fields: object): void {
    if (!this.#options.loaded.config.hooks.some(({ on }) => on === name)) return;
    const event = this.#ofRun(target).then((machine) => this.#event(name, session, machine, fields));
    const work = Promise.all([this.#load(), event])
      .then(([hooks, ready]) => hooks.tell(ready))
      .catch((error: unknown) => {
        const message = `the ${name} hooks were not started: ${messageOf(error)}`;
        this.#options.publish({ type: "warning", message });
      });
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  #event(event: HookEvent["event"], session: string, machine: HookMachine, fields: object): HookEvent {
    const whole = { event, v: 1, ts: new Date().toISOString(), session, machine, ...fields };
    return mapTexts(whole, this.#options.redact) as HookEvent;
  }

  /** The machine a call is about; without one it happens on this machine. */
  async #at(target: Target | undefined): Promise<HookMachine> {
    if (target === undefined) return { target: "local", names: ["local"] };
    const { label: name, user, host, machine } = target.identity;
    return { target: name, ...(await this.#options.known(target)), user, host, id: machine };
  }

  /** The one machine of the run, or all of several. */
  async #ofRun(label: string): Promise<HookMachine> {
    const target = this.#options.opened();
    return target === undefined ? { target: label, ...(await this.#options.known(undefined)) } : this.#at(target);
  }

  #load(): Promise<Hooks> {
    return (this.#hooks ??= import("../extend/hooks.ts").then(({ Hooks }) => {
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
