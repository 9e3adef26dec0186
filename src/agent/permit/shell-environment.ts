/**
 * Whether a read would have another result than in its own shell, because the environment of commands that run
 * automatically is a fixed one: another HOME, a variable that is not passed on, another program of that name in PATH.
 */
import { readFileSync } from "node:fs";
import { withBytes } from "../../lib/byte-names.ts";
import { ansiQuoted, splitWords } from "../../lib/quote.ts";
import { missingVariable, namedVariables } from "../../policy/shell/read-only/missing-variables.ts";
import type { ShellJudgement } from "../../policy/verdict.ts";
import type { Shell, Target, Transport, Unasked } from "../../targets/target.ts";

type ShellVariables = { readonly variables: NonNullable<Unasked["variables"]> };

/** Why it needs a question; otherwise the variables of its shell that it names. */
export async function shellVariables(
  target: Target,
  shell: Shell,
  text: string,
  judged: ShellJudgement,
): Promise<{ readonly ask: string } | ShellVariables> {
  const { transport } = target;
  const exported = target.isAdopted === true ? undefined : await exportedBy(shell, transport);
  const { home } = transport.facts;
  const { path, passesOn } = target.locks;
  const missing = [...(exported ?? [])].filter(([name, value]) => !OWN.has(name) && !passesOn(name, value));
  const names = missing.map(([name]) => name);
  const missed = missingVariable(text, judged, names);
  if (missed !== undefined) return { ask: missed };
  if (exported === undefined) return { variables: [] };
  const ownHome = exported.get("HOME") ?? home;
  if (ownHome !== home) return { ask: `HOME in your shell is ${ownHome}, not ${home}` };
  const other = exported.get("PATH") ?? path;
  const found = other === path ? undefined : await otherProgram(transport, judged, other, path);
  if (found !== undefined) return { ask: found };
  const odd = namedVariables(text, names).find((name) => /[\n\uFFFD]/.test(exported.get(name) ?? ""));
  if (odd !== undefined) return { ask: `your shell's ${odd} has line breaks or is not UTF-8` };
  return { variables: namedVariables(text, names).map((name) => [name, exported.get(name) ?? ""] as const) };
}

/** Set for every command, or of the shell that runs it. */
const OWN = new Set(
  "PATH HOME USER LOGNAME PWD OLDPWD SHLVL SHELL _ PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER GIT_OPTIONAL_LOCKS".split(
    " ",
  ),
);

interface Known {
  readonly version: number | undefined;
  readonly exported: Exported;
}

type Exported = ReadonlyMap<string, string>;

const known = new WeakMap<Shell, Known>();
const atLogin = new WeakMap<Transport, Promise<Exported>>();

/** Asked again only after a command that may have changed it. */
async function exportedBy(shell: Shell, transport: Transport): Promise<Exported> {
  const version = shell.environmentVersion;
  const before = known.get(shell);
  if (before !== undefined && version !== undefined && before.version === version) return before.exported;
  const written = version === 0 ? "" : await writtenBy(shell.environmentFile, transport);
  const exported = written === "" ? await loginExports(transport) : parseExports(written);
  known.set(shell, { version, exported });
  return exported;
}

/** What the shell wrote at its prompt, a character for each byte; "" if it has not. */
async function writtenBy(file: string | undefined, transport: Transport): Promise<string> {
  if (file === undefined) return "";
  try {
    if (transport.kind === "local") return readFileSync(withBytes(file), "latin1");
    const { stdout } = await transport.run('cat -- "$1" 2>/dev/null', { args: [file], quick: true });
    return stdout.toString("latin1");
  } catch {
    // It has not been written yet.
    return "";
  }
}

function loginExports(transport: Transport): Promise<Exported> {
  const asked =
    atLogin.get(transport) ??
    transport.run("export -p", { quick: true }).then(({ stdout }) => parseExports(stdout.toString("latin1")));
  atLogin.set(transport, asked);
  return asked;
}

/**
 * As bash, zsh, fish and sh write them, a character for each byte. A line of a value that looks like another variable
 * is one too many.
 */
export function parseExports(text: string): Exported {
  const exported = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name = "", value = ""] =
      /^(?:export|declare -\w*x\w*|typeset -x) ([A-Za-z_]\w*)(?:=(.*))?$/.exec(line) ?? [];
    if (name !== "") exported.set(name, unquoted(value));
  }
  return exported;
}

/** As each shell quotes it. dash breaks the line of a value with line breaks: of that one no more is known. */
function unquoted(bytes: string): string {
  const value = Buffer.from(bytes, "latin1").toString();
  const [, inner] = /^"(.*)"$/.exec(value) ?? [];
  return inner?.replace(/\\([$`"\\])/g, "$1") ?? ansiQuoted(bytes) ?? splitWords(value)?.join(" ") ?? `${value}\n`;
}

const programs = new WeakMap<Transport, Map<string, boolean>>();

/** A program that the shell would find in another place. */
async function otherProgram(
  transport: Transport,
  { commands }: ShellJudgement,
  other: string,
  own: string,
): Promise<string | undefined> {
  const same = programs.get(transport) ?? new Map<string, boolean>();
  programs.set(transport, same);
  const names = [...new Set(commands.map(({ words }) => words[0] ?? ""))].filter((name) => /^[\w.+-]+$/.test(name));
  const key = (name: string) => `${other}\0${name}`;
  const unknown = names.filter((name) => !same.has(key(name)));
  if (unknown.length > 0) {
    const { stdout } = await transport.run(DIFFERENT, { args: [other, own, ...unknown], quick: true });
    const different = stdout.toString().split("\n");
    for (const name of unknown) same.set(key(name), !different.includes(name));
  }
  const found = names.find((name) => same.get(key(name)) === false);
  return found === undefined
    ? undefined
    : `your shell's PATH has another ${found}: one that runs automatically uses only the PATH of the login`;
}

/** $1 the PATH of the shell, $2 the other, then names of programs: prints those that are not the same in both. */
const DIFFERENT = `other=$1 own=$2; shift 2
for name; do
  PATH=$other; one=$(command -v "$name")
  PATH=$own; two=$(command -v "$name")
  [ "$one" = "$two" ] || [ "$one" -ef "$two" ] || echo "$name"
done`;
