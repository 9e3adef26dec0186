/** A run: configuration, model, target, tools, policy, approvals and session, wired together in this one place. */
import { changesDirectory, prepareChanges } from "../session/outputs.ts";
import { Agent } from "../agent/agent.ts";
import type { Budget } from "../agent/budget.ts";
import { Desk } from "../agent/calls/desk.ts";
import type { CallRunner } from "../agent/calls/tool-calls.ts";
import { type OperatorFile, systemPrompt } from "../agent/system-prompt.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import type { LoadedConfig } from "../config/load.ts";
import { BuddyError } from "../lib/errors.ts";
import { trace, tracing } from "../lib/trace.ts";
import { stateDirectory } from "../lib/user-directories.ts";
import { defined } from "../lib/values.ts";
import { unlessAborted } from "../lib/waiting.ts";
import type { ModelClient } from "../model/types.ts";
import type { Approvals } from "../policy/approvals.ts";
import type { ResumedSession } from "../session/store.ts";
import { pathKey, type Place } from "../targets/place.ts";
import type { OutputDirectory, Target, TargetNotice, TargetOptions } from "../targets/target.ts";
import type { Registry } from "../tools/registry.ts";
import { AuditRecorder } from "./audit-recorder.ts";
import { type Extensions, loadExtensions, NO_EXTENSIONS } from "./extensions/extensions.ts";
import { AboutMachines } from "./machines/about-machines.ts";
import type { FleetLimits, LazyFleet } from "./machines/lazy-fleet.ts";
import type { RunTarget } from "./machines/lazy-target.ts";
import { type MachineRules, uncertainRules } from "./machines/machine-rules.ts";
import { chosenPlaces } from "./machines/places.ts";
import { fleetFor, keptOutputs, type MakeFleet, prepareWorkplace, type Workplace } from "./machines/workplace.ts";
import { modelClient } from "./model/model-client.ts";
import { requirePrice, runBudget } from "./run-budget.ts";
import type { RunHooks } from "./run-hooks.ts";
import { clientFor, RunSessions, samePlace, withStoredTarget } from "./run-sessions.ts";
import { toolRegistry } from "./run-tools.ts";
import { Secrets } from "./secrets.ts";

export interface RunOptions {
  readonly globals: GlobalOptions;
  readonly loaded: LoadedConfig;
  /** Asks a person whether to continue when a budget is used up; otherwise the turn ends. */
  readonly askOverBudget?: boolean;
  readonly maxIterations?: number | undefined;
  /** Id, unique start of one, or `last` of a stored session to continue. */
  readonly resume?: string | undefined;
  /** Continue in a copy of it, under a new id. */
  readonly fork?: boolean | undefined;
  /** What `--on -` reads; absent if standard input has another use. */
  readonly stdin?: (() => Promise<string>) | undefined;
  /** Gets problems outside the work itself, such as a log that cannot be written. */
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
  /** Undefined without hooks. */
  readonly hooks: typeof RunHooks | undefined;
}

export class Run implements AsyncDisposable {
  readonly agent: Agent;
  /** Its fronts, and what they answered. */
  readonly desk: Desk;
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly sessions: RunSessions;
  /** Undefined without a limit. */
  readonly budget: Budget | undefined;
  /** The record of decisions and effects. */
  readonly recorder: AuditRecorder;
  readonly extensions: Extensions;
  readonly hooks: RunHooks | undefined;
  /** What to say about a resumed session: damaged lines, another target or model than before. */
  readonly notes: string[] = [];
  /** The options in effect: those of the command line, and the target of a resumed session. */
  readonly globals: GlobalOptions;
  readonly #options: RunOptions;
  readonly machines: AboutMachines;
  /** The rules of the machines that it works on. */
  readonly rules: MachineRules;
  readonly #resumed: boolean;
  #changes: ChangeStore | undefined;
  /** Where the full outputs of commands are kept. */
  readonly outputs: OutputDirectory;
  #workplace: Workplace;

  constructor(options: RunOptions, { secrets, sessions, client, resumed, places, fleet, extensions, hooks }: RunParts) {
    const { loaded, globals } = options;
    const { config } = loaded;
    this.secrets = secrets;
    this.extensions = extensions;
    this.globals = globals;
    this.#options = options;
    this.sessions = sessions;
    this.#resumed = resumed !== undefined;
    this.desk = new Desk({ mode: globals.approve, hide: (password) => secrets.learn([password]) });
    this.budget = runBudget(globals, config.limits, options.askOverBudget === true ? this.approvals : undefined);
    this.machines = new AboutMachines(this, loaded, secrets.privacy, {
      problem: options.problem,
      waiting: (message) => this.agent.publish({ type: "notice", kind: "info", message }),
    });
    this.rules = this.machines.rules;
    this.recorder = new AuditRecorder({
      settings: config.audit,
      own: options.audit === true,
      known: (opened) => this.machines.known(opened).catch(() => ({ names: this.place.names })),
      record: options.record !== false || options.audit === true,
      stateDirectory: stateDirectory(loaded.env),
      session: () => sessions.id,
      redact: secrets.redact,
      problem: options.problem,
    });
    this.hooks =
      hooks &&
      new hooks({
        loaded,
        session: () => sessions.id,
        known: (opened) => this.machines.known(opened),
        opened: () => this.target.opened,
        redact: secrets.redact,
        publish: (body) => this.agent.publish(body),
        problem: options.problem,
      });
    const registry = (this.registry = toolRegistry(loaded, extensions));
    const { privacy } = secrets;
    const { mcp } = extensions;
    this.outputs = keptOutputs(this, options);
    this.#workplace = this.#prepare(places, globals, fleet);
    this.agent = new Agent({
      client,
      registry,
      calls: () => this.calls,
      privacy,
      hideSecrets: () => secrets.hidden(),
      room: (signal) => this.desk.room(signal),
      session: () => sessions.id,
      maxIterations: options.maxIterations ?? config.agent.max_iterations,
      budget: this.budget,
      facts: () => this.target.facts(),
      instructions: (facts) =>
        systemPrompt({
          facts,
          tools: registry.offered(facts),
          // Masked again for each session: names of secrets belong to a session.
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
      // A piece of text could contain half a secret; the whole answer is in the trace of its request.
      if (!PIECES.has(event.type)) trace("event", () => ({ event }));
    });
    if (hooks !== undefined) this.agent.onEvent((event) => this.hooks?.onEvent(event));
    this.agent.onEvent((event) => this.desk.publish(event));
  }

  get approvals(): Approvals {
    return this.desk.approvals;
  }

  /** Where it works: on one machine, or several. */
  get places(): readonly [Place, ...Place[]] {
    return this.#workplace.places;
  }

  get #loaded(): LoadedConfig {
    return this.#options.loaded;
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

  /** Files as they were before they were changed; `none`: why they cannot be kept; undefined: this run keeps none. */
  async changes(): Promise<ChangeStore | { readonly none: string } | undefined> {
    if (this.#options.record === false || this.#changes !== undefined) return this.#changes;
    const state = stateDirectory(this.#loaded.env);
    if (state === undefined) return { none: "there is no home directory to keep files in" };
    const { ChangeStore } = await import("../changes/change-store.ts");
    const directory = () => changesDirectory(state, this.sessions.id);
    return (this.#changes ??= new ChangeStore({ directory, prepare: prepareChanges }));
  }

  /** While the first request is under way: opens the target, loads the tools. */
  prepareForTools(): void {
    this.target.start();
    this.registry.warm();
    this.extensions.mcp?.servers.start();
  }

  /** Continues with another profile or model; the conversation stays. */
  async switchModel(selector: string): Promise<void> {
    const next = await modelClient(this.#loaded, selector);
    const warning = requirePrice(next.client, this.globals, this.#loaded.config.limits);
    if (warning !== undefined) this.#options.problem(warning);
    this.secrets.learn(next.secrets);
    this.agent.switchModel(next.client);
  }

  /**
   * Continues on other machines; the conversation stays, and a machine that is in use already stays open. A single
   * machine must be open before the old ones are left: if that fails, nothing has changed. Returns what to say.
   */
  async workOn(places: Run["places"], signal: AbortSignal): Promise<readonly string[]> {
    const { ssh: _ssh, container: _container, cd: _cd, tmuxSession: _session, pane: _pane, ...globals } = this.globals;
    const options = { ...globals, on: places.map(({ name }) => name).join(",") };
    const before = this.#workplace;
    const next = this.#prepare(places, options, await fleetFor(places, this.#options), before);
    let silent: readonly string[] = [];
    try {
      if (next.fleet === undefined) {
        const opened = await unlessAborted(signal, next.target.get());
        await this.rules.of(opened, places[0]);
      } else silent = await next.fleet.answers(signal);
    } catch (error) {
      await next.target.leave(before.target.targets);
      throw error;
    }
    this.#workplace = next;
    next.target.follow((notice) => this.onNotice(notice));
    this.agent.targetChanged();
    this.calls.notes.addNews(
      `The operator changed the machine: it is now ${this.target.facts().label}; before, it was ${before.target.facts().label}`,
    );
    await before.target.leave(next.target.targets);
    const known = new Set(before.places.map(({ path }) => pathKey(path)));
    const isNew = places.some(({ path }) => !known.has(pathKey(path)));
    return [...silent, ...(isNew ? this.askAgain() : [])];
  }

  /** On another machine, or as another user, an approval in advance no longer counts. Returns what to say. */
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
    this.agent.restore({ messages, turns, totals });
    const { label } = this.target.facts();
    const { model } = this.agent.client.profile;
    const said = [...notes];
    if (place !== "" && !samePlace(place, label))
      said.push(`this session worked on ${place}; it continues on ${label}`);
    if (before !== "" && before !== model) said.push(`this session used ${before}; it continues with ${model}`);
    return said;
  }

  /** The run was stopped: it does not wait for anything that may take long. */
  hurry(): void {
    void this.target.leaveIfSilent();
    this.hooks?.hurry();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hooks?.close();
    await this.recorder.close();
    await Promise.all([
      this.target[Symbol.asyncDispose](),
      this.extensions.mcp?.servers[Symbol.asyncDispose](),
      this.sessions.close(),
      this.secrets.settled(),
    ]);
  }

  /** With the machine's label, if there are rules that may give it one. */
  #introduce(opened: Target): void {
    if (this.#loaded.config.rules.length === 0) return this.agent.introduce();
    const introduce = () => this.agent.introduce();
    // The first call looks the rules up again, and reports what went wrong.
    this.rules.of(opened, this.place).then(introduce, introduce);
  }

  /** `machine`: which, where there are several. */
  onNotice({ kind, text }: TargetNotice, machine?: string): void {
    this.agent.publish({ type: "notice", kind, message: text, ...defined({ machine }) });
    if (kind !== "info") this.calls.notes.addNews(text, machine);
    // An adopted shell may have ended: then the rules of the target itself hold again.
    const { opened } = this.target;
    if (machine === undefined && opened?.now !== undefined)
      this.rules.of(opened.now(), this.place).catch(() => undefined);
  }

  #prepare(
    places: Run["places"],
    globals: GlobalOptions,
    makeFleet: MakeFleet | undefined,
    before?: Workplace,
  ): Workplace {
    const onOpen = (opened: Target): void => {
      // Not one that /on is still trying: that is introduced once it is in use.
      if (this.#workplace.target === workplace.target) this.#introduce(opened);
    };
    const workplace = prepareWorkplace(this, { ...this.#options, globals }, places, makeFleet, onOpen, before);
    return workplace;
  }
}

const PIECES: ReadonlySet<string> = new Set(["text", "reasoning", "tool_output", "message", "discard"]);

/** Builds a run from the command line. A resumed session is read first: it may choose the target and the model. */
export async function composeRun(options: RunOptions): Promise<Run> {
  const { loaded, problem } = options;
  const state = stateDirectory(loaded.env);
  const secrets: Secrets = new Secrets({
    mask: loaded.config.privacy.to_model === "mask",
    keep: async (list) => {
      if (state === undefined || options.record === false) return undefined;
      return (await import("../session/secrets-file.ts")).writeSecrets(state, sessions.id, list);
    },
    problem,
  });
  const sessions: RunSessions = new RunSessions({
    cwd: loaded.cwd,
    stateDirectory: state,
    record: options.record !== false,
    redact: secrets.redact,
    problem,
  });
  const resumed =
    options.resume === undefined ? undefined : await sessions.resume(options.resume, options.fork === true);
  const globals = resumed === undefined ? options.globals : withStoredTarget(options.globals, resumed.replay);
  const [place, ...others] = await chosenPlaces(globals, loaded, {
    stdin: options.stdin,
    stored: resumed?.replay.places,
  });
  if (place === undefined) throw new BuddyError("internal", "no machine was chosen");
  for (const warning of uncertainRules(loaded.config, [place, ...others])) problem(warning);
  const chosen =
    options.client === undefined
      ? await clientFor(loaded, options.globals, resumed)
      : { client: options.client, secrets: [], note: [] };
  const warning = options.client === undefined ? requirePrice(chosen.client, globals, loaded.config.limits) : undefined;
  if (warning !== undefined) problem(warning);
  secrets.learn(chosen.secrets);
  if (tracing()) (await import("./tracing.ts")).redactTrace(secrets.redact);
  const places: Run["places"] = [place, ...others];
  let run: Run | undefined;
  const extensionParts = {
    place: () => run?.place ?? place,
    notice: (message: string) =>
      run === undefined ? problem(message) : run.agent.publish({ type: "notice", kind: "info", message }),
  };
  const extensions = options.client === undefined ? await loadExtensions(loaded, extensionParts) : NO_EXTENSIONS;
  if (extensions.mcp !== undefined) secrets.learn((await import("./extensions/mcp-servers.ts")).serverSecrets(loaded));
  for (const notice of extensions.notices) problem(notice);
  const fleet = await fleetFor(places, options);
  const hooks = loaded.config.hooks.length === 0 ? undefined : (await import("./run-hooks.ts")).RunHooks;
  const parts = { secrets, sessions, client: chosen.client, resumed, places, fleet, extensions, hooks };
  run = new Run({ ...options, globals }, parts);
  if (resumed !== undefined) run.notes.push(...chosen.note, ...run.continueFrom(resumed));
  return run;
}
