/**
 * How a text that only reads runs without a question: which locks hold for it, and what must be looked up on the
 * target first.
 */
import { unlessAborted } from "../lib/waiting.ts";
import { distortedInRoom } from "../policy/shell/distorted-in-room.ts";
import {
  gitFingerprintScript,
  gitRepositoryScript,
  readGitRepository,
} from "../policy/shell/read-only/git-repository.ts";
import type { Condition, ShellJudgement } from "../policy/verdict.ts";
import type { SecondLock, Target, Transport, Unasked } from "../targets/target.ts";

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
  const doubt = (await sudoDoubt(target, judged)) ?? (await conditionDoubt(target.transport, judged.conditions, cwd));
  if (doubt !== undefined) return { ask: doubt };
  const required = lock === "required";
  // The lock holds from the first command on: it is made while the model thinks, so that this hardly ever waits.
  const room = await unlessAborted(signal, target.locks.settled);
  if (required && room.kind === "none") return { ask: `second_lock is required, and the target has none: ${room.why}` };
  const distorted = distortedInRoom(text, judged, room.kind === "ready" && room.owners);
  if (required && distorted !== undefined) return { ask: `second_lock is required, but ${distorted}` };
  return { unasked: { inRoom: distorted === undefined } };
}

/**
 * A ticket that the operator got for something else is not for what runs unasked: sudo has to work without one. The
 * script runner has no terminal, and so no ticket.
 */
async function sudoDoubt(target: Target, judged: ShellJudgement): Promise<string | undefined> {
  if (target.transport.facts.uid === 0 || !runsSudo(judged)) return undefined;
  const { code } = await target.transport.run("sudo -n -k true >/dev/null 2>&1", { timeoutMs: 10_000 });
  return code === 0 ? undefined : "sudo needs a password, and what runs without a question uses no sudo ticket";
}

function runsSudo({ commands }: ShellJudgement): boolean {
  return commands.some(({ words }) => /(?:^|\/)sudo$/.test(words[0] ?? ""));
}

interface Known {
  readonly doubt: string | undefined;
  readonly files: readonly string[];
  readonly fingerprint: string;
}

/** What is known of repositories, for each connection; it holds as long as the fingerprint does. */
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
