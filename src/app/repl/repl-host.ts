/** A run for the REPL: facts, models, sessions, tools, directories. */
import { join } from "node:path";
import { Tasks } from "../../agent/tasks.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths } from "../../config/paths.ts";
import { resolveProfile } from "../../config/profiles.ts";
import { BuddyError } from "../../lib/errors.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import { VERSION } from "../../lib/version.ts";
import { nameOf } from "../../policy/privacy/privacy.ts";
import { describePrefix } from "../../policy/approvals.ts";
import type { Display, ReplHost } from "../../ui/repl/host.ts";
import { attaching } from "../attachments.ts";
import {
  adoptShell,
  fullOutput,
  interruptPane,
  killShell,
  operatorCommand,
  workInFlight,
} from "./operator-commands.ts";
import { customCommands, expandCommand } from "../../extend/custom-commands.ts";
import { knownSkills } from "../extensions/extensions.ts";
import type { Run } from "../run.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import { plural } from "../../lib/text.ts";
import { facts, status, configRows, tools, profiles } from "./repl-facts.ts";

export interface ReplHostParts {
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
      setAsker: (asker) => approvals.setAsker(asker),
      remembered: () => approvals.remembered(run.target.opened?.identity.machine ?? "").map(describePrefix),
    },
    setPasswordAsker: (asker) => run.passwords.setAsker(asker),
    adopt: () => adoptShell(run),
    sudoState: async () => (await import("./sudo-ticket.ts")).sudoState(await run.target.get()),
    dropSudo: async () => (await import("./sudo-ticket.ts")).dropSudo(await run.target.get()),
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
      const [{ listModelsByClient }, { modelOptions }] = await Promise.all([
        import("../../model/list-models.ts"),
        import("../model/model-client.ts"),
      ]);
      const offered = await listModelsByClient(await modelOptions(loaded, profile), signal);
      return offered.map(({ id }) => id).toSorted();
    },
    async switchModel(name) {
      await run.switchModel(name);
      const { contextLimit } = agent;
      const over = agent.contextUsed > contextLimit * 0.9;
      return over ? [`its window is smaller (${contextLimit} tokens): /compact first`] : [];
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
      const [{ openSignIn }, { signIn }] = await Promise.all([
        import("../model/sign-in.ts"),
        import("../../auth/sign-in.ts"),
      ]);
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
    targetNames: async () => (await import("./change-machines.ts")).targetNames(run, loaded),
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
  const { splitWords } = await import("../../lib/quote.ts");
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
