/** How a managed pane comes to be: which shell runs in it, the files it starts from, and the client that attaches. */
import bashInit from "../../../templates/shell-init/bash.sh" with { type: "text" };
import fishInit from "../../../templates/shell-init/fish.fish" with { type: "text" };
import shInit from "../../../templates/shell-init/sh.sh" with { type: "text" };
import supervisor from "../../../templates/shell-init/supervisor.sh" with { type: "text" };
import zprofile from "../../../templates/shell-init/zprofile.zsh" with { type: "text" };
import zshInit from "../../../templates/shell-init/zsh.zsh" with { type: "text" };
import zshenv from "../../../templates/shell-init/zshenv.zsh" with { type: "text" };
import zshrc from "../../../templates/shell-init/zshrc.zsh" with { type: "text" };
import { BuddyError } from "../../lib/errors.ts";
import type { MachineFacts } from "../target.ts";

export interface PaneShell {
  readonly kind: "bash" | "zsh" | "fish" | "sh";
  /** As a user would call it: bash, zsh, fish, dash, ash, mksh, sh. */
  readonly name: string;
  readonly argv: readonly string[];
}

const POSIX_SHELLS = new Set(["sh", "dash", "ash", "mksh", "ksh"]);

/** The user's login shell where buddy knows its hooks; otherwise bash or sh. `wanted` names another one. */
export function choosePaneShell(facts: Pick<MachineFacts, "loginShell" | "programs">, wanted?: string): PaneShell {
  const words = (wanted ?? facts.loginShell).trim().split(/\s+/);
  const name = (words.length > 1 ? words.at(-1) : words[0])?.split("/").at(-1) ?? "";
  const path = words[0]?.includes("/") === true ? words[0] : facts.programs[words[0] ?? ""];
  const argv = path === undefined ? words : [path, ...words.slice(1)];
  if (name === "bash" || name === "zsh" || name === "fish") return { kind: name, name, argv };
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

const FILES: Readonly<Record<string, string>> = {
  "supervisor.sh": supervisor,
  "bash.sh": bashInit,
  "zsh.zsh": zshInit,
  "fish.fish": fishInit,
  "sh.sh": shInit,
  "zsh/.zshenv": zshenv,
  "zsh/.zprofile": zprofile,
  "zsh/.zshrc": zshrc,
};
const STAMP = Bun.hash(JSON.stringify(FILES)).toString(16);

/**
 * Makes the private directory with the key and the start-up files: $1 name, $2 user id, $3 stamp, then name and text of each file;
 * $k is the key to use when there is none yet. A directory that belongs to somebody else is not used. What is written for every
 * command goes to memory where there is /dev/shm: rewriting a small file on ext4 is flushed to the disk each time (0.3 to 4 ms).
 * The time of `opened` keeps a directory from being taken for a leftover while its server is about to start.
 */
const PREPARE = `
own() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
name=$1 u=$2 d=
for b in "/tmp/buddy-$2" "\${HOME-}/.cache/buddy"; do
  ( umask 077; mkdir -p "$b/$name/zsh" ) 2>/dev/null
  if own "$b" && own "$b/$name"; then d=$b/$name; break; fi
done
if [ -z "$d" ]; then echo 'buddy-error no private directory can be made in /tmp or ~/.cache'; exit 1; fi
s=$3; shift 3
w=; [ -r "$d/stamp" ] && read -r w <"$d/stamp"
[ -s "$d/key" ] || ( umask 077; printf '%s\\n' "$k" >"$d/key" )
if [ "$w" != "$s" ]; then
  while [ "$1" != -- ]; do ( umask 077; printf %s "$2" >"$d/$1" ); shift 2; done
  ( umask 077; echo "$s" >"$d/stamp" )
else
  while [ "$1" != -- ]; do shift; done
fi
shift
true >"$d/opened"
IFS= read -r k <"$d/key"
r=; [ -r "$d/run" ] && IFS= read -r r <"$d/run"
for b in "$r" "/dev/shm/buddy-$u/$name" "$d"; do
  [ -n "$b" ] && [ -d "\${b%/*/*}" ] && ( umask 077; mkdir -p "$b" ) 2>/dev/null && own "\${b%/*}" && own "$b" && break
done
[ "$b" = "$r" ] || ( umask 077; printf '%s\\n' "$b" >"$d/run" )
r=$b
`;

/**
 * The guard around the client matters: a control client whose reader died stays for ever, freezes the pane and blocks
 * kill-server. `cat` sees the end of stdin; the group is this client's own. It also keeps stdout open, so the end is told in words.
 */
const ATTACH = `${PREPARE}
printf 'buddy %s %s\\nbuddy-run %s\\n' "$k" "$d" "$r"
unset TMUX TMUX_PANE
cd "$1" 2>/dev/null
shift
for a; do
  shift
  case $a in @supervisor@) a=$d/supervisor.sh ;; esac
  set -- "$@" "$a"
done
{ cat; exec >&-; sleep 0.2 2>/dev/null || sleep 1; kill 0; } | { "$@"; printf '\\nbuddy-exit %s %s\\n' "$k" "$?"; }
`;

export interface AttachOptions {
  readonly facts: Pick<MachineFacts, "uid" | "programs">;
  readonly socket: string;
  readonly session: string;
  readonly cwd: string;
  readonly shell: PaneShell;
  readonly login: boolean;
  readonly plain: boolean;
  readonly unset: readonly string[];
  /** Whether a missing session is made; otherwise that is an error. */
  readonly create: boolean;
}

/** The first line on stdin must be the key to use when there is none yet: it appears in no argument list. */
export function attachArgv(options: AttachOptions): string[] {
  const { facts, socket, session } = options;
  const tmux = [facts.programs["tmux"] ?? "tmux", "-u", ...(socket === "" ? [] : ["-L", socket]), "-C"];
  const flags = ["-f", "ignore-size,pause-after=10"];
  const attach = options.create
    ? [
        "new-session",
        "-A",
        "-s",
        session,
        "-n",
        "buddy-shared",
        "-x",
        "200",
        "-y",
        "50",
        ...flags,
        ...paneCommand(options),
      ]
    : ["attach-session", "-t", `=${session}`, ...flags];
  const history = options.create && socket !== "" ? ["set-option", "-g", "history-limit", "20000", ";"] : [];
  return [
    "sh",
    "-c",
    `IFS= read -r k || exit 1\n${ATTACH}`,
    "buddy-pane",
    ...prepareArguments(options),
    options.cwd,
    ...tmux,
    ...history,
    ...attach,
  ];
}

/** Puts the files in place again, for `Transport.run`, which gives the key on stdin. */
export const RESTORE_FILES = `IFS= read -r k || exit 1\n${PREPARE}`;

export function prepareArguments(options: Pick<AttachOptions, "facts" | "socket" | "session">): string[] {
  const name = `${options.socket || "default"}.${options.session}`.replaceAll("/", "_");
  return [name, String(options.facts.uid), STAMP, ...Object.entries(FILES).flat(), "--"];
}

/** What tmux starts in a pane, as separate words: no shell of unknown kind reads them. */
export function paneCommand(
  options: Pick<AttachOptions, "shell" | "login" | "plain" | "unset">,
  directory?: string,
): string[] {
  const unset = ["BUN_OPTIONS", "BUN_BE_BUN", "BUDDY_API_KEY", "AGENT_API_KEY", ...options.unset];
  return [
    "sh",
    directory === undefined ? "@supervisor@" : `${directory}/supervisor.sh`,
    options.shell.kind,
    options.login ? "1" : "",
    options.plain ? "1" : "",
    unset.filter((name) => /^\w+$/.test(name)).join(","),
    ...options.shell.argv,
  ];
}
