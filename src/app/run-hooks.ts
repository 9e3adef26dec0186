/** The hooks of a run: which events they get, with session and machine filled in and secrets masked. */
import type { AgentEvent, AgentEventBody } from "../agent/events.ts";
import type { CallHooks, HookedCall, Objection } from "../agent/calls/call-hooks.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { HookEvent, HookMachine, Hooks } from "../extend/hooks.ts";
import { defined, mapTexts } from "../lib/values.ts";
import { within } from "../lib/waiting.ts";
import type { Target } from "../targets/target.ts";
import type { KnownMachine } from "./audit-recorder.ts";
import { shorten } from "../lib/text.ts";
import { messageOf } from "../lib/errors.ts";

interface RunHooksOptions {
  readonly loaded: LoadedConfig;
  session(): string;
  /** The operator's names for a machine; undefined: for all of the run. */
  known(target: Target | undefined): Promise<KnownMachine>;
  /** The machine of the run, once it is open. */
  opened(): Target | undefined;
  readonly redact: (text: string) => string;
  publish(body: AgentEventBody): void;
  /** Gets what goes wrong at the end, when events are only stored. */
  readonly problem: (message: string) => void;
}

export class RunHooks implements CallHooks {
  readonly #options: RunHooksOptions;
  #hooks: Promise<Hooks> | undefined;
  /** The session that has begun and not ended. */
  #session: Pick<AgentEvent, "session" | "target"> | undefined;
  readonly #titles = new Map<string, { readonly title: string; readonly args: unknown }>();
  readonly #working = new Set<Promise<void>>();
  readonly #hurried = Promise.withResolvers<void>();
  readonly #over = new AbortController();
  #closing = false;

  constructor(options: RunHooksOptions) {
    this.#options = options;
  }

  async before({ target, ...call }: HookedCall, signal: AbortSignal): Promise<Objection | undefined> {
    const { tool } = call;
    const event = this.#event("before-tool", this.#options.session(), await this.#at(target), { ...call });
    return (await this.#load()).before({ ...event, tool }, signal);
  }

  /** Reports what has happened; nothing waits for these hooks. */
  onEvent(event: AgentEvent): void {
    switch (event.type) {
      case "turn":
        if (this.#session?.session === event.session) break;
        this.#endSession();
        this.#session = event;
        this.#report("session-start", event, { prompt: event.shown ?? event.prompt });
        break;
      case "tool_started":
        this.#titles.set(event.call, { title: event.title, args: event.args });
        break;
      case "approval_asked": {
        const { call, tool, where, action, diff, risk, mutation, privesc, why, policy } = event;
        const about = { call, tool, where, action, ...defined({ diff }) };
        this.#report("approval", event, { ...about, risk, mutation, privesc, why, policy });
        break;
      }
      case "tool_finished": {
        const { call, tool, ok, outcome, exit_code, ms, result } = event;
        const { title, args } = this.#titles.get(call) ?? { title: "", args: {} };
        this.#titles.delete(call);
        const about = { tool, call, title, input: args, ok, outcome, ...defined({ exit_code }), ms };
        this.#report("after-tool", event, { ...about, result: shorten(result, MOST_RESULT) });
        break;
      }
    }
  }

  /** The run was stopped: its end waits for hooks only briefly. */
  hurry(): void {
    this.#hurried.resolve();
  }

  /** Ends the session, and waits for what still runs; each hook has its own time limit. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#endSession();
    const limits = this.#options.loaded.config.hooks.map(({ timeout }) => timeout);
    const ended = Promise.all(this.#working);
    const hurried = this.#hurried.promise.then(() => within(ended, HURRIED_MS));
    await within(Promise.race([ended, hurried]), Math.max(0, ...limits) + SPARE_MS);
    this.#over.abort();
    await ended;
  }

  #problem(message: string): void {
    this.#options.publish({ type: "warning", message });
    if (this.#closing) this.#options.problem(message);
  }

  #endSession(): void {
    if (this.#session !== undefined) this.#report("session-end", this.#session, {});
    this.#session = undefined;
  }

  #report(name: HookEvent["event"], { session, target }: Pick<AgentEvent, "session" | "target">, fields: object): void {
    if (!this.#options.loaded.config.hooks.some(({ on }) => on === name)) return;
    const event = this.#ofRun(target).then((machine) => this.#event(name, session, machine, fields));
    const work = Promise.all([this.#load(), event])
      .then(([hooks, ready]) => hooks.report(ready, this.#over.signal))
      .catch((error: unknown) => this.#problem(`the ${name} hooks were not started: ${messageOf(error)}`));
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  #event(event: HookEvent["event"], session: string, machine: HookMachine, fields: object): HookEvent {
    const whole = { event, v: 1, ts: new Date().toISOString(), session, machine, ...fields };
    return mapTexts(whole, this.#options.redact) as HookEvent;
  }

  /** The machine a call is about; without a target, this machine. */
  async #at(target: Target | undefined): Promise<HookMachine> {
    if (target === undefined) return { target: "local", names: ["local"] };
    const { label: name, user, host, machine } = target.identity;
    return { target: name, ...(await this.#options.known(target)), user, host, id: machine };
  }

  /** The machine of the run, or all of several. */
  async #ofRun(label: string): Promise<HookMachine> {
    const target = this.#options.opened();
    return target === undefined ? { target: label, ...(await this.#options.known(undefined)) } : this.#at(target);
  }

  #load(): Promise<Hooks> {
    return (this.#hooks ??= import("../extend/hooks.ts").then(({ Hooks }) => {
      const { loaded } = this.#options;
      return new Hooks({
        hooks: loaded.config.hooks,
        cwd: loaded.cwd,
        home: loaded.env.HOME,
        problem: (message) => this.#problem(message),
      });
    }));
  }
}

const MOST_RESULT = 16_000;
const SPARE_MS = 1000;
const HURRIED_MS = 2000;
