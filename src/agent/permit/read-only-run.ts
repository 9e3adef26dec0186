/** How a command that only reads runs without a question: its locks, and what is checked on the target first. */
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { nameFrom, withBytes } from "../../lib/byte-names.ts";
import { unlessAborted } from "../../lib/waiting.ts";
import { holdsSecretFiles, holdsSecrets } from "../../policy/files/secret-files.ts";
import { changesAnyText } from "../../policy/privacy/output-kind.ts";
import { isDeviceToRead } from "../../policy/shell/dangers/protected-paths.ts";
import { distortedInNamespace, onlyHidesOwners } from "../../policy/shell/distorted-in-namespace.ts";
import {
  gitFingerprintScript,
  gitRepositoryScript,
  readGitRepository,
} from "../../policy/shell/read-only/git-repository.ts";
import { namesOnly } from "../../policy/shell/secret-reads.ts";
import type { Condition, ShellJudgement } from "../../policy/verdict.ts";
import type { SecondLock, Shell, Target, Transport, Unasked } from "../../targets/target.ts";
import { shellVariables } from "./shell-environment.ts";

/** `ask`: why it needs a question after all. */
type UnaskedRun = { readonly unasked: Unasked } | { readonly ask: string };

export async function unaskedRun(
  target: Target,
  text: string,
  judged: ShellJudgement,
  cwd: string,
  lock: SecondLock,
  signal: AbortSignal,
  shell: Shell = target.shell,
): Promise<UnaskedRun> {
  if (target.isAdopted === true) {
    if (judged.conditions.length > 0 || runsSudo(judged)) return { ask: "buddy cannot check it from an adopted shell" };
    // A change of directory in the clean child would not last.
    if (/\b(?:cd|pushd|popd)\b/.test(text))
      return { ask: "in an adopted shell, a change of directory lasts only if it is approved" };
  }
  const doubt =
    (await sudoDoubt(target, judged)) ??
    (isHere(target) ? linkDoubt(text, judged, cwd) : undefined) ??
    (await conditionDoubt(target.transport, judged.conditions, cwd));
  if (doubt !== undefined) return { ask: doubt };
  const found = await shellVariables(target, shell, text, judged);
  if ("ask" in found) return found;
  const unasked = { inNamespace: true, ...(found.variables.length === 0 ? {} : found) };
  const required = lock === "required";
  // The namespace is made while the model thinks, so this hardly ever waits.
  const namespace = await unlessAborted(signal, target.locks.settled);
  if (required && namespace.kind === "none")
    return { ask: `read_only_namespace is required, and the target has none: ${namespace.why}` };
  if (namespace.kind !== "ready") return { unasked };
  const distorted = distortedInNamespace(text, judged, namespace.owners);
  if (distorted === undefined) return { unasked };
  if (onlyHidesOwners(text, judged)) return { unasked: { ...unasked, note: HIDDEN_OWNERS } };
  return { ask: `${distorted}, which the read-only namespace would show wrongly` };
}

const HIDDEN_OWNERS =
  "it ran without approval, in a user namespace: other users and groups than the user's own appear as nobody or 65534; " +
  "if they matter, declare mutation=true to ask the operator";

/**
 * What runs unasked must not use a sudo ticket that the operator got for something else: sudo has to work without one.
 * The script runner has no terminal, and so no ticket.
 */
async function sudoDoubt(target: Target, judged: ShellJudgement): Promise<string | undefined> {
  if (target.transport.facts.uid === 0 || !runsSudo(judged)) return undefined;
  const { code } = await target.transport.run("sudo -n -k true >/dev/null 2>&1", { timeoutMs: 10_000 });
  return code === 0 ? undefined : "sudo needs a password, and commands without a question never use a sudo ticket";
}

function runsSudo({ commands }: ShellJudgement): boolean {
  return commands.some(({ words }) => /(?:^|\/)sudo$/.test(words[0] ?? ""));
}

/** Its files are on this machine. */
export const isHere = (target: Target): boolean => target.transport.kind === "local" && target.isAdopted !== true;

/**
 * A link in a repository may lead to a file with keys. Links are followed on this machine only, where that costs
 * nothing, and not those that find or a loop would reach.
 */
function linkDoubt(text: string, judged: ShellJudgement, cwd: string): string | undefined {
  for (const { word, path: written } of openedBy(text, judged, cwd).filter(({ path }) => !OF_THE_READER.test(path)))
    for (const path of matching(written)) {
      if (isExchangeable(path)) return `another user can replace ${word} by a link while it is read`;
      const real = realPath(path);
      if (real !== path && (holdsSecrets(real) || holdsSecretFiles(real)))
        return `${word} leads to ${real}, which contains secrets the model would see`;
      if (real !== path && isDeviceToRead(real)) return `${word} leads to ${real}, which is a device`;
      if (isPipe(real)) return `${word} is a pipe: other readers lose what is read from it`;
    }
  return undefined;
}

/** These mean the files of whichever process opens them. */
const OF_THE_READER = /^\/(?:dev\/(?:std(?:in|out|err)|fd\/\d+)|proc\/(?:thread-)?self\/fd\/\d+)$/;

/** In a directory that others may write, and that is not sticky, like /tmp. */
function isExchangeable(path: string): boolean {
  const { uid = -1 } = statSync(withBytes(path), { throwIfNoEntry: false }) ?? {};
  const { mode = 0, gid = 0 } = statSync(withBytes(dirname(path)), { throwIfNoEntry: false }) ?? {};
  const others = (mode & 0o2) !== 0 || ((mode & 0o20) !== 0 && gid !== 0 && gid !== process.getgid?.());
  return uid >= 0 && others && (mode & 0o1000) === 0;
}

function isPipe(path: string): boolean {
  return statSync(withBytes(path), { throwIfNoEntry: false })?.isFIFO() === true;
}

/** Every path that the words of a command may name, from each directory that it enters. */
function openedBy(text: string, { commands }: ShellJudgement, cwd: string): { word: string; path: string }[] {
  const opened = commands.flatMap(({ words: [program = "", ...args] }) => (namesOnly(program) ? [] : args));
  const entered = commands.flatMap(({ words: [program, ...args] }) => (program === "cd" ? args : []));
  const bases = [cwd, ...entered.map((directory) => resolve(cwd, directory))];
  return [...opened, ...inputsOf(text)]
    .filter((word) => !/^-|\n/.test(word))
    .flatMap((word) => bases.map((base) => ({ word, path: resolve(base, word) })));
}

/** The files that a command prints in another form: a secret is recognised in the whole file, but not in one column. */
export function changedFiles(text: string, judged: ShellJudgement, cwd: string): { path: string; text: string }[] {
  if (!changesAnyText(judged.commands.map(({ words }) => words))) return [];
  const paths = new Set(openedBy(text, judged, cwd).map(({ path }) => path));
  return [...paths].slice(0, MOST_FILES).flatMap((path) => {
    try {
      const file = statSync(withBytes(path));
      return file.isFile() && file.size > 0 && file.size <= LARGEST_FILE
        ? [{ path, text: readFileSync(withBytes(path), "utf8") }]
        : [];
    } catch {
      return [];
    }
  });
}
const MOST_FILES = 20;
const LARGEST_FILE = 64 * 1024;

/** Files that a command reads through a redirection. */
export function inputsOf(text: string): readonly string[] {
  return [...text.matchAll(/<\s*["']?([^\s<>&|;()"']+)/g)].map(([, file = ""]) => file);
}

/** The path, or the links that a pattern at its end may match. */
function matching(path: string): readonly string[] {
  if (!/[*?]/.test(path)) return [path];
  const directory = dirname(path);
  if (/[*?]/.test(directory)) return [];
  try {
    const place = withBytes(directory);
    const links = readdirSync(place, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
    const names = links.map(({ name }) => name);
    if (names.some((name) => name.includes("\ufffd")))
      names.push(...readdirSync(place, { encoding: "buffer" }).map((name) => nameFrom(name)));
    return [directory, ...names.map((name) => join(directory, name))];
  } catch {
    return [];
  }
}

/** Where it leads; the path itself if it cannot be followed. */
function realPath(path: string): string {
  try {
    return nameFrom(realpathSync(withBytes(path), { encoding: "buffer" }));
  } catch {
    return path;
  }
}

interface Known {
  readonly doubt: string | undefined;
  readonly files: readonly string[];
  readonly fingerprint: string;
}

/** What is known about repositories, by connection; valid while the fingerprint stays the same. */
const known = new WeakMap<Transport, Map<string, Known>>();

/** Why a condition does not hold on the target; undefined: all do. */
export async function conditionDoubt(
  transport: Transport,
  conditions: readonly Condition[],
  cwd: string,
): Promise<string | undefined> {
  const answers = await Promise.all(conditions.map((condition) => repositoryDoubt(transport, condition, cwd)));
  return answers.find((doubt) => doubt !== undefined);
}

async function repositoryDoubt(transport: Transport, condition: Condition, cwd: string): Promise<string | undefined> {
  const kept = known.get(transport) ?? new Map<string, Known>();
  known.set(transport, kept);
  const key = JSON.stringify([cwd, condition]);
  const before = kept.get(key);
  if (before !== undefined) {
    const fingerprint = await ask(transport, cwd, gitFingerprintScript(condition, before.files));
    if (fingerprint === before.fingerprint) return before.doubt;
    kept.delete(key);
  }
  const answer = await ask(transport, cwd, gitRepositoryScript(condition));
  const { doubt, files } = readGitRepository(answer);
  if (files !== undefined) void keep(transport, condition, cwd, { doubt, files, answer }, (one) => kept.set(key, one));
  return doubt;
}

/** Kept only if the answer is the same after the fingerprint: then nothing changed in between. */
async function keep(
  transport: Transport,
  condition: Condition,
  cwd: string,
  { doubt, files, answer }: { doubt: string | undefined; files: readonly string[]; answer: string },
  store: (known: Known) => void,
): Promise<void> {
  try {
    const fingerprint = await ask(transport, cwd, gitFingerprintScript(condition, files));
    if ((await ask(transport, cwd, gitRepositoryScript(condition))) === answer) store({ doubt, files, fingerprint });
  } catch {
    // It is looked up again the next time.
  }
}

async function ask(transport: Transport, cwd: string, script: string): Promise<string> {
  const { stdout } = await transport.run(`cd -- "$1" 2>/dev/null || exit 0\n${script}`, {
    args: [cwd],
    timeoutMs: 10_000,
  });
  return stdout.toString();
}
