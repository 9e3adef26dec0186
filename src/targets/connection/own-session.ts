/**
 * What the session of the guard does besides, for one of many machines: it holds the read-only room and runs what
 * nobody was asked about, in a clean shell that stays there. So such a machine needs one ssh process here and one
 * session there until something is asked about.
 */
import { randomBytes } from "node:crypto";
import { lean, quoteOnOneLine } from "../loader.ts";
import { quote } from "../../lib/quote.ts";
import type { Process, RoomStart, SessionTexts } from "../target.ts";
import { DEFAULT_SIGNALS, LOAD, STAND } from "../unasked/standing-shell.ts";
import type { ScriptRunner } from "./script-runner.ts";

/**
 * In the guard: `text TAG DIRECTORY KEY SCRIPT` runs the script beside the loop and marks its end like a direct shell;
 * `ask` has the clean shell run a text, or says that it was not taken. D is the directory of records, T the process of
 * the last text, J the mark of everything they start. 6 holds the room; nothing else may.
 */
const TEXTS = lean(`
marks() {
  printf '\\033]7771;%s;E;%s;%s\\a' "$3" "$c" "$1" >&2
  printf '\\033]7771;%s;P;0;%s;%s;%s\\a' "$3" "$c" "$1" "$2"
}
text() {
  if [ -n "$T" ]; then wait "$T"; fi
  (
    exec 6>&- 7>&-
    __buddy_file=$D/env __buddy_tag=$1 __buddy_key=$3 __buddy_text=$4
    export TERM=dumb PAGER=cat GIT_PAGER=cat BUDDY_JOB="$J"
    if cd -- "$2" 2>/dev/null; then eval "$__buddy_text"; else printf '%s\\n' "cd: $2: no such directory" >&2; (exit 126); fi
    c=$?
    marks "$__buddy_tag" "$PWD" "$__buddy_key"
  ) </dev/null &
  T=$! B=1
}
ask() {
  if [ -n "$T" ]; then wait "$T"; fi
  (
    exec 6>&- 7>&- 3<>"$D/codes" 5<>"$D/texts"
    c=
    if [ ! -e "$D/gone" ]; then printf '%s\\0' "$4" >&5; IFS= read -r c <&3; fi
    if [ "$c" = taken ]; then
      # What it has taken is not run again, whatever became of it.
      IFS= read -r c <&3
      case $c in '' | *[!0-9]*) c=137 ;; esac
      marks "$1" "$2" "$3"
    else printf '\\033]7771;%s;I\\a' "$3"; fi
  ) </dev/null &
  T=$! B=1
}`);

/**
 * `serve "PID START" WORDS` starts the clean shell with the words that enter the room, and waits until it is there. 8
 * and 9 are stdout and stderr of the session. S is its bash, W its directory. Whoever waits for it hears of its end.
 */
const SERVE = lean(`
serve() {
  [ -n "$S" ] || return 1
  if [ -e "$D/gone" ]; then rm -f "$D/gone" "$D/texts" "$D/codes"; fi
  [ -p "$D/texts" ] || mkfifo "$D/texts" "$D/codes" || return 1
  s=$1; shift
  exec 3<>"$D/codes"
  (
    exec 5<>"$D/texts" 6>&3 </dev/null >&8 2>/dev/null 3>&- 4>&- 7>&- 8>&-
    printf %s ${quote(STAND)} >"$D/stand"
    export TERM=dumb BUDDY_JOB="$J"
    ${DEFAULT_SIGNALS} "$@" "$S" -p -c ${quote(LOAD)} bash "$W" "$D/process" "$s" "$D/probe" 3<"$D/stand"
    : >"$D/gone"
    echo gone >&6
  ) &
  IFS= read -r s <&3
  exec 3>&-
  [ "$s" = ready ]
}`);

/** All pipes at once: each program counts. */
const PIPES = `mkfifo ${["alive", "said", "made", "go", "texts", "codes"].map((one) => `"$D/${one}"`).join(" ")}`;

/** $1 script, $2 its argument. It runs until the guard ends; its first line is the answer. */
const BESIDE = `
[ -p "$D/said" ] || exit 1
( script=$1; set -- "$2" "$D"; eval "$script" ) 8>&1 9>&2 <"$D/alive" >"$D/said" 2>/dev/null 6>&- &
IFS= read -r line <"$D/said"
printf '%s\\n' "$line"`;

export class OwnSession implements SessionTexts {
  readonly job = randomBytes(8).toString("hex");
  readonly key = randomBytes(16).toString("hex");
  readonly #guard: ScriptRunner;
  #stands: { readonly cwd: string } | undefined;

  constructor(guard: ScriptRunner) {
    this.#guard = guard;
  }

  texts(): Process {
    this.#guard.tell(`J=${this.job}; eval ${quoteOnOneLine(TEXTS)}`);
    return this.#guard.lend();
  }

  get stands(): boolean {
    return this.#stands !== undefined;
  }

  line(script: string, tag: number, cwd: string): string {
    return `text ${tag} ${[cwd, this.key, script].map(quoteOnOneLine).join(" ")}\n`;
  }

  question(text: string, tag: number, cwd: string): string {
    const there = cwd === this.#stands?.cwd ? "" : `cd -- ${quote(cwd)} || exit 126; `;
    return `ask ${tag} ${[cwd, this.key, there + text].map(quoteOnOneLine).join(" ")}\n`;
  }

  async start({ script, directory, bash, cwd }: RoomStart): Promise<string> {
    const values = `S=${quoteOnOneLine(bash)} W=${quoteOnOneLine(cwd)} J=${this.job}`;
    this.#guard.tell(`${values}; eval ${quoteOnOneLine(SERVE)}; ${PIPES} && exec 6<>"$D/alive" 7<>"$D/go"; B=1`);
    const { stdout } = await this.#guard.run(BESIDE, [script, directory]);
    const line = stdout.toString().trimEnd();
    if (!line.startsWith("stands\t")) return line;
    this.#stands = { cwd };
    return line.replace("stands", "ready");
  }

  watch(): void {
    this.#guard.tell("echo >&7");
  }

  serveAgain(look: string, enter: string): void {
    const again = `${look} && serve "$__buddy_pid $__buddy_since" ${enter}`;
    this.#guard.tell(`( eval ${quoteOnOneLine(again)} ) 8>&1 9>&2 </dev/null 6>&-`);
  }

  /** What was stopped and does not end is not waited for. */
  forget(): void {
    this.#guard.tell("T=");
  }
}
