/** Every subcommand: its name, its line in `buddy --help`, and the file with the rest. */
import type { Command } from "./command.ts";

/** A line has at most 60 characters. The files are loaded one by one, so that no command pays for another. */
export const COMMANDS: Readonly<Record<string, readonly [summary: string, file: () => Promise<CommandFile>]>> = {
  exec: ["answer one prompt: the answer on stdout, the rest on stderr", () => import("./commands/exec/command.ts")],
  run: ["run one command on a machine or many, without a model", () => import("./commands/run/command.ts")],
  resume: ["continue a saved session in the REPL", () => import("./commands/resume/command.ts")],
  sessions: ["list, export or remove saved sessions", () => import("./commands/sessions/command.ts")],
  audit: ["show or verify the record of decisions and effects", () => import("./commands/audit/command.ts")],
  changes: ["list the files that a session changed", () => import("./commands/changes/command.ts")],
  login: ['sign in, for profiles with auth = "login"', () => import("./commands/login/command.ts")],
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
  policy: ["explain what the policy says, without doing anything", () => import("./commands/policy/command.ts")],
  trace: ["summarise a file written with --trace", () => import("./commands/trace/command.ts")],
  update: ["install the newest version, or go back to the previous one", () => import("./commands/update/command.ts")],
  completion: ["print a completion script for bash, zsh or fish", () => import("./commands/completion/command.ts")],
  help: ["show help for a command, or a page such as keys, config", () => import("./commands/help/command.ts")],
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
