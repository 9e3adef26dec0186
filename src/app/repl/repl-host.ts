/** A run for the REPL: facts, models, sessions, tools, directories. */
import { splitWords } from "../../lib/quote.ts";
import { hostname } from "node:os";
import { join } from "node:path";
import { usd } from "../../agent/budget.ts";
import { Tasks } from "../../agent/tasks.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths, describeOrigin, shownPath } from "../../config/paths.ts";
import { profileNames, resolveProfile } from "../../config/profiles.ts";
import { customCommands, expandCommand } from "../../extend/custom-commands.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { foldNames } from "../../lib/names.ts";
import { plural } from "../../lib/text.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import { defined } from "../../lib/values.ts";
import { VERSION } from "../../lib/version.ts";
import { windowUse } from "../../model/usage.ts";
import { describePrefix } from "../../policy/approvals.ts";
import { nameOf } from "../../policy/privacy/privacy.ts";
import { NO_MACHINE } from "../../policy/subject.ts";
import { nameOfPath, type Place } from "../../targets/place.ts";
import type { Display, ProfileRow, ReplFacts, ReplHost, StatusRow, ToolRow } from "../../ui/repl/host.ts";
import { lockWords } from "../../ui/words.ts";
import { attaching } from "../attachments.ts";
import { knownSkills } from "../extensions/extensions.ts";
import type { Run } from "../run.ts";
import {
  adoptShell,
  dropSudo,
  fullOutput,
  interruptPane,
  killShell,
  operatorCommand,
  sudoState,
  workInFlight,
} from "./operator-commands.ts";

interface ReplHostParts {
  readonly run: Run;
  readonly loaded: LoadedConfig;
  readonly globals: GlobalOptions;
  readonly display: Display;
  readonly resumed: boolean;
}

export function replHost(parts: ReplHostParts): ReplHost {
  const { run, loaded, globals, display } = parts;
  const { agent, approvals } = run;
  let { resumed } = parts;
  return {
    version: VERSION,
    display,
    historyPath: loaded.config.display.persist_history ? buddyPaths(loaded.env)?.history : undefined,
    facts: () => facts(parts, resumed),
    machineLabel: () => run.rules.current.label,
    tasks: (listener) => new Tasks(listener),
    runTurn: (prompt, signal, about = {}) =>
      agent.runTurn(prompt, signal, { ...attaching(run, about.ownWords ?? prompt), ...about }),
    skills: async () => {
      const [{ skills, notices }, { skillRows }] = await Promise.all([
        knownSkills(loaded, { ask: false }),
        import("../../extend/skills/find-skills.ts"),
      ]);
      return [...skillRows(skills), ...notices];
    },
    mcp: async () => {
      const { serverRows } = await import("../../extend/mcp/servers.ts");
      return serverRows(run.extensions.mcp?.servers);
    },
    runbooks: async () => {
      const { skills } = await knownSkills(loaded, { ask: false });
      return skills.flatMap(({ name, description, runbook }) =>
        runbook === undefined ? [] : [{ name, description, parameters: runbook.parameters }],
      );
    },
    runbook: (words) => replRunbook(parts, words),
    customCommands: () => {
      const directory = buddyPaths(loaded.env)?.dir;
      const { commands, problems } = customCommands(directory === undefined ? undefined : join(directory, "commands"));
      return {
        commands: commands.map((command) => ({ ...command, expand: (args: string) => expandCommand(command, args) })),
        problems,
      };
    },
    runCommand: (command, signal) => operatorCommand(run, loaded.config, command, signal),
    compact: (signal, focus) => agent.compact(signal, focus),
    work: () => workInFlight(run),
    killShell: (id) => killShell(run, id),
    interruptPane: (name) => interruptPane(run, name),
    output: (id, signal) => fullOutput(run, id, signal),
    async changes() {
      const { changeListing, storeOf } = await import("../changes/undo.ts");
      return changeListing(await storeOf(run));
    },
    async changeDiff(number) {
      const { changeDiff, storeOf } = await import("../changes/undo.ts");
      return changeDiff(await storeOf(run), number);
    },
    async *undo(which, signal) {
      yield* (await import("../changes/undo.ts")).undo(run, which, signal);
    },
    exportSession: async (format) =>
      (await import("./change-session.ts")).exportedSession(run, format, stateDirectory(loaded.env)),
    config: () => configRows(loaded),
    onEvent: (listener) => agent.onEvent(listener),
    approvals: {
      get mode() {
        return approvals.modeWithin(run.rules.current.approveMaxMs);
      },
      get longestMs() {
        return run.rules.current.approveMaxMs;
      },
      setMode: (mode) => approvals.setMode(mode),
      remembered: () => approvals.remembered(run.target.opened?.identity ?? NO_MACHINE).map(describePrefix),
    },
    attach: (front) => run.desk.attach(front),
    adopt: () => adoptShell(run),
    sudoState: async () => sudoState(await run.target.get()),
    dropSudo: async () => dropSudo(await run.target.get()),
    privacy: {
      enabled: run.secrets.privacy.enabled,
      list: () =>
        run.secrets.privacy
          .list()
          .map(({ number, kind, from }) => ({ number, kind, from, name: nameOf({ number, kind }) })),
      value: (number) => run.secrets.privacy.get(number)?.value,
      drop: (number) => run.secrets.privacy.drop(number),
    },
    status: () => status(parts),
    tools: () => tools(parts),
    profiles: () => profiles(parts),
    async offeredModels(name, signal) {
      const profile = resolveProfile(loaded, name);
      if (profile.baseUrl === "")
        throw new BuddyError("usage", "demo is a script built into buddy: it has no models to list");
      const { listModelsByClient } = await import("../../model/list-models.ts");
      const { modelOptions } = await import("../model/model-client.ts");
      const offered = await listModelsByClient(await modelOptions(loaded, profile), signal);
      return offered.map(({ id }) => id).toSorted();
    },
    async switchModel(name) {
      await run.switchModel(name);
      const { contextLimit, contextUsed } = agent;
      const fits = windowUse(contextUsed, contextLimit).state !== "compact";
      return fits ? [] : [`its window is smaller (${contextLimit} tokens): /compact first`];
    },
    sessions: async () => (await import("./change-session.ts")).listSessions(run),
    async newSession() {
      await (await import("./change-session.ts")).newSession(run);
      resumed = false;
      return [`new session ${run.sessions.id}`];
    },
    async resumeSession(name, ask) {
      const notes = await (await import("./change-session.ts")).resumeOrAsk(run, loaded, name, ask);
      if (notes === undefined) return [`still session ${run.sessions.id}`];
      resumed = true;
      return [`session ${run.sessions.id}, ${plural(agent.turns, "turn")} so far`, ...notes];
    },
    async login(profile, { say, waiting }, signal) {
      const { openSignIn } = await import("../model/sign-in.ts");
      const { signIn } = await import("../../auth/sign-in.ts");
      const account = await openSignIn(profile, globals);
      const screen = { say: (text: string) => text.split("\n").forEach(say), progress: waiting };
      await signIn(account, screen, signal);
      say(`signed in; profile ${account.profile} is ready`);
    },
    async logout(profile, say) {
      const { signOut } = await import("../model/sign-in.ts");
      await signOut(profile, globals, say);
    },
    targets: async (what) => (await import("./change-machines.ts")).targetRows(run, loaded, what),
    targetNames: async (begun) => (await import("./change-machines.ts")).targetNames(run, loaded, begun),
    workOn: async (what, signal) => (await import("./change-machines.ts")).workOn(run, loaded, what, signal),
    async reconnect(signal) {
      const { opened } = run.target;
      if (opened !== undefined) await opened.transport.reconnect(signal);
      const { label, user, host } = (await run.target.get()).identity;
      return [`connected: ${label} (${user}@${host})`];
    },
    redact: (text) => run.secrets.redact(text),
    listDirectory: async (path, signal) => (await import("./file-names.ts")).entriesOf(run, loaded, path, signal),
    listFiles: async (signal) => (await import("./file-names.ts")).filesBelow(run, signal),
  };
}

async function replRunbook({ run, loaded }: ReplHostParts, typed: string) {
  const { prepareRunbook, targetNames } = await import("../extensions/runbooks.ts");
  const [name = "", ...words] = splitWords(typed) ?? [];
  if (name === "") throw new BuddyError("usage", "a quote is not closed", { hint: "Usage: /run RUNBOOK KEY=VALUE …" });
  const runbook = await prepareRunbook(loaded, name, words, false);
  const { target } = runbook;
  let elsewhere = false;
  for (const [at, place] of run.places.entries()) {
    const names = targetNames(place, at === 0 ? run.target.opened?.identity.host : undefined);
    if (target !== undefined && !names.includes(target)) elsewhere = true;
    else runbook.requireTarget(names);
  }
  return {
    ...(elsewhere && target !== undefined ? { on: target } : {}),
    run: (signal: AbortSignal) =>
      run.agent.runTurn(runbook.prompt, signal, {
        ...runbook.turn,
        ...attaching(run, runbook.prompt),
        shown: `/run ${typed}`,
      }),
  };
}

// ── What the REPL shows of a run: its facts for the prompt, and the rows of /status, /tools, /model and /config.

function facts({ run, globals, loaded }: ReplHostParts, resumed: boolean): ReplFacts {
  const { target } = run;
  const { opened } = target;
  if (run.fleet !== undefined) return { ...fleetFacts(run, run.fleet), ...conversationFacts(run, globals, resumed) };
  const kind = run.place.path.at(-1)?.kind ?? "local";
  const who = opened === undefined ? localWho(kind) : { user: opened.identity.user, host: opened.identity.host };
  const attach = opened?.identity.attach;
  const adopted = opened?.isAdopted === true ? `${who.user}@${who.host} in the pane` : undefined;
  return {
    target: {
      kind: adopted === undefined ? kind : "via",
      name: adopted ?? targetName(run.place),
      ...who,
      cwd: opened?.shell.cwd ?? target.facts().cwd ?? loaded.cwd,
      ...defined({ attach, lostAt: target.targets[0]?.lostAt }),
      ...ruleFacts(run),
      state: opened === undefined ? (target.error === undefined ? "opening" : "failed") : "open",
      ...(target.error === undefined ? {} : { problem: messageOf(target.error) }),
    },
    ...conversationFacts(run, globals, resumed),
  };
}

function conversationFacts(run: Run, globals: GlobalOptions, resumed: boolean): Omit<ReplFacts, "target"> {
  const { agent } = run;
  const { profile } = agent.client;
  const at = agent.history.messages.findLastIndex(({ role }) => role === "user");
  const last = agent.history.messages[at]?.content ?? undefined;
  const answer = agent.history.messages.findLast(
    ({ role, content }) => role === "assistant" && Boolean(content?.trim()),
  );
  const isAnswered = answer !== undefined && agent.history.messages.indexOf(answer) > at;
  return {
    profile: profile.name,
    model: profile.model,
    session: run.sessions.id,
    resumed,
    ...defined({ lastPrompt: last }),
    ...(answer?.content ? { lastAnswer: answer.content } : {}),
    isAnswered,
    contextUsed: agent.contextUsed,
    contextLimit: agent.contextLimit,
    contextState: windowUse(agent.contextUsed, agent.contextLimit).state,
    dryRun: globals.dryRun,
  };
}

/** Of several machines, none is the one to show in the prompt. */
function fleetFacts(run: Run, fleet: NonNullable<Run["fleet"]>): Pick<ReplFacts, "target"> {
  const { label } = fleet.facts();
  const open = fleet.machines.some(({ opened }) => opened !== undefined);
  const failed = fleet.machines.every(({ target }) => target.error !== undefined);
  const machines = fleet.machines.flatMap(({ name, opened }) =>
    opened?.identity.attach === undefined ? [] : [{ name, attach: opened.identity.attach }],
  );
  const state = open ? "open" : failed ? "failed" : "opening";
  return { target: { kind: "fleet", name: label, cwd: "", machines, ...ruleFacts(run), state } };
}

function ruleFacts({ rules, places }: Run): Pick<ReplFacts["target"], "label" | "modes" | "notes"> {
  const { label, notes } = rules.current;
  const modes = [...Map.groupBy(places, (place) => rules.at(place).mode)].flatMap(([mode, some]) => {
    if (mode === "normal") return [];
    return [{ mode, ...(some.length === places.length ? {} : { machines: foldNames(some.map(({ name }) => name)) }) }];
  });
  return {
    ...defined({ label }),
    ...(modes.length === 0 ? {} : { modes }),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/** For the prompt: the name, or an ssh destination as it was written. */
function targetName({ name, path }: Place): string {
  const [first, ...inner] = path;
  if (first === undefined) return "local";
  return first.kind === "ssh" && inner.length === 0 && name === nameOfPath(path) ? first.destination : name;
}

/** This machine is known before its shell is open. */
function localWho(kind: ReplFacts["target"]["kind"]): { user?: string; host?: string } {
  if (kind !== "local") return {};
  const user = process.env.USER || process.env.LOGNAME || (process.getuid?.() === 0 ? "root" : undefined);
  return { ...defined({ user }), host: hostname().replace(/\..*$/, "") };
}

function status({ run, loaded, globals }: ReplHostParts): StatusRow[] {
  const { agent } = run;
  const { profile, info } = agent.client;
  const { input, output, costUsd } = agent.totals;
  const files = run.operatorFiles.map(({ path }) => shownPath(path, loaded));
  const rows: StatusRow[] = [
    {
      label: "endpoint",
      value: URL.parse(profile.baseUrl)?.protocol.startsWith("http")
        ? `${profile.baseUrl} (${profile.api}, ${profile.auth === "login" ? "sign-in" : "key"})`
        : "built in",
    },
    { label: "tokens", value: `${input} in, ${output} out${costUsd === undefined ? "" : `, ${usd(costUsd)}`}` },
    { label: "turns", value: String(agent.turns) },
    ...budgetRows(run),
    ...(run.target.opened === undefined
      ? []
      : [{ label: "read-only", value: `runs ${lockWords(run.target.opened.locks)}` }]),
    ...run.machines.hostFiles().map(({ path, bytes }) => ({
      label: "host file",
      value: `${shownPath(path, loaded)} (${bytes} bytes)`,
    })),
    { label: "instructions", value: files.length === 0 ? "none" : files.join("\n") },
    {
      label: "config",
      value: loaded.files.length === 0 ? "defaults" : loaded.files.map((file) => shownPath(file, loaded)).join("\n"),
    },
  ];
  if (!info.known && loaded.config.models[profile.name]?.context_limit === undefined)
    rows.push({
      label: "catalog",
      value: `the model is unknown: a window of ${info.contextLimit} tokens is assumed; set context_limit in its profile`,
    });
  if (globals.verbose) rows.push({ label: "process", value: String(process.pid) });
  return rows;
}

function budgetRows({ agent, budget }: Run): StatusRow[] {
  const { cost, tokens } = budget?.limits ?? {};
  const rows = [
    ...(cost === undefined ? [] : [`${usd(agent.totals.costUsd ?? 0)} of ${usd(cost)} for the session`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens for each turn`]),
  ];
  return rows.length === 0 ? [] : [{ label: "budget", value: rows.join("\n") }];
}

/** Everything that is not a default, with the file or variable it comes from; keys are never shown. */
function configRows(loaded: LoadedConfig): StatusRow[] {
  const rows = loaded.files.map((file): StatusRow => ({ label: "file", value: shownPath(file, loaded) }));
  const { models: _, ...sections } = loaded.config;
  for (const [section, settings] of Object.entries(sections)) {
    if (typeof settings !== "object" || settings === null) continue;
    for (const [key, value] of Object.entries(settings as Record<string, unknown>)) {
      const origin = loaded.origins.get(`${section}.${key}`);
      if (origin === undefined || origin.kind === "default") continue;
      rows.push({ label: `${section}.${key}`, value: `${JSON.stringify(value)}  ${describeOrigin(origin, loaded)}` });
    }
  }
  return rows.length === 0 ? [{ label: "config", value: "defaults only" }] : rows;
}

function tools({ run, loaded }: ReplHostParts): ToolRow[] {
  const now = run.target.facts();
  const offered = run.registry.definitions(now);
  const names = new Set(offered.map(({ name }) => name));
  const withTmux = run.registry.definitions({ ...now, tmux: true }).filter(({ name }) => !names.has(name));
  const settings = loaded.config.tools;
  const off: ToolRow[] = (["shell_enabled", "files_enabled", "fetch_enabled", "search_enabled"] as const)
    .filter((key) => !settings[key])
    .map((key) => ({ name: key.replace("_enabled", " tools"), description: "", off: `[tools] ${key} = false` }));
  return [
    ...offered.map(({ name, description }) => ({ name, description: firstSentence(description) })),
    ...withTmux.map(({ name }) => ({ name, description: "", off: "needs tmux on the target" })),
    ...off,
  ];
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}

function profiles({ run, loaded }: ReplHostParts): ProfileRow[] {
  const active = run.agent.client.profile;
  const rows = profileNames(loaded).map((name): ProfileRow => {
    const { model, api, auth } = described(loaded, name);
    return { name, model, api, auth, active: name === active.name };
  });
  // A model that was chosen by its id belongs to a profile whose own model is another one.
  const { model, api, auth } = active;
  return rows.map((row) =>
    row.active ? { ...row, model, api, auth, ...(row.model === model ? {} : { own: row.model }) } : row,
  );
}

/** Also for a profile whose key is missing. */
function described(loaded: LoadedConfig, name: string): { model: string; api: string; auth: string } {
  try {
    return resolveProfile(loaded, name);
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    const settings = loaded.config.models[name];
    return { model: settings?.model ?? name, api: settings?.api ?? "", auth: settings?.auth ?? "" };
  }
}
