/**
 * A revert that waits on the target, in a process that outlives the connection and buddy: it runs after a time, unless
 * the operator keeps the change before that.
 */
import { BuddyError } from "../lib/errors.ts";

export interface RevertPlan {
  /** sh that saves what is about to change, in its own directory; fails if that is impossible. */
  readonly save: string;
  /** sh that restores it. */
  readonly back: string;
  readonly seconds: number;
  /** False when only files of the user are restored. */
  readonly asRoot: boolean;
}

/** Runs sh on the target. The script may run twice: the connection may drop. */
export type ScriptOnTarget = (
  script: string,
  options: { readonly args: readonly string[]; readonly slow?: boolean; readonly signal?: AbortSignal },
) => Promise<{ readonly code: number; readonly stdout: Uint8Array; readonly stderr: string }>;

export type RevertState = "armed" | "kept" | "reverting" | "reverted" | "failed" | "gone";

export class RevertTimer {
  readonly #run: ScriptOnTarget;
  readonly #directory: string;
  readonly #ms: number;
  #firesAt: number;

  private constructor(run: ScriptOnTarget, directory: string, ms: number) {
    this.#run = run;
    this.#directory = directory;
    this.#ms = ms;
    this.#firesAt = Date.now() + ms;
  }

  /** The time at which it fires, by the clock of this process. */
  get firesAt(): number {
    return this.#firesAt;
  }

  /**
   * Saves what is about to change and starts the clock; throws if it cannot. `root` runs scripts as root, `run` as the
   * user; only arming needs root.
   */
  static async arm(
    { run, root }: { readonly run: ScriptOnTarget; readonly root: ScriptOnTarget },
    id: string,
    { seconds, save, back, asRoot }: RevertPlan,
  ): Promise<RevertTimer> {
    const args = [id, String(seconds), save, back, asRoot ? "root" : "user"];
    const { code, stdout, stderr } = await (asRoot ? root : run)(ARM, { args });
    const said = Buffer.from(stdout).toString().trim();
    if (code === 0) return new RevertTimer(run, said, seconds * 1000);
    const why = `${said}\n${stderr}`.trim().split("\n").at(-1) ?? "";
    throw new BuddyError("target", `the revert cannot be prepared on the target: ${why || `exit code ${code}`}`, {
      hint: "Nothing was changed.",
    });
  }

  /** Keeps the change; `reverted` when the revert was faster. */
  keep(): Promise<RevertState> {
    return this.#ask(KEEP);
  }

  /** Starts its time anew; false: it has fired, or does not answer. */
  async extend(signal: AbortSignal): Promise<boolean> {
    const asked = Date.now();
    if ((await this.#ask(EXTEND, signal)) !== "armed") return false;
    this.#firesAt = asked + this.#ms;
    return true;
  }

  /** Reverts now, and waits until that is done; once more, if it has reverted before. */
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

  /** Removes its files on the target. */
  async clean(): Promise<void> {
    await this.#run('if [ -d "$1/answer" ]; then : >"$1/answer/done"; fi', { args: [this.#directory] });
  }

  async #ask(script: string, signal?: AbortSignal): Promise<RevertState> {
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

/** Arguments: its directory, seconds. Whichever creates answer/claim first decides: the operator or the clock. */
const WAIT = `
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
cd "$1" || exit 1
trap '' HUP
say() { echo "$1" >state.new && chmod 644 state.new && mv -f state.new state; }
echo $$ >pid
revert() {
  say reverting
  rm -f answer/now
  if sh ./back >log 2>&1; then say reverted; else chmod 644 log; say failed; fi
}
all=$2 nap=1
if sleep 0.2 2>/dev/null; then all=$((all * 5)) nap=0.2; fi
left=$all
while [ "$left" -gt 0 ] && [ ! -d answer/claim ]; do
  if [ -e answer/more ]; then left=$all; rm -f answer/more; fi
  sleep $nap
  left=$((left - 1))
done
if mkdir answer/claim 2>/dev/null || [ -e answer/now ]; then revert; else say kept; fi
# buddy may still ask for the outcome, or to revert once more.
left=18000
if [ $nap = 1 ]; then left=3600; fi
while [ -d "$1/answer" ] && [ ! -e answer/done ] && [ "$left" -gt 0 ]; do
  if [ -e answer/now ]; then revert; fi
  sleep $nap
  left=$((left - 1))
done
cd / && rm -rf -- "$1"
`;

/**
 * Arguments: id, seconds, the script that saves, the script that restores, "root" or "user". Prints the directory,
 * which is in memory where possible: a revert must not survive a reboot. The logged-in user owns `answer`, so that
 * keeping needs no sudo. A unit of systemd-run outlives a logout that ends all processes of the user; it is used only
 * in the namespaces of the machine itself.
 */
const ARM = `
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
if [ "$5" = root ] && [ "$(id -u)" != 0 ]; then echo "this needs root"; exit 1; fi
d=
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -s "$b/buddy-revert-$1/pid" ]; then printf %s "$b/buddy-revert-$1"; exit 0; fi
done
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -d "$b" ] && mkdir "$b/buddy-revert-$1" 2>/dev/null; then d=$b/buddy-revert-$1; break; fi
done
if [ -z "$d" ]; then echo "none of /run, /dev/shm, /var/tmp and /tmp can be written"; exit 1; fi
cd "$d" && mkdir answer || exit 1
if [ "$(id -u)" = 0 ]; then chmod 711 "$d" && chown "\${SUDO_UID:-0}" answer || exit 1; fi
printf '%s\\n' "$3" >save
if ! sh ./save >log 2>&1; then tail -n 3 log; cd /; rm -rf "$d"; exit 1; fi
printf '%s\\n' "$4" >back
cat >wait <<'WAIT_END'
${WAIT}
WAIT_END
echo armed >state; chmod 644 state
started=
same() { [ "$(readlink /proc/self/ns/$1)" = "$(readlink /proc/1/ns/$1)" ]; }
if [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1 && same net && same mnt && same pid; then
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

/** Prints the state once it is decided. */
const DECIDED = `
n=0
while :; do
  case $(cat state 2>/dev/null) in armed | reverting) ;; *) break ;; esac
  n=$((n + 1))
  if [ $n -gt 60 ]; then break; fi
  if [ $n -gt 20 ] || ! sleep 0.2 2>/dev/null; then sleep 1; fi
done
cat state 2>/dev/null || echo gone
`;

const KEEP = `
cd "$1" 2>/dev/null || { echo gone; exit 0; }
mkdir answer/claim 2>/dev/null
${DECIDED}`;

const FIRE = `
cd "$1" 2>/dev/null || { echo gone; exit 0; }
: >answer/now; mkdir answer/claim 2>/dev/null
n=0
while [ -e answer/now ] && [ $n -lt 60 ]; do n=$((n + 1)); sleep 0.2 2>/dev/null || sleep 1; done
if [ -e answer/now ]; then echo gone; exit 0; fi
${DECIDED}`;

/** Its time is extended only once the process that waits has seen it. */
const EXTEND = `
cd "$1" 2>/dev/null || { echo gone; exit 0; }
: >answer/more
n=0
while [ -e answer/more ] && [ $n -lt 10 ] && [ ! -d answer/claim ]; do
  n=$((n + 1))
  sleep 0.1 2>/dev/null || sleep 1
done
if [ -e answer/more ]; then echo gone; exit 0; fi
cat state 2>/dev/null || echo gone
`;

const STATE = `cat "$1/state" 2>/dev/null || echo gone`;
