/** How a managed pane is started: which shell runs in it, and the script that attaches a client. */
import { hiddenVariables } from "../../lib/processes.ts";
import attach from "../../../templates/shell-init/attach.sh" with { type: "text" };
import guard from "../../../templates/shell-init/guard.sh" with { type: "text" };
import join from "../../../templates/shell-init/join.sh" with { type: "text" };
import { BuddyError } from "../../lib/errors.ts";
import { script } from "../../lib/script.ts";
import { OWN_DIRECTORY } from "../script-line.ts";
import type { MachineFacts, ShellScript } from "../target.ts";
import { PREPARE, prepareArguments } from "./session-files.ts";
import type { TmuxSessionOptions } from "./tmux-session.ts";

export interface PaneShell {
  readonly kind: "bash" | "zsh" | "fish" | "sh";
  /** As a user would call it: bash, zsh, fish, dash, ash, mksh, sh. */
  readonly name: string;
  readonly argv: readonly string[];
}

const POSIX_SHELLS = new Set(["sh", "dash", "ash", "mksh", "ksh"]);

/**
 * The user's login shell if buddy supports it; otherwise bash or sh. `wanted` is another one; `bourne`: one that reads
 * commands as sh does.
 */
export function choosePaneShell(
  facts: Pick<MachineFacts, "loginShell" | "programs">,
  wanted?: string,
  bourne = false,
): PaneShell {
  // A login shell is a path, in which a space does not separate words.
  const words = wanted === undefined ? [facts.loginShell] : wanted.trim().split(/\s+/);
  const name = (words.length > 1 ? words.at(-1) : words[0])?.split("/").at(-1) ?? "";
  const path = words[0]?.includes("/") === true ? words[0] : facts.programs[words[0] ?? ""];
  const argv = path === undefined ? words : [path, ...words.slice(1)];
  if (name === "bash" || name === "zsh" || (name === "fish" && !bourne)) return { kind: name, name, argv };
  if (name === "sh") return { kind: "sh", name: posixName(facts), argv };
  if (POSIX_SHELLS.has(name)) return { kind: "sh", name, argv };
  if (wanted !== undefined) {
    throw new BuddyError("target", `buddy cannot follow commands in the shell ${JSON.stringify(wanted)}`, {
      hint: "Use bash, zsh, fish, dash, ash, mksh or sh.",
    });
  }
  const { bash, sh } = facts.programs;
  if (bash !== undefined) return { kind: "bash", name: "bash", argv: [bash] };
  return { kind: "sh", name: posixName(facts), argv: [sh ?? "/bin/sh"] };
}

function posixName(facts: Pick<MachineFacts, "programs">): string {
  return facts.programs["dash"] !== undefined ? "dash" : facts.programs["ash"] !== undefined ? "ash" : "sh";
}

interface AttachOptions extends StartedShell, Pick<TmuxSessionOptions, "socket" | "session" | "owner" | "cwd"> {
  /** Create a missing session; otherwise that is an error. */
  readonly create: boolean;
}

/** A script for sh. The first line on stdin must be the key for a new session: `ps` shows neither. */
export function attachScript(options: AttachOptions): ShellScript {
  const { transport, socket, session, owner, cwd, create } = options;
  const { facts } = transport;
  const args = [cwd, facts.programs["tmux"] ?? "tmux", socket, session, create ? "1" : "", owner];
  return {
    name: "buddy-pane",
    text: PREPARE + script(attach) + script(guard),
    args: [...prepareArguments({ facts, socket, session }), ...args, ...paneCommand(options)],
  };
}

/** Attaches to a session of the operator's own server. The first line on stdin must be the key. */
export function joinScript(args: {
  readonly facts: Pick<MachineFacts, "uid" | "programs">;
  readonly socket: string;
  readonly session: string;
}): ShellScript {
  const { facts, socket, session } = args;
  const words = [facts.programs["tmux"] ?? "tmux", socket, session, String(facts.uid)];
  return { name: "buddy-join", text: OWN_DIRECTORY + script(join) + script(guard), args: words };
}

type StartedShell = Pick<TmuxSessionOptions, "transport" | "shell">;

/** What tmux starts in a pane, as separate words, so that no shell parses them. `plain`: without start-up files. */
export function paneCommand(
  { transport, shell }: StartedShell,
  { plain = false, directory }: { readonly plain?: boolean; readonly directory?: string } = {},
): string[] {
  return [
    "sh",
    // Job control from the start: otherwise a bash that is sh gives the terminal to its jobs only through its stderr.
    "-m",
    directory === undefined ? "@supervisor@" : `${directory}/supervisor.sh`,
    shell.kind,
    transport.kind === "ssh" ? "1" : "",
    plain ? "1" : "",
    hiddenVariables()
      .filter((name) => /^\w+$/.test(name))
      .join(","),
    transport.facts.programs["tmux"] ?? "tmux",
    ...shell.argv,
  ];
}
