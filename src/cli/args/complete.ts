/** `buddy __complete WORD...`: what the last word could be; called by the scripts of `buddy completion`. */
import { currentDirectory } from "../../lib/byte-names.ts";
import { BuddyError, EXIT, type ExitCode } from "../../lib/errors.ts";
import { print } from "../../lib/output.ts";
import { askProgram } from "../../lib/start-child.ts";
import { type Args, COMMANDS, loadCommand } from "../command.ts";
import { GLOBAL_ARGS } from "./options.ts";
import { commandName, isCommand, tokensFor } from "./parse-arguments.ts";

/** One candidate a line, `word<TAB>what it is`; a first line `:files` or `:directories` asks the shell for names. */
export async function complete(words: readonly string[]): Promise<ExitCode> {
  const lines = await candidates(words).catch((error: unknown) => {
    // A broken configuration is reported by the command itself, not in the middle of a command line.
    if (error instanceof BuddyError) return [];
    throw error;
  });
  if (lines.length > 0) await print([`${lines.join("\n")}\n`]);
  return EXIT.ok;
}

async function candidates(words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1) ?? "";
  const line = await readLine(words.slice(0, -1));
  const inline = /^(--[a-z-]+)=(.*)$/s.exec(last);
  if (line.pending !== undefined) return fitting(await flagValues(line.pending, last, line), last);
  if (line.literal) return fitting(await ofPositional(line, last), last);
  if (inline !== null) {
    const [, flag = "", value = ""] = inline;
    const found = await flagValues(flag.slice(2), value, line);
    return found[0]?.startsWith(":") ? found : fitting(found, value).map((candidate) => `${flag}=${candidate}`);
  }
  if (last.startsWith("-")) return fitting(flagNames(line.args), last);
  return fitting(await ofPositional(line, last), last);
}

interface Line {
  readonly command: string | undefined;
  readonly args: Args;
  readonly positionals: readonly string[];
  /** The flag whose value is being typed. */
  readonly pending: string | undefined;
  /** After `--`. */
  readonly literal: boolean;
  /** --ssh was given. */
  readonly overSsh: boolean;
  /** The value of --run. */
  readonly runbook: string | undefined;
}

/** Stands for the word that is being typed; nobody can type it. */
const CURSOR = "\0";

async function readLine(words: readonly string[]): Promise<Line> {
  const first = await commandName(words);
  const command = first !== undefined && isCommand(first) ? first : undefined;
  const { args } = await loadCommand(command);
  const tokens = tokensFor([...words, CURSOR], command ?? "", args);
  const valueOf = (flag: string) =>
    tokens.flatMap((token) =>
      token.kind === "flag" && token.name === flag && token.value !== true ? [token.value] : [],
    )[0];
  const last = tokens.at(-1);
  return {
    command,
    args: { ...GLOBAL_ARGS, ...args },
    positionals: tokens.flatMap((token) => (token.kind === "word" && token.text !== CURSOR ? [token.text] : [])),
    pending: last?.kind === "flag" ? last.name : undefined,
    literal: last?.kind === "word" && last.literal === true,
    overSsh: valueOf("ssh") !== undefined,
    runbook: valueOf("run"),
  };
}

function flagNames(args: Args): string[] {
  return Object.entries(args).flatMap(([name, def]) =>
    def.type === "positional" ? [] : [`--${name}\t${def.description ?? ""}`],
  );
}

/** What a flag takes; `typed` is what there is of it. */
const FLAG_VALUES: Readonly<Record<string, (typed: string, line: Line) => readonly string[] | Promise<string[]>>> = {
  model: profiles,
  // Perhaps after a user.
  ssh: async (typed) => (await hosts()).map((host) => `${/^.*@/.exec(typed)?.[0] ?? ""}${host}`),
  on: placesFor,
  // Those of another host cannot be listed without connecting to it.
  container: (_typed, { overSsh }) => (overSsh ? [] : containers()),
  pane: panes,
  approve: () => APPROVALS,
  resume: sessions,
  run: async () => (await runbooks()).map(({ name, description }) => `${name}\t${plain(description)}`),
  cd: () => [":directories"],
  config: () => FILES,
  "output-schema": () => FILES,
  "last-message": () => FILES,
  image: () => FILES,
  trace: () => FILES,
};

const FILES = [":files"];

const APPROVALS = [
  "ask\task before every change",
  "all\tapprove everything",
  "none\trefuse what would ask",
  "10m\tapprove for ten minutes",
];

/** For the last item of a list: a name, a host after `USER@`, or a file of names after `@`. */
async function placesFor(typed: string): Promise<string[]> {
  const [, before = "", last = ""] = /^(.*,)?(.*)$/s.exec(typed) ?? [];
  const user = /^[^@]+@/.exec(last)?.[0] ?? "";
  const named = async () => (await (user === "" ? places() : hosts())).map((name) => `${user}${name}`);
  const found = await (last.startsWith("@") ? lists(last) : named());
  return found.map((one) => `${before}${one}`);
}

async function lists(begun: string): Promise<string[]> {
  const { listFiles } = await import("../../targets/names/expand-names.ts");
  return listFiles(begun, { cwd: currentDirectory(), home: process.env["HOME"] });
}

function flagValues(name: string, typed: string, line: Line) {
  return FLAG_VALUES[name]?.(typed, line) ?? [];
}

async function ofPositional({ command, positionals, runbook }: Line, typed: string): Promise<string[]> {
  const at = positionals.length;
  if (command === "exec" && runbook !== undefined) return runbookParameters(runbook, positionals);
  if (command === undefined || command === "help") {
    if (at > 0) return [];
    const commands = Object.entries(COMMANDS).map(([name, [summary]]) => `${name}\t${summary}`);
    return command === undefined ? commands : [...commands, ...(await helpTopics())];
  }
  const { args } = await loadCommand(command);
  const def = Object.values(args).filter((arg) => arg.type === "positional")[at];
  if (def?.choices !== undefined) return [...def.choices];
  if (
    ((command === "resume" || command === "changes") && at === 0) ||
    (command === "sessions" && at === 1 && positionals[0] !== "list")
  )
    return sessions();
  if (["login", "logout", "models"].includes(command) && at === 0) return profiles();
  if (command === "trace" && at === 1) return FILES;
  if (command === "targets" && at === 0) return placesFor(typed);
  if (command === "policy" && positionals[0] === "path") return FILES;
  if (command === "skills" && positionals[0] === "check") return [":directories"];
  if (command === "mcp" && at === 1 && positionals[0] !== "add") return Object.keys((await configuration()).config.mcp);
  return [];
}

/** Pages that are not named like a command. */
async function helpTopics(): Promise<string[]> {
  const { TOPICS } = await import("../commands/help/command.ts");
  const topics = Object.entries(TOPICS).flatMap(([name, about]) => (name in COMMANDS ? [] : [`${name}\t${about}`]));
  return ["all\tevery command and option", ...topics];
}

function fitting(lines: readonly string[], typed: string): string[] {
  return lines.filter((line) => line.startsWith(":") || line.startsWith(typed));
}

/** The trusted ones: completion asks no questions. */
async function runbooks() {
  const { knownSkills } = await import("../../app/extensions/extensions.ts");
  const { skills } = await knownSkills(await configuration(), { ask: false });
  return skills.filter(({ runbook }) => runbook !== undefined);
}

async function runbookParameters(name: string, given: readonly string[]): Promise<string[]> {
  const chosen = (await runbooks()).find((one) => one.name === name);
  const known = new Set(given.map((word) => word.split("=", 1)[0]));
  return (chosen?.runbook?.parameters ?? [])
    .filter((parameter) => !known.has(parameter.name))
    .flatMap(({ name: key, description, choices }) =>
      (choices.length === 0 ? [""] : choices).map((value) => `${key}=${value}\t${plain(description)}`),
    );
}

function plain(text: string): string {
  return text.replace(/[^\P{C}]/gu, " ").slice(0, 60);
}

async function configuration() {
  const { loadConfig } = await import("../../config/load.ts");
  return loadConfig({ env: process.env, cwd: currentDirectory(), create: false });
}

async function profiles(): Promise<string[]> {
  const loaded = await configuration();
  const { profileNames } = await import("../../config/profiles.ts");
  return profileNames(loaded).map((name) => `${name}\t${loaded.config.models[name]?.model ?? "built in"}`);
}

async function hosts(): Promise<readonly string[]> {
  return (await import("../../targets/names/ssh-config.ts")).sshHosts().names;
}

/** Without ssh or the network, and with a short time for the inventory: typing must not wait. */
async function places(): Promise<string[]> {
  const { placeSources } = await import("../../app/machines/places.ts");
  const { completedNames } = await import("../../targets/names/resolve-places.ts");
  const { names, inventory } = await completedNames(placeSources(await configuration()));
  return [...names, ...inventory];
}

async function sessions(): Promise<string[]> {
  const { savedSessions } = await import("../../session/store.ts");
  const saved = savedSessions(() => {}).list();
  return ["last\tthe session used last", ...saved.map(({ id, title }) => `${id}\t${plain(title)}`)];
}

/** Of the tmux server that buddy is typed in, or of the default one; without the pane that it is typed in. */
function panes(): string[] {
  const tmux = Bun.which("tmux");
  if (tmux === null) return [];
  const format = "#{pane_id}\t#{session_name}:#{window_index}, #{pane_current_command} in #{pane_current_path}";
  const { stdout } = askProgram([tmux, "-u", "list-panes", "-a", "-F", format], { timeoutMs: 2_000 });
  const listed = stdout.split("\n").filter((line) => line.startsWith("%"));
  return listed.filter((line) => line.split("\t")[0] !== process.env["TMUX_PANE"]);
}

function containers(): string[] {
  for (const engine of ["docker", "podman"]) {
    const path = Bun.which(engine);
    if (path === null) continue;
    // A daemon that does not answer must not hang the shell, nor hide the containers of the other engine.
    const { stdout, code } = askProgram([path, "ps", "--format", "{{.Names}}\t{{.Image}}"], { timeoutMs: 2_000 });
    if (code === 0) return stdout.split("\n").filter(Boolean);
  }
  return [];
}
