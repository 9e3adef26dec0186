/** Every subcommand: its name, its line in `buddy --help`, and how to load the rest. */
import type { Command } from "./command.ts";

export interface CommandEntry {
  /** One line, at most 60 characters. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** Loaded one by one, so that no command pays for another. The REPL is the command without a name. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  exec: {
    summary: "answer one prompt: the answer on stdout, the rest on stderr",
    load: async () => widen((await import("./commands/exec/command.ts")).command),
  },
  run: {
    summary: "run one command on a machine or many, without a model",
    load: async () => widen((await import("./commands/run/command.ts")).command),
  },
  resume: {
    summary: "continue a saved session in the REPL",
    load: async () => widen((await import("./commands/resume/command.ts")).command),
  },
  sessions: {
    summary: "list, export or remove saved sessions",
    load: async () => widen((await import("./commands/sessions/command.ts")).command),
  },
  audit: {
    summary: "show or verify the record of decisions and effects",
    load: async () => widen((await import("./commands/audit/command.ts")).command),
  },
  changes: {
    summary: "list the files that a session changed",
    load: async () => widen((await import("./commands/changes/command.ts")).command),
  },
  login: {
    summary: 'sign in, for profiles with auth = "login"',
    load: async () => widen((await import("./commands/login/command.ts")).command),
  },
  logout: {
    summary: "sign out: revoke and remove what buddy login stored",
    load: async () => widen((await import("./commands/logout/command.ts")).command),
  },
  models: {
    summary: "list the models that a profile's endpoint offers",
    load: async () => widen((await import("./commands/models/command.ts")).command),
  },
  init: {
    summary: "write the configuration file",
    load: async () => widen((await import("./commands/init/command.ts")).command),
  },
  doctor: {
    summary: "check configuration, key, model, tmux, ssh, containers",
    load: async () => widen((await import("./commands/doctor/command.ts")).command),
  },
  targets: {
    summary: "list or check machines by name, or buddy's sessions on them",
    load: async () => widen((await import("./commands/targets/command.ts")).command),
  },
  skills: {
    summary: "list skills and runbooks, or check a folder",
    load: async () => widen((await import("./commands/skills/command.ts")).command),
  },
  mcp: {
    summary: "list, check, add or remove MCP servers",
    load: async () => widen((await import("./commands/mcp/command.ts")).command),
  },
  demo: {
    summary: "a short guided run: no key, no network",
    load: async () => widen((await import("./commands/demo/command.ts")).command),
  },
  policy: {
    summary: "explain what the policy says, without doing anything",
    load: async () => widen((await import("./commands/policy/command.ts")).command),
  },
  trace: {
    summary: "summarise a file written with --trace",
    load: async () => widen((await import("./commands/trace/command.ts")).command),
  },
  update: {
    summary: "install the newest version, or go back to the previous one",
    load: async () => widen((await import("./commands/update/command.ts")).command),
  },
  completion: {
    summary: "print a completion script for bash, zsh or fish",
    load: async () => widen((await import("./commands/completion/command.ts")).command),
  },
  help: {
    summary: "show help for a command, or a page such as keys, config",
    load: async () => widen((await import("./commands/help/command.ts")).command),
  },
};

export async function loadRepl(): Promise<Command> {
  return widen((await import("./commands/repl/command.ts")).command);
}

/** A command's `run` is called only with what its own `args` produced, which no type can say for a table of them. */
function widen(command: { readonly name: string }): Command {
  return command as Command;
}
