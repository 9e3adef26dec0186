/** The table of commands, and the shape that the file of each exports as `command`; arguments are citty's. */
import type { ArgDef, ParsedArgs } from "citty";
import type { ExitCode } from "../lib/errors.ts";
import type { GlobalOptions } from "./args/options.ts";

/** citty's definition of an argument, and what our own reader (args/parse-arguments.ts) knows in addition. */
export type Arg = ArgDef & {
  /** Its letter. */
  readonly alias?: string;
  /** The value is a file name: made absolute against the directory buddy was started in (not that of --cd). */
  readonly path?: boolean;
  /** The last positional, where it takes every word that is left; with the name of a flag, only when that is given. */
  readonly rest?: true | string;
  /** The only words a positional may be. */
  readonly choices?: readonly string[];
  /** Throws a usage error when the value is wrong; `flag` is how the user wrote its name. */
  readonly check?: (value: string, flag: string) => unknown;
  /** The flag it stands for when given twice: `-vv`. */
  readonly twice?: string;
  /** May be given several times: the values come as one text with a NUL between them, which no argument can hold. */
  readonly repeats?: true;
  /** The value may be left out: `--tmux`, `--tmux=NAME`. */
  readonly optionalValue?: boolean;
  /** With `rest: true`: from its first word on everything belongs to it, also what looks like an option. */
  readonly verbatim?: true;
};
export type Args = Record<string, Arg>;

export interface Command<T extends Args = Args> {
  readonly name: string;
  /** Positionals in order, then flags. */
  readonly args: T;
  /** Command line and what it does. */
  readonly examples: readonly (readonly [line: string, text: string])[];
  /** Paragraphs below the options; lines of at most 80 columns. */
  readonly notes?: string;
  run(call: Call<T>): Promise<ExitCode>;
}

export interface Call<T extends Args = Args> {
  readonly args: ParsedArgs<T>;
  readonly globals: GlobalOptions;
  /** How many of the words, counted from the last, stood after --. */
  readonly literal: number;
}

/** Keeps the literal types of `args`, so that `call.args` is typed. */
export function defineCommand<const T extends Args>(command: Command<T>): Command<T> {
  return command;
}

/** Each with its line in `buddy --help`, of at most 60 characters; loaded one by one, so that none pays for another. */
export const COMMANDS: Readonly<Record<string, readonly [summary: string, file: () => Promise<CommandFile>]>> = {
  exec: ["answer one prompt: the answer on stdout, the rest on stderr", () => import("./commands/exec/command.ts")],
  run: ["run one command on a machine or many, without a model", () => import("./commands/run/command.ts")],
  resume: ["continue a saved session in the REPL", () => import("./commands/resume/command.ts")],
  sessions: ["list, export or remove saved sessions", () => import("./commands/sessions/command.ts")],
  audit: ["show or verify the audit log of decisions and effects", () => import("./commands/audit/command.ts")],
  changes: ["list the files that a session changed", () => import("./commands/changes/command.ts")],
  login: ["sign in to your model provider", () => import("./commands/login/command.ts")],
  logout: ["sign out: revoke and remove what buddy login stored", () => import("./commands/logout/command.ts")],
  models: ["list the models that a profile's endpoint offers", () => import("./commands/models/command.ts")],
  init: ["write the configuration file", () => import("./commands/init/command.ts")],
  doctor: ["check configuration, key, model, tmux, ssh, containers", () => import("./commands/doctor/command.ts")],
  targets: [
    "list or check machines by name, or buddy's sessions on them",
    () => import("./commands/targets/command.ts"),
  ],
  skills: ["list skills and runbooks, or check a folder", () => import("./commands/skills/command.ts")],
  mcp: ["list, check, add or remove MCP servers", () => import("./commands/mcp/command.ts")],
  demo: ["a short guided run: no key, no network", () => import("./commands/demo/command.ts")],
  policy: ["explain decisions of the policy, without doing anything", () => import("./commands/policy/command.ts")],
  trace: ["summarise a file written with --trace", () => import("./commands/trace/command.ts")],
  update: ["install the newest version, or go back to the previous one", () => import("./commands/update/command.ts")],
  completion: ["print a completion script for bash, zsh or fish", () => import("./commands/completion/command.ts")],
  help: ["explain a command or a topic; all: every option", () => import("./commands/help/command.ts")],
};

interface CommandFile {
  readonly command: { readonly name: string };
}

/** Without the name of a command: the REPL. */
export async function loadCommand(name = ""): Promise<Command> {
  const [, file] = COMMANDS[name] ?? ["", () => import("./commands/repl/command.ts")];
  // `run` is called only with what the command's own `args` produced, which no type can say for a table of commands.
  return (await file()).command as Command;
}
