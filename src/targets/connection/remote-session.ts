/**
 * What buddy keeps on a remote machine while it works there: one runner that ends what was started, others for scripts.
 */
import { Channel } from "./script-runners.ts";
import { FACTS_SCRIPT, parseFacts } from "./identity.ts";
import { PING, RUNNER_ARGV, RUNNER_SCRIPT, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { remoteProcess, type ProcessEnder } from "./remote-process.ts";
import type {
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  SpawnOptions,
  NamespaceStart,
  SessionTexts,
} from "../target.ts";
import { quote } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";
import { BuddyError } from "../../lib/errors.ts";
import { randomBytes } from "node:crypto";
import { lean, quoteOnOneLine } from "../loader.ts";
import { DEFAULT_SIGNALS, LOADED, STAND } from "../read-only/standing-shell.ts";

interface RemoteSessionOptions {
  readonly label: string;
  /**
   * Starts LOADER on the target through a client, with the client's stdio. `needed`: nothing else can do its work, so
   * it may take a connection of its own.
   */
  readonly client: (needed: boolean) => Process;
  /** The client of the guard, where it was started with the connection. */
  readonly first?: Process;
  /** Directory to work in; "" = where a login starts. */
  readonly cwd: string;
  /** After a reconnect: the directory may have gone meanwhile. */
  readonly again?: boolean;
  readonly timeoutMs: number;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  readonly signal?: AbortSignal;
  /** Clients that find their own way there might end up elsewhere: each must be on the machine of the first. */
  readonly checkMachine?: "always" | "when-needed";
}

/** What a client says that reached another machine than the first. */
export const OTHER_MACHINE = "buddy: this is another machine than before";

const CLOSE_MS = 2000;

export class RemoteSession {
  readonly facts: MachineFacts;
  /** Why the guard ended; it ends with the connection. */
  readonly lost: Promise<string>;
  readonly #options: RemoteSessionOptions;
  readonly #remoteGuard: ScriptRunner;
  readonly #channel: Channel;
  readonly #ender: ProcessEnder;
  #own: OwnSession | undefined;
  #warmed = false;
  readonly #abandoned = Promise.withResolvers<void>();

  private constructor(
    options: RemoteSessionOptions,
    remoteGuard: ScriptRunner,
    facts: MachineFacts,
    directory: string,
  ) {
    this.#options = options;
    this.#remoteGuard = remoteGuard;
    this.facts = facts;
    this.lost = remoteGuard.ended;
    this.#ender = {
      directory,
      watch: (group, isClient) => remoteGuard.tell(`${isClient ? "watchclient" : "watch"} ${group}`),
      unwatch: (group) => remoteGuard.tell(`unwatch ${group}`),
      signal: (group, signal) =>
        remoteGuard.tell(
          signal === "LATER-KILL"
            ? `(sleep 1; kill -KILL -${group}) </dev/null >/dev/null 2>&1 &`
            : `kill -${signal} -${group} 2>/dev/null || kill -${signal} ${group} 2>/dev/null`,
        ),
    };
    // Where there is no session for a script runner, the guard runs its scripts.
    const spawn = (argv: readonly string[], more?: SpawnOptions) =>
      this.#spawn(argv, { ...more, isClient: true }, false);
    const { label, frugal = false } = options;
    this.#channel = new Channel({ label, shared: remoteGuard, spawn, frugal });
  }

  static async open(options: RemoteSessionOptions): Promise<RemoteSession> {
    const remoteGuard = new ScriptRunner(
      remoteProcess(options.first ?? options.client(false), RUNNER_ARGV, { script: RUNNER_SCRIPT }, undefined),
    );
    remoteGuard.tell("makedirectory");
    try {
      const asked = remoteGuard.run(FACTS_SCRIPT, [
        options.cwd,
        options.again ? "again" : "",
        options.frugal ? "later" : "",
      ]);
      const answer = await within(asked, options.timeoutMs, options.signal);
      if (answer === undefined) throw new NoAnswer("target", `no answer within ${options.timeoutMs / 1000} s`);
      const { directory, leads, ...facts } = parseFacts(answer, options.label, options.cwd);
      const remoteSession = new RemoteSession(options, remoteGuard, facts, directory);
      if (options.frugal === true && directory !== "" && leads) remoteSession.#own = new OwnSession(remoteGuard);
      return remoteSession;
    } catch (error) {
      remoteGuard.destroy(new ScriptRunnerLost("given up"));
      throw error;
    }
  }

  get alive(): boolean {
    return this.#remoteGuard.alive;
  }

  /** What the guard's own session can do without a further one; undefined where it cannot. */
  get own(): OwnSession | undefined {
    return this.alive ? this.#own : undefined;
  }

  spawn(argv: readonly string[], options: SpawnOptions = {}): Process {
    return this.#spawn(argv, options, true);
  }

  #spawn(argv: readonly string[], options: SpawnOptions, needed: boolean): Process {
    options.signal?.throwIfAborted();
    const { checkMachine } = this.#options;
    const isChecked = checkMachine === "always" || (checkMachine === "when-needed" && needed);
    const check = isChecked ? { check: sameMachine(this.facts) } : {};
    const more = { ...options, softCwd: this.facts.cwd, ...check };
    const process = remoteProcess(this.#options.client(needed), argv, more, this.#ender);
    // It may mount something.
    this.#own?.watch();
    // The shell comes first: where the sshd allows only two sessions, scripts can do without one of their own.
    if (!this.#warmed && options.isClient !== true) {
      this.#warmed = true;
      process.pid.then(() => this.#channel.warm()).catch(() => {});
    }
    return process;
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.#channel.run(script, options);
  }

  /** A real answer from the target: a master process would report no problem while the connection is dead. */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.alive) return false;
    try {
      return (await within(this.#remoteGuard.run(PING), timeoutMs, signal)) !== undefined;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  /** The connection is dead: nothing reaches the other side any more, it cleans up by itself. */
  abandon(why: string): void {
    this.#channel.reset(why);
    this.#remoteGuard.destroy(new ScriptRunnerLost(why));
    this.#abandoned.resolve();
  }

  /** Ends everything started there and waits until that is done. */
  async close(): Promise<void> {
    this.#channel.close();
    this.#remoteGuard.close();
    // The guard's pipes are open in the ssh master too: given up, it ends only after that.
    const over = Promise.race([this.#remoteGuard.ended, this.#abandoned.promise]).then(() => true);
    if ((await within(over, CLOSE_MS)) === undefined) this.abandon("closed");
  }
}

function sameMachine({ uid, host, machine }: MachineFacts): string {
  return `
m=; if [ -r /etc/machine-id ]; then read -r m </etc/machine-id; fi
if [ "$(uname -n)" = ${quote(host)} ] && [ "$(id -u)" = ${uid} ] && { [ -z "$m" ] || [ "$m" = ${quote(machine)} ]; }
then unset m; else echo ${quote(OTHER_MACHINE)} >&2; exit 72; fi`;
}

/** Nothing came back in time. */
export class NoAnswer extends BuddyError {}

// What the session of the guard does besides, for one of many machines: it holds the read-only namespace and runs what
// no one was asked about, in a clean shell that stays there. So such a machine needs one ssh process here and one
// session there until something is asked about.

/**
 * In the guard: `text TAG DIRECTORY SCRIPT` runs the script in parallel to the loop and marks its end like a direct
 * shell; `ask TAG TEXT` has the clean shell run a text, or says that it was not taken. One process that stays, R, waits
 * for the answers of that shell: none is started for a text. D is the directory of records, T the process of the last
 * text or A its tag, J the mark of everything they start, Y the key. 6 holds the namespace; nothing else may.
 */
const TEXTS = lean(`
marks() {
  case $2 in *[![:print:]]* | *%*)
    set -- "$1" "$(printf %s "$2" | { od -An -v -tx1 || cat; } 2>/dev/null | tr -d '\\n' | tr ' ' %)" "$3" ;;
  esac
  printf '\\033]7771;%s;E;%s;%s\\a' "$3" "$c" "$1" >&2
  printf '\\033]7771;%s;P;0;%s;%s;%s\\a' "$3" "$c" "$1" "$2"
}
text() {
  ended
  (
    exec 6>&- 7>&-
    __buddy_last=$D/dir __buddy_tag=$1 __buddy_key=$Y __buddy_text=$3
    export TERM=dumb PAGER=cat GIT_PAGER=cat BUDDY_JOB="$J"
    if cd -- "$2" 2>/dev/null; then eval "$__buddy_text"; else printf '%s\\n' "cd: $2: no such directory" >&2; (exit 126); fi
    c=$?
    marks "$__buddy_tag" "$PWD" "$__buddy_key"
  ) </dev/null &
  T=$! B=1
}
answer() {
  exec </dev/null 6>&- 7>&-
  while IFS= read -r t <&4; do
    exec 3<>"$D/codes"
    c=
    if [ ! -e "$D/gone" ]; then IFS= read -r c <&3; fi
    if [ "$c" = taken ]; then
      # What it has taken is not run again, whatever became of it.
      IFS= read -r c <&3
      case $c in '' | *[!0-9]*) c=137 ;; esac
      marks "$t" "" "$Y"
    else printf '\\033]7771;%s;I\\a' "$Y"; fi
    printf '%s\\n' "$t" >&5
  done
}
[ -z "$R" ] || kill "$R" 2>/dev/null
R= A=
ask() {
  ended
  if [ -z "$R" ]; then
    exec 4<>"$D/asks" 5<>"$D/answered"
    answer &
    R=$! B=1
    exec 4>&- 5>&-
  fi
  [ -e "$D/gone" ] || printf '%s\\0' "$2" 1<>"$D/texts"
  A=$1
  printf '%s\\n' "$1" 1<>"$D/asks"
}
ended() {
  [ -z "$T" ] || wait "$T"
  while [ -n "$A" ]; do IFS= read -r a <>"$D/answered"; [ "$a" != "$A" ] || A=; done
}
running() {
  if [ -n "$T" ] && kill -0 "$T"; then return; fi
  [ -n "$A" ] || return
  echo 0 1<>"$D/answered"
  until IFS= read -r a <>"$D/answered"; [ "$a" = 0 ]; do [ "$a" != "$A" ] || A=; done
  [ -n "$A" ]
}`);

/**
 * `open_namespace WORDS` makes the namespace as `how` says, with the clean shell in it behind those words, and sets
 * its pid and start; `serve "PID START" WORDS` starts another one with words that enter a namespace. Both wait until
 * it is there. 8 and 9 are stdout and stderr of the session. S is its bash, W its directory. Its end is reported to
 * whoever waits for it. The mark is for that shell alone: what holds the namespace must outlive a text that is stopped.
 */
const SERVE = lean(`
served() {
  exec 5<>"$D/texts" 6>&3 2>/dev/null 7>&-
  printf %s ${quote(STAND)} >"$D/stand"
  export TERM=dumb
  "$@" 3<"$D/stand"
  : >"$D/gone"
  echo gone >&6
}
open_namespace() {
  if [ -z "$S" ] || [ -e "$D/gone" ]; then return 1; fi
  exec 3<>"$D/codes"
  set -- ${DEFAULT_SIGNALS} BUDDY_JOB="$J" "$@" "$S" ${LOADED} bash "$W" "$D/process" "$D/probe"
  served unshare $how sh "$dir/namespace.sh" "$dir/fstab" "\${how##*propagation }" "$@" <&4 >"$dir/made" &
  said=; read -r said pid start <"$dir/made"
  IFS= read -r s <&3; exec 3>&-
  if [ "$s" = ready ]; then ready=stands; fi
  [ "$said" = made ]
}
serve() {
  [ -n "$S" ] || return 1
  if [ -e "$D/gone" ]; then rm -f "$D/gone" "$D/texts" "$D/codes"; fi
  [ -p "$D/texts" ] || mkfifo "$D/texts" "$D/codes" || return 1
  s=$1; shift
  exec 3<>"$D/codes"
  set -- ${DEFAULT_SIGNALS} BUDDY_JOB="$J" "$@" "$S" ${LOADED} bash "$W" "$D/process" "$D/probe" "$s"
  served "$@" </dev/null >&8 4>&- 8>&- &
  IFS= read -r s <&3; exec 3>&-
  [ "$s" = ready ]
}`);

/** All pipes at once: each program counts. */
const PIPES = ["alive", "said", "made", "go", "texts", "codes", "asks", "answered"].reduce(
  (line, one) => `${line} "$D/${one}"`,
  "mkfifo",
);

/** $1 script, $2 its argument. It runs until the guard ends; its first line is the answer. */
const BESIDE = `
[ -p "$D/said" ] || exit 1
( script=$1; set -- "$2" "$D"; eval "$script" ) 8>&1 9>&2 <"$D/alive" >"$D/said" 2>/dev/null 6>&- &
IFS= read -r line <"$D/said"
printf '%s\\n' "$line"`;

class OwnSession implements SessionTexts {
  readonly job = randomBytes(8).toString("hex");
  readonly key = randomBytes(16).toString("hex");
  readonly #guard: ScriptRunner;
  #stands: { readonly cwd: string } | undefined;
  #started = false;
  #watching = false;

  constructor(guard: ScriptRunner) {
    this.#guard = guard;
  }

  texts(): Process {
    this.#guard.tell(`J=${this.job} Y=${this.key}; eval ${quoteOnOneLine(TEXTS)}`);
    return this.#guard.lend();
  }

  get stands(): boolean {
    return this.#stands !== undefined;
  }

  line(script: string, tag: number, cwd: string): string {
    return `text ${tag} ${[cwd, script].map(quoteOnOneLine).join(" ")}\n`;
  }

  question(text: string, tag: number, cwd: string): string {
    const there = cwd === this.#stands?.cwd ? "" : `cd -- ${quote(cwd)} || exit 126; `;
    return `ask ${tag} ${quoteOnOneLine(there + text)}\n`;
  }

  async start({ script, directory, bash, cwd }: NamespaceStart): Promise<string> {
    const values = `S=${quoteOnOneLine(bash)} W=${quoteOnOneLine(cwd)} J=${this.job}`;
    this.#guard.tell(`${values}; eval ${quoteOnOneLine(SERVE)}; ${PIPES} && exec 6<>"$D/alive" 7<>"$D/go"; B=1`);
    this.#started = true;
    if (this.#watching) this.#guard.tell("echo >&7");
    const { stdout } = await this.#guard.run(BESIDE, [script, directory]);
    const line = stdout.toString().trimEnd();
    if (!line.startsWith("stands\t")) return line;
    this.#stands = { cwd };
    return line.replace("stands", "ready");
  }

  watch(): void {
    if (this.#started && !this.#watching) this.#guard.tell("echo >&7");
    this.#watching = true;
  }

  serveAgain(look: string, enter: string): void {
    const again = `${look} && serve "$__buddy_pid $__buddy_since" ${enter}`;
    this.#guard.tell(`( eval ${quoteOnOneLine(again)} ) 8>&1 9>&2 </dev/null 6>&-`);
  }

  /** What was stopped and does not end is not awaited. */
  forget(): void {
    this.#guard.tell("T= A=");
  }
}
