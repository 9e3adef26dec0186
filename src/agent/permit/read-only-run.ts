/**
 * How a text that only reads runs without a question: which locks hold for it, and what must be looked up on the
 * target first.
 */
import { nameFrom, withBytes } from "../../lib/byte-names.ts";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { unlessAborted } from "../../lib/waiting.ts";
import { changesAnyText } from "../../policy/privacy/output-kind.ts";
import { holdsSecretFiles, holdsSecrets } from "../../policy/files/secret-files.ts";
import { isDeviceToRead } from "../../policy/shell/dangers/protected-paths.ts";
import { distortedInNamespace } from "../../policy/shell/distorted-in-namespace.ts";
import {
  gitFingerprintScript,
  gitRepositoryScript,
  readGitRepository,
} from "../../policy/shell/read-only/git-repository.ts";
import { namesOnly } from "../../policy/shell/secret-reads.ts";
import type { Condition, ShellJudgement } from "../../policy/verdict.ts";
import type { SecondLock, Target, Transport, Unasked } from "../../targets/target.ts";

/** `ask`: why it has to be asked about after all. */
export type UnaskedRun = { readonly unasked: Unasked } | { readonly ask: string };

export async function unaskedRun(
  target: Target,
  text: string,
  judged: ShellJudgement,
  cwd: string,
  lock: SecondLock,
  signal: AbortSignal,
): Promise<UnaskedRun> {
  if (target.isAdopted === true) {
    if (judged.conditions.length > 0 || runsSudo(judged))
      return { ask: "it cannot be looked up from an adopted shell" };
    // The clean child has nowhere to leave its directory.
    if (/\b(?:cd|pushd|popd)\b/.test(text))
      return { ask: "in an adopted shell, a change of directory needs an approval to last" };
  }
  const doubt =
    (await sudoDoubt(target, judged)) ??
    (isHere(target) ? linkDoubt(text, judged, cwd) : undefined) ??
    (await conditionDoubt(target.transport, judged.conditions, cwd));
  if (doubt !== undefined) return { ask: doubt };
  const required = lock === "required";
  // The lock holds from the first command on: it is made while the model thinks, so that this hardly ever waits.
  const namespace = await unlessAborted(signal, target.locks.settled);
  if (required && namespace.kind === "none")
    return { ask: `second_lock is required, and the target has none: ${namespace.why}` };
  const distorted = distortedInNamespace(text, judged, namespace.kind === "ready" && namespace.owners);
  if (required && distorted !== undefined) return { ask: `second_lock is required, but ${distorted}` };
  return { unasked: { inNamespace: distorted === undefined } };
}

/**
 * A ticket that the operator got for something else is not for what runs unasked: sudo has to work without one. The
 * script runner has no terminal, and so no ticket.
 */
async function sudoDoubt(target: Target, judged: ShellJudgement): Promise<string | undefined> {
  if (target.transport.facts.uid === 0 || !runsSudo(judged)) return undefined;
  const { code } = await target.transport.run("sudo -n -k true >/dev/null 2>&1", { timeoutMs: 10_000 });
  return code === 0 ? undefined : "sudo needs a password, and commands that run unasked never use a sudo ticket";
}

function runsSudo({ commands }: ShellJudgement): boolean {
  return commands.some(({ words }) => /(?:^|\/)sudo$/.test(words[0] ?? ""));
}

/** Its files are those of this machine. */
export const isHere = (target: Target): boolean => target.transport.kind === "local" && target.isAdopted !== true;

/**
 * A link in a repository may lead to a file of keys. Followed on this machine only, where that costs nothing; what
 * find or a loop comes to is not.
 */
function linkDoubt(text: string, judged: ShellJudgement, cwd: string): string | undefined {
  for (const { word, path: written } of openedBy(text, judged, cwd))
    for (const path of matching(written)) {
      const real = realPath(path);
      if (real !== path && (holdsSecrets(real) || holdsSecretFiles(real)))
        return `${word} leads to ${real}, which contains secrets the model would see`;
      if (real !== path && isDeviceToRead(real)) return `${word} leads to ${real}, which is a device`;
      if (isPipe(real)) return `${word} is a pipe: what is read from it is gone for others`;
    }
  return undefined;
}

function isPipe(path: string): boolean {
  // These mean files of the process that looks.
  if (/^\/(?:dev|proc)\//.test(path)) return false;
  return statSync(withBytes(path), { throwIfNoEntry: false })?.isFIFO() === true;
}

/** Whatever the words of a text may name, from each directory that it enters. */
function openedBy(text: string, { commands }: ShellJudgement, cwd: string): { word: string; path: string }[] {
  const opened = commands.flatMap(({ words: [program = "", ...args] }) => (namesOnly(program) ? [] : args));
  const entered = commands.flatMap(({ words: [program, ...args] }) => (program === "cd" ? args : []));
  const bases = [cwd, ...entered.map((directory) => resolve(cwd, directory))];
  return [...opened, ...inputsOf(text)]
    .filter((word) => !/^-|\n/.test(word))
    .flatMap((word) => bases.map((base) => ({ word, path: resolve(base, word) })));
}

/**
 * The files that a text of this machine prints in another form: what is secret in them can be seen in the file, and
 * not any more in a column of it.
 */
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

/** Files that a text reads through a redirection. */
export function inputsOf(text: string): readonly string[] {
  return [...text.matchAll(/<\s*["']?([^\s<>&|;()"']+)/g)].map(([, file = ""]) => file);
}

/** The path, or the links that a pattern at its end may mean. */
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

/** Where it leads; a path that cannot be followed leads nowhere. */
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

/** What is known about repositories, for each connection; it holds as long as the fingerprint does. */
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

/** Kept only when the same answer comes again after the fingerprint: nothing changed between the two. */
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
    // Then it is looked up again the next time.
  }
}

async function ask(transport: Transport, cwd: string, script: string): Promise<string> {
  const { stdout } = await transport.run(`cd -- "$1" 2>/dev/null || exit 0\n${script}`, {
    args: [cwd],
    timeoutMs: 10_000,
  });
  return stdout.toString();
}
