/** What buddy runs on a remote machine while it works there: a guard that ends what was started, and script runners. */
import { ScriptRunners } from "./script-runners.ts";
import { FACTS_SCRIPT, parseFacts } from "./identity.ts";
import { PING, RUNNER_ARGV, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { remoteProcess, type ProcessEnder, unlessRefused } from "./remote-process.ts";
import type {
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  SpawnOptions,
  LentProcess,
  NamespaceStart,
  GuardShell,
} from "../target.ts";
import { quote, ABSOLUTE_PATH } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";
import { BuddyError } from "../../lib/errors.ts";
import { randomBytes } from "node:crypto";
import { lean, quoteOnOneLine } from "../script-line.ts";
import { DEFAULT_SIGNALS, LOADED, NAMESPACE, STAND } from "../read-only/standing-shell.ts";

interface RemoteSessionOptions {
  readonly label: string;
  /**
   * Starts LOADER on the target through a client, with the client's stdio. `needed`: nothing can replace it, so it may
   * open a connection of its own.
   */
  readonly client: (needed: boolean) => Process;
  /** The client of the guard, if it was started with the connection. */
  readonly first?: Process | undefined;
  /** Directory to work in; "" = where a login starts. */
  readonly cwd: string;
  /** After a reconnect: the directory may be missing. */
  readonly again?: boolean;
  readonly timeoutMs: number;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  /** A process follows at once: its client starts together with that of the guard, which saves two round trips. */
  readonly ahead?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Clients that connect by themselves might reach another machine than the first: whether each is checked. */
  readonly checkMachine?: "always" | "when-needed";
}

/** Printed by a client that reached another machine than the first. */
export const OTHER_MACHINE = "buddy: this is a different machine than before";

const CLOSE_MS = 2000;
const LAST_WORDS_MS = 500;

export class RemoteSession {
  readonly facts: MachineFacts;
  readonly #options: RemoteSessionOptions;
  readonly #guard: ScriptRunner;
  readonly #runners: ScriptRunners;
  readonly #ender: ProcessEnder;
  /** For the next process that is needed. */
  #spare: Process | undefined;
  #guardShell: RemoteGuardShell | undefined;
  readonly #abandoned = Promise.withResolvers<void>();

  private constructor(options: RemoteSessionOptions, guard: ScriptRunner, facts: MachineFacts, directory: string) {
    this.#options = options;
    this.#guard = guard;
    this.facts = facts;
    this.#ender = {
      directory,
      watch: (group, isClient) => guard.tell(`${isClient ? "watchclient" : "watch"} ${group}`),
      unwatch: (group) => guard.tell(`unwatch ${group}`),
      signal: (group, signal) =>
        guard.tell(
          signal === "LATER-KILL"
            ? `(sleep 1; kill -KILL -${group}) </dev/null >/dev/null 2>&1 &`
            : `kill -${signal} -${group} 2>/dev/null || kill -${signal} ${group} 2>/dev/null`,
        ),
    };
    const spawn = (argv: readonly string[], more?: SpawnOptions) =>
      this.#spawn(argv, { ...more, isClient: true }, false);
    const { label, frugal = false } = options;
    this.#runners = new ScriptRunners({ label, shared: guard, spawn, frugal });
  }

  static async open(options: RemoteSessionOptions): Promise<RemoteSession> {
    const started = options.first ?? options.client(false);
    let spare = options.ahead === true ? options.client(true) : undefined;
    // If there is only one session, either of the two may have got it.
    const other = (): Process => {
      const taken = spare;
      spare = undefined;
      return taken!;
    };
    const client = spare === undefined ? started : unlessRefused(started, other);
    const { runner: guard, answer: asked } = ScriptRunner.begin(
      (script) => remoteProcess(client, RUNNER_ARGV, { script }, undefined),
      {
        before: "makedirectory",
        script: FACTS_SCRIPT,
        args: [options.cwd, options.again ? "again" : "", options.frugal ? "later" : ""],
        behind: GUARD_SHELL,
      },
    );
    try {
      const answer = await within(asked, options.timeoutMs, options.signal);
      if (answer === undefined) throw new NoAnswer("target", `no answer within ${options.timeoutMs / 1000} s`);
      const { directory, leads, ...facts } = parseFacts(answer, options.label, options.cwd);
      const remoteSession = new RemoteSession(options, guard, facts, directory);
      if (directory !== "" && leads) remoteSession.#guardShell = new RemoteGuardShell(guard);
      remoteSession.#spare = spare;
      return remoteSession;
    } catch (error) {
      guard.destroy(new ScriptRunnerLost("given up"));
      spare?.kill();
      if (!(error instanceof NoAnswer)) throw error;
      const printed = (await within(guard.ended, LAST_WORDS_MS))?.split("\n").at(-1) ?? "";
      throw printed === "" ? error : new NoAnswer("target", `${error.message}, but it printed: ${printed}`);
    }
  }

  get alive(): boolean {
    return this.#guard.alive;
  }

  /** What the guard's session can do without a further one; undefined if nothing. */
  get guardShell(): RemoteGuardShell | undefined {
    return this.alive ? this.#guardShell : undefined;
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
    const spare = needed ? this.#spare : undefined;
    if (needed) this.#spare = undefined;
    const process = remoteProcess(spare ?? this.#options.client(needed), argv, more, this.#ender);
    // The process may mount something.
    this.#guardShell?.watch();
    return process;
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.#runners.run(script, options);
  }

  /** A real answer from the target: an ssh master reports no problem while the connection is dead. */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.alive) return false;
    try {
      return (await within(this.#guard.run(PING), timeoutMs, signal)) !== undefined;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  /** The connection is dead: the remote side cleans up by itself. */
  abandon(why: string): void {
    this.#runners.reset(why);
    this.#spare?.kill();
    this.#guard.destroy(new ScriptRunnerLost(why));
    this.#abandoned.resolve();
  }

  /** Ends everything started there and waits until that is done. */
  async close(): Promise<void> {
    this.#runners.close();
    this.#spare?.stdin.end();
    this.#guard.close();
    // The ssh master also holds the guard's pipes open, so an abandoned guard ends only after the master.
    const over = Promise.race([this.#guard.ended, this.#abandoned.promise]).then(() => true);
    if ((await within(over, CLOSE_MS)) === undefined) this.abandon("closed");
  }
}

function sameMachine({ uid, host, machine }: MachineFacts): string {
  return `
m=; if [ -r /etc/machine-id ]; then read -r m </etc/machine-id; fi
if [ "$(uname -n)" = ${quote(host)} ] && [ "$(id -u)" = ${uid} ] && { [ -z "$m" ] || [ "$m" = ${quote(machine)} ]; }
then unset m; else echo ${quote(OTHER_MACHINE)} >&2; exit 72; fi`;
}

/** No answer came in time. */
export class NoAnswer extends BuddyError {}

// ── What the guard's session also does: it holds the read-only namespace. For one of many machines it also runs
// commands that need no approval, in a clean shell that stays: until a command needs approval, such a machine costs
// one local ssh process and one session.

/**
 * In the guard: `text TAG DIRECTORY SCRIPT` runs the script in parallel to the loop and marks its end like a direct
 * shell; `ask TAG TEXT` has the clean shell run a text, or reports that it was not taken. R is a process that stays and
 * waits for the answers of that shell, so none is started per text. D is the directory of records, T the process of
 * the last text or A its tag, J the mark of everything they start, Y the key. 6 keeps the namespace alive, so nothing
 * else may inherit it.
 */
const TEXTS = `
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
  while IFS= read -r t <&4 && [ -n "$t" ]; do
    exec 3<>"$D/codes"
    c=
    if [ ! -e "$D/gone" ]; then IFS= read -r c <&3; fi
    if [ "$c" = taken ]; then
      # What it has taken is never run again.
      IFS= read -r c <&3
      case $c in '' | *[!0-9]*) c=137 ;; esac
      marks "$t" "" "$Y"
    else printf '\\033]7771;%s;I\\a' "$Y"; fi
    printf '%s\\n' "$t" >&5
  done
}
texts() {
  J=$1 Y=$2
  [ -z "$R" ] || kill "$R" 2>/dev/null
  R= A=
}
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
}`;

/**
 * `open_namespace WORDS` makes the namespace as `how` says, starts the clean shell in it with those words, and sets its
 * pid and start; `serve "PID START" WORDS` starts another one with words that enter a namespace. Both wait until it is
 * ready. 8 and 9 are stdout and stderr of the session. S is its bash, W its directory. Only that shell gets the mark
 * J: the process that holds the namespace must survive a text that is stopped.
 */
const SERVE = `
served() {
  ${ABSOLUTE_PATH}
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
}`;

/** All pipes in one call of mkfifo. */
const PIPES = ["alive", "said", "made", "go", "texts", "codes", "asks", "answered"]
  .map((one) => `"$D/${one}"`)
  .join(" ");

/**
 * `beside TOKEN BASH CWD JOB WATCHED`: makes the namespace and holds it in parallel to the loop until the guard ends;
 * prints the token and the line that the namespace script prints, when it does.
 */
const BESIDE = `
namespace() {
${NAMESPACE}
}
beside() {
  S=$2 W=$3 J=$4 B=1 line=
  if mkfifo ${PIPES} 2>/dev/null && exec 6<>"$D/alive" 7<>"$D/go"; then
    [ -z "$5" ] || echo >&7
    ( namespace "" "$D" ) 8>&1 9>&2 <"$D/alive" >"$D/said" 2>/dev/null 6>&- &
    { IFS= read -r line <"$D/said"; printf '%s %s\\n' "$1" "$line"; } </dev/null 6>&- 7>&- &
  else printf '%s none\\tits pipes cannot be made\\n' "$1"; fi
}`;

/** Definitions for the guard. */
export const GUARD_SHELL = lean(`${TEXTS}\n${SERVE}\n${BESIDE}\n`);

export class RemoteGuardShell implements GuardShell {
  readonly job = randomBytes(8).toString("hex");
  readonly key = randomBytes(16).toString("hex");
  readonly #guard: ScriptRunner;
  #stands: { readonly cwd: string } | undefined;
  #started = false;
  #watching = false;

  constructor(guard: ScriptRunner) {
    this.#guard = guard;
  }

  texts(): LentProcess {
    this.#guard.tell(`texts ${this.job} ${this.key}`);
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

  async start({ bash, cwd }: NamespaceStart): Promise<string> {
    this.#started = true;
    const line = await this.#guard.report("beside", bash, cwd, this.job, this.#watching ? "1" : "");
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

  /** Does not wait for a text that was stopped and does not end. */
  forget(): void {
    this.#guard.tell("T= A=");
  }
}
