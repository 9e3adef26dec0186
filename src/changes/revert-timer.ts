/**
 * A revert that waits on the target, in a process that outlives the connection and buddy: it runs after a time, unless it
 * is told before that the change stays.
 */
import { BuddyError } from "../lib/errors.ts";

export interface RevertPlan {
  /** sh that saves what is about to change, in a directory of its own; fails where that cannot be done. */
  readonly save: string;
  /** sh that puts it back. */
  readonly back: string;
  readonly seconds: number;
}

/** Runs sh as root on the target. What it runs must bear repeating: the connection may break off. */
export type RootRunner = (
  script: string,
  options: { readonly args: readonly string[]; readonly slow?: boolean; readonly signal?: AbortSignal },
) => Promise<{ readonly code: number; readonly stdout: Uint8Array; readonly stderr: string }>;

export type RevertState = "armed" | "kept" | "reverting" | "reverted" | "failed" | "gone";

export class RevertTimer {
  readonly #run: RootRunner;
  readonly #directory: string;
  /** When it fires at the latest, by the clock of this process. */
  readonly firesAt: number;

  private constructor(run: RootRunner, directory: string, firesAt: number) {
    this.#run = run;
    this.#directory = directory;
    this.firesAt = firesAt;
  }

  /** Saves what is about to change and starts the clock. Nothing has been changed when this throws. */
  static async arm(run: RootRunner, id: string, plan: RevertPlan): Promise<RevertTimer> {
    const firesAt = Date.now() + plan.seconds * 1000;
    const { code, stdout, stderr } = await run(ARM, { args: [id, String(plan.seconds), plan.save, plan.back] });
    const said = Buffer.from(stdout).toString().trim();
    if (code === 0) return new RevertTimer(run, said, firesAt);
    const why = `${said}\n${stderr}`.trim().split("\n").at(-1) ?? "";
    throw new BuddyError("target", `the revert cannot be prepared on the target: ${why || `exit code ${code}`}`, {
      hint: "Nothing was changed.",
    });
  }

  /** The change stays; `reverted` when the revert was faster. */
  keep(signal?: AbortSignal): Promise<RevertState> {
    return this.#ask(KEEP, signal);
  }

  /** Reverts now, and waits for its end. */
  fire(signal?: AbortSignal): Promise<RevertState> {
    return this.#ask(FIRE, signal);
  }

  state(signal?: AbortSignal): Promise<RevertState> {
    return this.#ask(STATE, signal);
  }

  /** What the revert printed. */
  async log(): Promise<string> {
    const { stdout } = await this.#run('tail -n 20 "$1/log" 2>/dev/null; :', { args: [this.#directory] });
    return Buffer.from(stdout).toString().trim();
  }

  /** Removes what is left of it on the target. */
  async clean(): Promise<void> {
    await this.#run('case $1 in */buddy-revert-*) rm -rf -- "$1" ;; esac', { args: [this.#directory] });
  }

  async #ask(script: string, signal: AbortSignal | undefined): Promise<RevertState> {
    const { stdout } = await this.#run(script, {
      args: [this.#directory],
      slow: true,
      ...(signal === undefined ? {} : { signal }),
    });
    const [word = ""] = Buffer.from(stdout).toString().trim().split(/\s+/);
    return STATES.has(word) ? (word as RevertState) : "gone";
  }
}

const STATES: ReadonlySet<string> = new Set(["armed", "kept", "reverting", "reverted", "failed"]);

/** In memory where possible: after a restart of the machine nothing may come back. */
const WAIT = `
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
cd "$1" || exit 1
trap '' HUP
echo $$ >pid
left=$2 nap=1
if sleep 0.2 2>/dev/null; then left=$((left * 5)) nap=0.2; fi
while [ "$left" -gt 0 ] && [ ! -d claim ]; do sleep $nap; left=$((left - 1)); done
if mkdir claim 2>/dev/null || [ -e now ]; then
  echo reverting >state
  if sh ./back >log 2>&1; then echo reverted >state; else echo failed >state; fi
fi
cd /
# Whoever armed it may still want to know what came of it, and then removes the directory.
left=3600
while [ -d "$1" ] && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
rm -rf -- "$1"
`;

/**
 * Arguments: id, seconds, what saves, what puts back. Prints the directory. systemd-run outlives a logout that ends all
 * processes of the user, but only in the namespaces of the machine itself.
 */
const ARM = `
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
if [ "$(id -u)" != 0 ]; then echo "it takes root"; exit 1; fi
d=
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -s "$b/buddy-revert-$1/pid" ]; then printf %s "$b/buddy-revert-$1"; exit 0; fi
done
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -d "$b" ] && mkdir "$b/buddy-revert-$1" 2>/dev/null; then d=$b/buddy-revert-$1; break; fi
done
if [ -z "$d" ]; then echo "no directory can be written"; exit 1; fi
cd "$d" || exit 1
printf '%s\\n' "$3" >save
if ! sh ./save >log 2>&1; then tail -n 3 log; cd /; rm -rf "$d"; exit 1; fi
printf '%s\\n' "$4" >back
cat >wait <<'WAIT_END'
${WAIT}
WAIT_END
echo armed >state
started=
same() { [ "$(readlink /proc/self/ns/$1)" = "$(readlink /proc/1/ns/$1)" ]; }
if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1 && same net && same mnt && same pid; then
  systemd-run --quiet --collect --unit="buddy-revert-$1" /bin/sh "$d/wait" "$d" "$2" </dev/null >/dev/null 2>&1 && started=1
fi
if [ -z "$started" ]; then
  if command -v setsid >/dev/null 2>&1; then setsid sh "$d/wait" "$d" "$2" </dev/null >/dev/null 2>&1 &
  else ( trap '' HUP; exec sh "$d/wait" "$d" "$2" ) </dev/null >/dev/null 2>&1 & fi
fi
n=0
while [ ! -s pid ] && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1 2>/dev/null || sleep 1; done
if [ ! -s pid ]; then echo "no process could be started"; cd /; rm -rf "$d"; exit 1; fi
printf %s "$d"
`;

/** One of two claims it: the one who keeps, or the clock. */
const KEEP = `
cd "$1" 2>/dev/null || { echo gone; exit 0; }
if [ -e kept ]; then echo kept; exit 0; fi
if mkdir claim 2>/dev/null; then : >kept; echo kept >state; echo kept; exit 0; fi
while :; do case $(cat state) in armed | reverting) sleep 1 ;; *) break ;; esac; done
cat state
`;

const FIRE = `
cd "$1" 2>/dev/null || { echo gone; exit 0; }
if [ ! -e kept ]; then : >now; mkdir claim 2>/dev/null; fi
n=0
while :; do
  case $(cat state) in armed | reverting) ;; *) break ;; esac
  n=$((n + 1))
  if [ $n -gt 60 ]; then break; fi
  if [ $n -gt 20 ] || ! sleep 0.2 2>/dev/null; then sleep 1; fi
done
cat state
`;

const STATE = `cat "$1/state" 2>/dev/null || echo gone`;
