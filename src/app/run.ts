/**
 * What a run is made of: configuration, model, target, tools, policy, approvals and session, wired together in this one
 * place.
 */
import { defined } from "../lib/values.ts";
import { Agent } from "../agent/agent.ts";
import type { Budget } from "../agent/budget.ts";
import type { Totals } from "../agent/agent.ts";
import { Passwords } from "../agent/calls/passwords.ts";
import { systemPrompt, type OperatorFile } from "../agent/system-prompt.ts";
import type { CallRunner } from "../agent/calls/tool-calls.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { ApproveMode } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { trace } from "../lib/trace.ts";
import { stateDirectory } from "../lib/user-directories.ts";
import { unlessAborted } from "../lib/waiting.ts";
import type { ModelClient } from "../model/types.ts";
import { type ApprovalMode, Approvals, type Asker } from "../policy/approvals.ts";
import type { ResumedSession, SessionStore } from "../session/store.ts";
import type { Target, TargetNotice, TargetOptions } from "../targets/target.ts";
import type { Registry } from "../tools/registry.ts";
import { type Place, samePaths } from "../targets/place.ts";
import type { Extensions } from "./extensions/extensions.ts";
import type { FleetLimits, LazyFleet } from "./machines/lazy-fleet.ts";
import type { RunTarget } from "./machines/lazy-target.ts";
import type { MachineRules } from "./machines/machine-rules.ts";
import { modelClient } from "./model/model-client.ts";
import { requirePrice, runBudget } from "./run-budget.ts";
import { type RunHooks, runHooks } from "./run-hooks.ts";
import { RunRecorder } from "./audit-recorder.ts";
import { RunMachines } from "./machines/about-machines.ts";
import { RunSessions, samePlace, storedClient, storedPlaces } from "./run-sessions.ts";
import { toolRegistry } from "./run-tools.ts";
import { Secrets } from "./secrets.ts";
import { prepareWorkplace, type Workplace, fleetFor, type MakeFleet } from "./machines/workplace.ts";

export interface RunOptions {
  readonly globals: GlobalOptions;
  readonly loaded: LoadedConfig;
  /** A person is asked whether to continue over a budget; otherwise the turn ends there. */
  readonly askOverBudget?: boolean;
  /** Who can be asked; undefined without a terminal. */
  readonly asker?: Asker | undefined;
  readonly maxIterations?: number | undefined;
  /** Id, unique start of one, or `last` of a stored session to continue. */
  readonly resume?: string | undefined;
  /** Continue in a copy of it, under a new id. */
  readonly fork?: boolean | undefined;
  /** What `--on -` reads; absent where standard input is something else. */
  readonly stdin?: (() => Promise<string>) | undefined;
  /** Receives problems outside the work itself, such as a log that cannot be written. */
  readonly problem: (message: string) => void;
  /** Instead of the profile's: the guide of `buddy demo`. */
  readonly client?: ModelClient | undefined;
  /** False: nothing is written to a session log. */
  readonly record?: boolean;
  /** --parallel, --canary, --max-fail. */
  readonly fleet?: Partial<FleetLimits> | undefined;
  /** The record of decisions and effects is kept, also without a session log. */
  readonly audit?: boolean;
  /** For tests: instead of opening what the options say. */
  readonly open?: (options: TargetOptions) => ReturnType<typeof import("../targets/open.ts").openTarget>;
}

interface RunParts {
  readonly secrets: Secrets;
  readonly sessions: RunSessions;
  readonly client: ModelClient;
  readonly resumed: ResumedSession | undefined;
  readonly places: Run["places"];
  readonly fleet: MakeFleet | undefined;
  readonly extensions: Extensions;
}

export class Run implements AsyncDisposable {
  readonly agent: Agent;
  readonly approvals: Approvals;
  readonly passwords = new Passwords();
  readonly registry: Registry;
  readonly secrets: Secrets;
  /** Undefined without a limit. */
  readonly budget: Budget | undefined;
  /** The record of decisions and effects. */
  readonly recorder: RunRecorder;
  readonly extensions: Extensions;
  readonly hooks: RunHooks | undefined;
  /** Said of a resumed session: damaged lines, another target or model than before. */
  readonly notes: string[] = [];
  /** The options in effect: those of the command line, and the target of a resumed session. */
  readonly globals: GlobalOptions;
  readonly #options: RunOptions;
  readonly machines: RunMachines;
  /** What holds on the machines it works on. */
  readonly rules: MachineRules;
  readonly #loaded: LoadedConfig;
  readonly #problem: (message: string) => void;
  readonly #sessions: RunSessions;
  readonly #resumed: boolean;
  readonly #record: boolean;
  #changes: ChangeStore | undefined;
  #workplace: Workplace;

  constructor(options: RunOptions, { secrets, sessions, client, resumed, places, fleet, extensions }: RunParts) {
    const { loaded, globals } = options;
    const { config } = loaded;
    this.secrets = secrets;
    this.extensions = extensions;
    this.globals = globals;
    this.#options = options;
    this.#loaded = loaded;
    this.#problem = options.problem;
    this.#sessions = sessions;
    this.#resumed = resumed !== undefined;
    this.approvals = new Approvals({ mode: approvalMode(globals.approve), asker: options.asker });
    this.budget = runBudget(globals, config.limits, options.askOverBudget === true ? this.approvals : undefined);
    this.machines = new RunMachines(this, loaded, secrets.privacy, options.problem);
    this.rules = this.machines.rules;
    this.recorder = new RunRecorder({
      settings: config.audit,
      own: options.audit === true,
      known: (opened) => this.machines.known(opened).catch(() => ({ names: this.place.names })),
      record: options.record !== false || options.audit === true,
      stateDirectory: stateDirectory(loaded.env),
      session: () => sessions.id,
      redact: secrets.redact,
      problem: options.problem,
    });
    this.hooks = runHooks({
      loaded,
      session: () => sessions.id,
      known: (opened) => this.machines.known(opened),
      opened: () => this.target.opened,
      redact: secrets.redact,
      publish: (body) => this.agent.publish(body),
    });
    const { hooks } = this;
    const registry = (this.registry = toolRegistry(loaded, extensions));
    const { privacy } = secrets;
    const { mcp } = extensions;
    this.#record = options.record !== false;
    this.#workplace = this.#prepare(places, globals, fleet);
    this.agent = new Agent({
      client,
      registry,
      calls: () => this.calls,
      privacy,
      hideSecrets: () => secrets.hidden(),
      session: () => sessions.id,
      maxIterations: options.maxIterations ?? config.agent.max_iterations,
      budget: this.budget,
      facts: () => this.target.facts(),
      instructions: (facts) =>
        systemPrompt({
          facts,
          tools: registry.offered(facts),
          // Masked again for each session: names belong to one.
          operator: privacy.mask(config.agent.system_prompt, { from: "[agent] system_prompt" }),
          skills: privacy.mask(extensions.instructions, { from: "skills" }),
          files: this.operatorFiles.map((file) => ({ ...file, text: privacy.mask(file.text, { from: file.path }) })),
          dryRun: globals.dryRun,
        }),
      describe: () => this.machines.describe(this.#resumed),
      ...(mcp === undefined ? {} : { prepareTools: (signal) => mcp.servers.ready(signal) }),
    });
    this.agent.onEvent((event) => {
      sessions.append(event);
      // Pieces of text could hold half a secret; the whole answer is in the trace of its request.
      if (!PIECES.has(event.type)) trace("event", () => ({ event }));
    });
    if (hooks !== undefined) this.agent.onEvent((event) => hooks.onEvent(event));
  }

  /** Where it works: on one machine, or several. */
  get places(): readonly [Place, ...Place[]] {
    return this.#workplace.places;
  }

  get target(): RunTarget {
    return this.#workplace.target;
  }

  /** Where the run has several machines: the same as `target`. */
  get fleet(): LazyFleet | undefined {
    return this.#workplace.fleet;
  }

  get calls(): CallRunner {
    return this.#workplace.calls;
  }

  /** AGENTS.md files in the prompt, for /status. */
  get operatorFiles(): readonly OperatorFile[] {
    return this.#workplace.files;
  }

  /** The machine; the first of several. */
  get place(): Place {
    return this.places[0];
  }

  /** Id of the current session. */
  session(): string {
    return this.#sessions.id;
  }

  sessions(): Promise<SessionStore> {
    return this.#sessions.store();
  }

  /** Resolves when the session log has every event so far. */
  stored(): Promise<void> {
    return this.#sessions.stored();
  }

  /**
   * Files as they were before they were changed; `none` says why they are not kept, undefined that they need not be.
   */
  async changes(): Promise<ChangeStore | { readonly none: string } | undefined> {
    const state = stateDirectory(this.#loaded.env);
    if (!this.#record) return undefined;
    if (state === undefined) return { none: "there is no home directory to keep files in" };
    const [{ ChangeStore }, { changesDirectory, prepareChanges }] = await Promise.all([
      import("../changes/change-store.ts"),
      import("../session/outputs.ts"),
    ]);
    const directory = () => changesDirectory(state, this.session());
    return (this.#changes ??= new ChangeStore({ directory, prepare: prepareChanges }));
  }

  /** Uses the time while the first request is under way: opens the target, loads the tools. */
  prepareForTools(): void {
    this.target.start();
    this.registry.warm();
    this.extensions.mcp?.servers.start();
  }

  /** Leaves the conversation; the next turn begins a new session. */
  async newSession(): Promise<void> {
    await this.secrets.settled();
    await this.#sessions.change();
    this.approvals.forget();
    this.secrets.privacy.restore([]);
    this.extensions.mcp?.servers.newSession();
    this.agent.restore({ messages: [] });
  }

  /**
   * Leaves the conversation for a stored one; returns what to say about it. Throws SessionInUse or ForeignSession, and
   * then nothing has changed.
   */
  async resumeSession(
    name: string,
    { copy = false, foreign }: { readonly copy?: boolean; readonly foreign?: boolean } = {},
  ): Promise<readonly string[]> {
    const store = await this.sessions();
    const next = copy ? store.fork(name, { foreign }) : await store.resume(name, { current: this.session(), foreign });
    const { chosen, note } = await storedClient(this.#loaded, this.globals, next);
    await this.secrets.settled();
    await this.#sessions.change(next);
    this.approvals.forget();
    const { name: profile, model } = this.agent.client.profile;
    if (chosen !== undefined && (chosen.profile.name !== profile || chosen.profile.model !== model)) {
      this.secrets.learn(chosen.secrets);
      this.agent.switchModel(chosen.client);
      note.push(`back to the model of this session: ${chosen.profile.model} (${chosen.profile.name})`);
    }
    note.push(...(await this.#goBack(next)));
    return [...note, ...this.continueFrom(next)];
  }

  /** To the machines of a stored session; where they cannot be reached, it continues on those in use. */
  async #goBack({ replay }: ResumedSession): Promise<readonly string[]> {
    try {
      const places = await storedPlaces(replay, this.#loaded);
      if (places === undefined || samePaths(places, this.places)) return [];
      const said = await this.workOn(places, AbortSignal.timeout(GO_BACK_MS));
      return [`back on ${this.target.facts().label}`, ...said];
    } catch (error) {
      if (!(error instanceof BuddyError)) throw error;
      return [`${replay.target} cannot be reached: ${error.message}`];
    }
  }

  /** Continues with another profile or model; the conversation stays. */
  async switchModel(selector: string): Promise<void> {
    const next = await modelClient(this.#loaded, selector);
    const warning = requirePrice(next.client, this.globals, this.#loaded.config.limits);
    if (warning !== undefined) this.#problem(warning);
    this.secrets.learn(next.secrets);
    this.agent.switchModel(next.client);
  }

  /**
   * Continues on other machines; the conversation stays. One machine is reached before the ones before are left: where
   * that fails, nothing has changed. Returns what to say.
   */
  async workOn(places: Run["places"], signal: AbortSignal): Promise<readonly string[]> {
    const { ssh: _ssh, container: _container, cd: _cd, tmuxSession: _session, pane: _pane, ...globals } = this.globals;
    const options = { ...globals, on: places.map(({ name }) => name).join(",") };
    const next = this.#prepare(places, options, await fleetFor(places, this.#options));
    let silent: readonly string[] = [];
    try {
      if (next.fleet === undefined) {
        const opened = await unlessAborted(signal, next.target.get());
        await this.rules.of(opened, places[0]);
      } else silent = await next.fleet.answers(signal);
    } catch (error) {
      await next.target[Symbol.asyncDispose]();
      throw error;
    }
    const before = this.#workplace;
    this.#workplace = next;
    this.agent.targetChanged();
    this.calls.notes.addNews(
      `The operator changed the machine: it is ${this.target.facts().label} now; before it was ${before.target.facts().label}`,
    );
    await before.target[Symbol.asyncDispose]();
    return [...silent, ...this.askAgain()];
  }

  /** On another machine, or as another user: what was approved in advance was not meant for it. Returns what to say. */
  askAgain(): readonly string[] {
    const { mode } = this.approvals;
    if (mode.kind !== "all" && mode.kind !== "until") return [];
    this.approvals.setMode({ kind: "ask" });
    return ["buddy asks again before it makes a change: auto-approval was only for the previous machine"];
  }

  /** Takes over what a stored session knows; returns what to say about it. */
  continueFrom({ replay, notes, secrets }: ResumedSession): string[] {
    this.secrets.privacy.restore(secrets);
    const { messages, turns, totals, target: place, model: before } = replay;
    this.agent.restore({ messages, turns, totals: totals satisfies Totals });
    const { label } = this.target.facts();
    const { model } = this.agent.client.profile;
    const said = [...notes];
    if (place !== "" && !samePlace(place, label))
      said.push(`this session worked on ${place}; it continues on ${label}`);
    if (before !== "" && before !== model) said.push(`this session used ${before}; it continues with ${model}`);
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hooks?.close();
    await this.recorder.close();
    await Promise.all([
      this.target[Symbol.asyncDispose](),
      this.extensions.mcp?.servers[Symbol.asyncDispose](),
      this.#sessions.close(),
      this.secrets.settled(),
    ]);
    const { client } = this.agent;
    if (Symbol.asyncDispose in client) await (client as unknown as AsyncDisposable)[Symbol.asyncDispose]();
  }

  /** With the machine's label, where there are rules to look for one. */
  #introduce(opened: Target): void {
    if (this.#loaded.config.rules.length === 0) return this.agent.introduce();
    const introduce = () => this.agent.introduce();
    // A call asks for the rules again, and reports what went wrong.
    this.rules.of(opened, this.place).then(introduce, introduce);
  }

  /** `machine`: which, where there are several. */
  onNotice({ kind, text }: TargetNotice, machine?: string): void {
    this.agent.publish({ type: "notice", kind, message: text, ...defined({ machine }) });
    if (kind !== "info") this.calls.notes.addNews(machine === undefined ? text : `${machine}: ${text}`);
    // An adopted shell may have ended: the rules of the machine before it are shown again.
    const { opened } = this.target;
    if (machine === undefined && opened?.now !== undefined)
      this.rules.of(opened.now(), this.place).catch(() => undefined);
  }

  #prepare(places: Run["places"], globals: GlobalOptions, makeFleet: MakeFleet | undefined): Workplace {
    const workplace = prepareWorkplace(this, { ...this.#options, globals }, places, makeFleet, (opened) => {
      // Another one that is being opened meanwhile is introduced when it is taken.
      if (this.#workplace.target === workplace.target) this.#introduce(opened);
    });
    return workplace;
  }
}

const GO_BACK_MS = 30_000;

const PIECES: ReadonlySet<string> = new Set(["text", "reasoning", "tool_output", "message", "discard"]);

function approvalMode(mode: ApproveMode | undefined): ApprovalMode {
  if (mode === undefined) return { kind: "ask" };
  return mode.kind === "duration" ? { kind: "until", at: Date.now() + mode.ms } : { kind: mode.kind };
}
