/** /sudo: whether sudo works without a password in the target's shell, until when, and how to end that. */
import { BuddyError } from "../../lib/errors.ts";
import type { SudoState } from "../../ui/repl/host.ts";
import type { RunResult, Target } from "../../targets/target.ts";

/** A ticket belongs to a terminal or a shell: only a command in that shell can see it. */
export async function sudoState(target: Target): Promise<SudoState> {
  const { uid } = target.transport.facts;
  if (uid === 0) return { kind: "root" };
  const { code, stdout } = await target.transport.run(
    "command -v sudo >/dev/null || exit 1; LC_ALL=C sudo -V | head -n 1",
  );
  if (code !== 0) return { kind: "missing" };
  // Before 1.9.12, this check renews the ticket.
  const renews = !atLeast(stdout.toString(), 1, 9, 12);
  const look = `command sudo -n ${renews ? "" : "-N "}/bin/sh -c '${LOOK}' 2>/dev/null`;
  const free = "command sudo -n -k true >/dev/null 2>&1 && echo sudo-free";
  const said = await run(target, `${free} || ${look} || echo sudo-none`);
  if (/^sudo-free$/m.test(said)) return { kind: "free" };
  if (/^sudo-none$/m.test(said)) return { kind: "none" };
  const [, timeout, used, now] = /timeout: (-?[\d.]+) minutes.*?^(\d+) (\d+) sudo-alive$/ms.exec(said) ?? [];
  const minutes = Number(timeout);
  if (now === undefined || !(minutes > 0)) return { kind: "alive", renews };
  return { kind: "alive", renews, leftMs: Math.max(0, (Number(used) + minutes * 60 - Number(now)) * 1000) };
}

export async function dropSudo(target: Target): Promise<void> {
  if (target.transport.facts.uid === 0) return;
  await run(target, "command sudo -k");
}

/** As root: how long tickets last, when the user's was last used, and what time it is. */
const LOOK =
  'LC_ALL=C sudo -V | grep "timestamp timeout"; ' +
  'for f in /run/sudo/ts /var/run/sudo/ts /var/lib/sudo/ts /var/db/sudo/ts; do [ -e "$f/$SUDO_USER" ] && break; done; ' +
  'echo "$(stat -c %Y "$f/$SUDO_USER" 2>/dev/null || stat -f %m "$f/$SUDO_USER") $(date +%s) sudo-alive"';

const WAIT_MS = 10_000;

async function run(target: Target, command: string): Promise<string> {
  const ran = await target.shell.run(command, { waitMs: WAIT_MS, keep: 4000 });
  if (ran.outcome.kind !== "exited") throw unclear(ran);
  return ran.output.head + ran.output.tail;
}

function unclear({ outcome, notes }: RunResult): BuddyError {
  const why = outcome.kind === "lost" ? outcome.why : "the shell of the target is busy";
  return new BuddyError("usage", `cannot check sudo: ${why}`, {
    hint: notes[0] ?? "Try again when the command in the pane has ended.",
  });
}

function atLeast(version: string, ...wanted: readonly number[]): boolean {
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [];
  for (const [at, least] of wanted.entries()) if (found[at] !== least) return (found[at] ?? 0) > least;
  return true;
}
