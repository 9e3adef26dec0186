/** The only place that wires configuration, model, target, tools, policy, approvals and session into something that takes prompts. */
import { Agent, type Totals } from "../agent/agent.ts";
import { systemPrompt } from "../agent/system-prompt.ts";
import { instructionFiles, type OperatorFile } from "../agent/instruction-files.ts";
import { CallRunner } from "../agent/tool-calls.ts";
import type { LoadedConfig } from "../config/load.ts";
import { buddyPaths } from "../config/paths.ts";
import { profileNames, secretVariables } from "../config/profiles.ts";
import { formatDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { printable } from "../lib/printable.ts";
import { stateDirectory } from "../lib/user-directories.ts";
import { VERSION } from "../lib/version.ts";
import type { ModelClient } from "../model/types.ts";
import { type ApprovalMode, Approvals, type Asker } from "../policy/approvals.ts";
import { HiddenSecrets, RedactedStream, redactor, secretHider, secretMask } from "../lib/redact.ts";
import { newSessionId } from "../session/ids.ts";
import { outputsDirectory, prepareOutputs } from "../session/outputs.ts";
import type { ResumedSession, SessionStore } from "../session/store.ts";
import type { TargetOptions } from "../targets/target.ts";
import { Registry } from "../tools/registry.ts";
import type { WriteJudge } from "./judge-write.ts";
import { LazyTarget } from "./lazy-target.ts";
import { modelClient, type ProfileClient } from "./model-client.ts";
import type { ApproveMode } from "../lib/approve-mode.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import { shellRules } from "./shell-rules.ts";
import { SessionRecorder } from "./session-recorder.ts";
import { samePlace, storedModel, withStoredTarget } from "./stored-choices.ts";

export interface ComposeOptions {
  readonly globals: GlobalOptions;
  readonly loaded: LoadedConfig;
  /** Who can be asked; undefined = nobody. */
  readonly asker?: Asker | undefined;
  readonly maxIterations?: number | undefined;
  /** Id, unique start of one, or `last` of a stored session to go on with. */
  readonly resume?: string | undefined;
  /** Go on in a copy of it, under a new id. */
  readonly fork?: boolean | undefined;
  /** Told what goes wrong beside the work, such as a log that cannot be written. */
  readonly problem: (message: string) => void;
  /** Instead of the profile's: the guide of `buddy demo`. */
  readonly client?: ModelClient | undefined;
  /** False: nothing is written to a session log. */
  readonly record?: boolean;
  /** For tests: instead of opening what the options say. */
  readonly open?: LazyTargetOptionsOpen;
}

type LazyTargetOptionsOpen = ConstructorParameters<typeof LazyTarget>[0]["open"];

export interface Run extends AsyncDisposable {
  readonly agent: Agent;
  readonly approvals: Approvals;
  readonly registry: Registry;
  readonly target: LazyTarget;
  readonly calls: CallRunner;
  sessions(): Promise<SessionStore>;
  /** Id of the current session. */
  session(): string;
  /** Resolves when the session log has every event so far. */
  stored(): Promise<void>;
  /** AGENTS.md files in the prompt, for /status. */
  readonly operatorFiles: readonly OperatorFile[];
  /** Takes keys and tokens out of what is shown or stored. */
  readonly redact: (text: string) => string;
  /** The same for text in pieces. */
  readonly redactedStream: () => RedactedStream;
  /** Takes buddy's own secrets out of an answer, and nothing else. */
  readonly hideSecrets: (text: string) => string;
  /** Said of a resumed session: damaged lines, another target or model than before. */
  readonly notes: readonly string[];
  /** The options in effect: those of the command line, and the target of a resumed session. */
  readonly globals: GlobalOptions;
  /** Uses the time while the first request is under way: opens the target, loads the tools. */
  prepareForTools(): void;
  /** Leaves the conversation; the next turn begins a new session. */
  newSession(): Promise<void>;
  /** Leaves the conversation for a stored one; returns what to say about it. Throws SessionHeld or ForeignSession, and then nothing has changed. */
  resumeSession(
    name: string,
    how?: { readonly copy?: boolean; readonly foreign?: boolean },
  ): Promise<readonly string[]>;
  /** Goes on with another profile or model; the conversation stays. */
  switchModel(selector: string): Promise<void>;
}

export async function composeRun(options: ComposeOptions): Promise<Run> {
  const { loaded, problem } = options;
  const { config } = loaded;
  const state = stateDirectory(loaded.env);
  const known = new Set<string>();
  let redact = redactor([]);
  let mask = secretMask([]);
  const learn = (secrets: readonly string[]): void => {
    for (const secret of secrets) known.add(secret);
    redact = redactor([...known]);
    mask = secretMask([...known]);
  };
  const { cwd } = loaded;
  let found: Promise<string> | undefined;
  /** Where new sessions go; an unusual place is told once. The store knows it too, but a new session needs no store. */
  const sessionDirectory = (): Promise<string> =>
    (found ??= import("../session/session-directory.ts").then(({ sessionDirectory }) => {
      const { directory, notice } = sessionDirectory(cwd, state);
      if (notice !== undefined && options.record !== false) problem(notice);
      return directory;
    }));
  let opened: Promise<SessionStore> | undefined;
  const sessions = (): Promise<SessionStore> =>
    (opened ??= Promise.all([import("../session/store.ts"), sessionDirectory()]).then(
      ([{ SessionStore }]) => new SessionStore({ cwd, stateDirectory: state, redact: (text) => redact(text), problem }),
    ));
  const take = async (store: SessionStore, name: string): Promise<ResumedSession> => {
    const { ForeignSession } = await import("../session/store.ts");
    const open = async (foreign: boolean) =>
      options.fork ? store.fork(name, { foreign }) : store.resume(name, { foreign });
    try {
      return await open(false);
    } catch (error) {
      if (!(error instanceof ForeignSession)) throw error;
      const { yesOnTerminal } = await import("./confirm-on-terminal.ts");
      const question = `${printable(error.lines.join("\n"))}\nContinue this session? [y/N] `;
      if ((await yesOnTerminal(question)) !== true) throw error;
      return open(true);
    }
  };
  const record = (resumed?: ResumedSession) =>
    new SessionRecorder({
      id: resumed?.log.id ?? newSessionId(),
      resumed,
      redact: (text) => redact(text),
      problem,
      directory: sessionDirectory,
      stateDirectory: state,
    });
  const resumed = options.resume === undefined ? undefined : await take(await sessions(), options.resume);
  const globals = resumed === undefined ? options.globals : withStoredTarget(options.globals, resumed.replay);
  const { client, secrets, note } =
    options.client === undefined
      ? await clientFor(loaded, options.globals, resumed)
      : { client: options.client, secrets: [], note: [] };
  learn(secrets);
  let recorder = record(resumed);
  const approvals = new Approvals({ mode: approvalMode(globals.approve), asker: options.asker });
  const local = globals.ssh === undefined && globals.container === undefined;
  const { files, notices } = instructionFiles(buddyPaths(loaded.env)?.dir, local ? loaded.cwd : undefined);
  for (const notice of notices) problem(notice);
  const target = new LazyTarget({
    open: options.open ?? (async (wanted) => (await import("../targets/open.ts")).openTarget(wanted)),
    target: {
      ...targetOptions(loaded, globals),
      ...(state === undefined || options.record === false
        ? {}
        : {
            outputs: {
              directory: () => outputsDirectory(state, recorder.id),
              prepare: prepareOutputs,
              hide: (text) => mask(text),
            },
          }),
    },
    onNotice: ({ kind, text }) => {
      agent.publish({ type: "notice", kind, message: text });
      if (kind !== "info") calls.tell(text);
    },
    onOpen: () => agent.introduce(),
  });
  const registry = toolRegistry(loaded);
  let judgeWrite: WriteJudge | undefined;
  const calls = new CallRunner({
    registry,
    facts: () => target.facts(),
    limits: config.limits,
    approvals,
    target: () => target.get(),
    judgeShell: async (command) => {
      const { judgeShell } = await import("../policy/shell/judge.ts");
      const facts = target.opened?.transport.facts;
      const context = facts === undefined ? {} : { user: facts.user, home: facts.home };
      return judgeShell(command, shellRules(config), context);
    },
    judgeWrite: async (path, asked) => {
      const { ownPaths, writeJudge } = await import("./judge-write.ts");
      judgeWrite ??= writeJudge(
        { resolve: async (root) => (await target.get()).files.resolve(root) },
        { allowedPaths: config.tools.files_allowed_paths, ownPaths: local ? ownPaths(loaded) : [] },
      );
      return judgeWrite(path, asked);
    },
    confirm: { shell: config.tools.shell_confirm, fetch: config.tools.fetch_confirm },
    shellRoots: config.tools.shell_roots,
    dryRun: globals.dryRun,
  });
  const agent: Agent = new Agent({
    client,
    registry,
    calls,
    hideSecrets: () => (known.size === 0 ? undefined : new HiddenSecrets([...known])),
    session: () => recorder.id,
    maxIterations: options.maxIterations ?? config.agent.max_iterations,
    facts: () => target.facts(),
    instructions: (facts) =>
      systemPrompt({
        facts,
        tools: registry.offered(facts),
        operator: config.agent.system_prompt,
        files,
        dryRun: globals.dryRun,
      }),
    describe: () => {
      const identity = target.opened?.identity;
      const cwd = target.facts().cwd ?? "";
      const resume = resumed === undefined ? {} : { resumed: true };
      if (identity === undefined) return { buddy: VERSION, cwd, ...resume };
      const { user, host, machine, attach } = identity;
      return { buddy: VERSION, cwd, user, host, machine, ...(attach === undefined ? {} : { attach }), ...resume };
    },
  });
  if (options.record !== false) agent.onEvent((event) => recorder.append(event));
  /** Takes over what a stored session knows; returns what to say about it. */
  const adopt = ({ replay, notes }: ResumedSession): string[] => {
    const { messages, turns, totals, target: place, model: before } = replay;
    agent.restore({ messages, turns, totals: totals satisfies Totals });
    const { label } = target.facts();
    const { model } = agent.client.profile;
    const said = [...notes];
    if (place !== "" && !samePlace(place, label))
      said.push(`this session worked on ${place}; now it goes on with ${label}`);
    if (before !== "" && before !== model) said.push(`this session used ${before}; now it goes on with ${model}`);
    return said;
  };
  return {
    agent,
    approvals,
    registry,
    target,
    calls,
    sessions,
    session: () => recorder.id,
    stored: () => recorder.stored(),
    operatorFiles: files,
    redact: (text) => redact(text),
    redactedStream: () => new RedactedStream([...known]),
    hideSecrets: (text) => secretHider([...known])(text),
    notes: resumed === undefined ? [] : [...note, ...adopt(resumed)],
    globals,
    prepareForTools() {
      target.start();
      registry.warm();
    },
    async newSession() {
      await recorder.close();
      recorder = record();
      agent.restore({ messages: [] });
    },
    async resumeSession(name, how) {
      const store = await sessions();
      const { copy = false, foreign } = how ?? {};
      const next = copy ? store.fork(name, { foreign }) : await store.resume(name, { current: recorder.id, foreign });
      const { chosen, note } = await storedClient(loaded, globals, next);
      await recorder.close();
      recorder = record(next);
      const { name: profile, model } = agent.client.profile;
      if (chosen !== undefined && (chosen.profile.name !== profile || chosen.profile.model !== model)) {
        learn(chosen.secrets);
        agent.switchModel(chosen.client);
        note.push(`back to the model of this session: ${chosen.profile.model} (${chosen.profile.name})`);
      }
      return [...note, ...adopt(next)];
    },
    async switchModel(selector) {
      const next = await modelClient(loaded, selector);
      learn(next.secrets);
      agent.switchModel(next.client);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([target[Symbol.asyncDispose](), recorder.close()]);
      const { client: last } = agent;
      if (Symbol.asyncDispose in last) await (last as unknown as AsyncDisposable)[Symbol.asyncDispose]();
    },
  };
}

/** The client of the profile in effect; a resumed session brings its own, as long as the configuration still has it. */
async function clientFor(loaded: LoadedConfig, globals: GlobalOptions, resumed: ResumedSession | undefined) {
  const { chosen, note } = resumed === undefined ? { note: [] } : await storedClient(loaded, globals, resumed);
  return { ...(chosen ?? (await modelClient(loaded))), note };
}

/** The client a stored session was run with; none when another was asked for or it cannot be had any more. */
async function storedClient(
  loaded: LoadedConfig,
  globals: GlobalOptions,
  { replay }: ResumedSession,
): Promise<{ chosen?: ProfileClient; note: string[] }> {
  const { profile } = replay;
  const selector = storedModel(globals, replay, loaded.config.models[profile]?.model);
  if (selector === undefined) return { note: [] };
  // Its name is not a name any more: before a colon it would be taken for a part of a model id.
  if (!profileNames(loaded).includes(profile))
    return { note: [`the profile of this session is no longer configured: ${profile}`] };
  try {
    return { chosen: await modelClient(loaded, selector), note: [] };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { note: [`the profile of this session cannot be used: ${error.message}`] };
  }
}

export function approvalMode(mode: ApproveMode | undefined): ApprovalMode {
  if (mode === undefined) return { kind: "ask" };
  return mode.kind === "duration" ? { kind: "until", at: Date.now() + mode.ms } : { kind: mode.kind };
}

function targetOptions(
  { config, ...loaded }: LoadedConfig,
  globals: GlobalOptions,
): Omit<TargetOptions, "signal" | "onNotice"> {
  const local = globals.ssh === undefined && globals.container === undefined;
  // Locally the process has changed to --cd already.
  const cwd = local ? loaded.cwd : globals.cd;
  return {
    ...(globals.ssh === undefined ? {} : { ssh: globals.ssh }),
    ...(globals.container === undefined ? {} : { container: globals.container }),
    tmux: globals.tmux,
    ...(globals.tmuxSession === undefined ? {} : { tmuxSession: globals.tmuxSession }),
    agentName: config.agent.name,
    tmuxSocket: config.tmux.socket,
    maxSessions: config.tmux.max_sessions,
    maxPanes: config.tmux.max_panes,
    ...(cwd === undefined ? {} : { cwd }),
    backgroundTimeoutMs: config.tools.background_timeout,
    secretEnv: secretVariables({ config, ...loaded }),
  };
}

function toolRegistry({ config: { tools, network }, env }: LoadedConfig): Registry {
  const shell = { timeoutMs: tools.shell_timeout, slowTimeoutMs: tools.shell_timeout_slow };
  return new Registry({
    enabled: (name) => {
      if (name === "time") return true;
      if (name === "fetch_url") return tools.fetch_enabled;
      if (name === "web_search") return tools.search_enabled;
      return name.endsWith("_file") ? tools.files_enabled : tools.shell_enabled;
    },
    values: { wait: formatDuration(shell.timeoutMs), slow: formatDuration(shell.slowTimeoutMs) },
    load: async () => {
      const [{ builtinTools }, { safeFetch }] = await Promise.all([
        import("../tools/builtin.ts"),
        import("../policy/safe-fetch.ts"),
      ]);
      const { fetch_allowed_domains: allow, fetch_blocked_domains: deny } = tools;
      const endpoint = env["BUDDY_SEARCH_URL"];
      return builtinTools({
        shell,
        fetch: { fetch: safeFetch, rules: { allow, deny }, timeoutMs: network.fetch_timeout },
        search: {
          fetch: safeFetch,
          blockedDomains: deny,
          timeoutMs: network.fetch_timeout,
          ...(endpoint === undefined ? {} : { endpoint }),
        },
      });
    },
  });
}
