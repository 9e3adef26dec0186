/**
 * What the session of the guard does besides, for one of many machines: it runs what nobody was asked about and holds
 * the read-only room. So such a machine needs one ssh process here and one session there until something is asked
 * about.
 */
import { quoteOnOneLine } from "../loader.ts";
import type { Process, SessionTexts } from "../target.ts";
import type { ScriptRunner } from "./script-runner.ts";

/**
 * In the guard: `text TAG DIRECTORY JOB KEY SCRIPT` runs the script beside the loop and marks its end like a direct
 * shell. D is the directory of records, T the process of the last text. 6 holds the room; nothing else may.
 */
const TEXTS = `
text() {
  if [ -n "$T" ]; then wait "$T"; fi
  (
    exec 6>&-
    __buddy_file=$D/env __buddy_tag=$1 __buddy_key=$4 __buddy_text=$5
    export TERM=dumb PAGER=cat GIT_PAGER=cat BUDDY_JOB="$3"
    if cd -- "$2" 2>/dev/null; then eval "$__buddy_text"; else printf '%s\\n' "cd: $2: no such directory" >&2; (exit 126); fi
    __buddy_code=$?
    printf '\\033]7771;%s;E;%s;%s\\a' "$__buddy_key" "$__buddy_code" "$__buddy_tag" >&2
    printf '\\033]7771;%s;P;0;%s;%s;%s\\a' "$__buddy_key" "$__buddy_code" "$__buddy_tag" "$PWD"
  ) </dev/null &
  T=$! B=1
}`;

/** $1 script, $2 its argument. It runs until the guard ends; its first line is the answer. */
const BESIDE = `
[ -p "$D/said" ] || exit 1
( script=$1; shift; eval "$script" ) <"$D/alive" >"$D/said" 2>/dev/null 6>&- &
IFS= read -r line <"$D/said"
printf '%s\\n' "$line"`;

export class OwnSession implements SessionTexts {
  readonly #guard: ScriptRunner;

  constructor(guard: ScriptRunner) {
    this.#guard = guard;
  }

  texts(): Process {
    this.#guard.tell(`eval ${quoteOnOneLine(TEXTS)}`);
    return this.#guard.lend();
  }

  line(script: string, tag: number, cwd: string, job: string, key: string): string {
    return `text ${tag} ${[cwd, job, key, script].map(quoteOnOneLine).join(" ")}\n`;
  }

  async start(script: string, argument: string): Promise<string> {
    this.#guard.tell(`mkfifo "$D/alive" "$D/said" && exec 6<>"$D/alive"; B=1`);
    const { stdout } = await this.#guard.run(BESIDE, [script, argument]);
    return stdout.toString().trimEnd();
  }

  /** What was stopped and does not end is not waited for. */
  forget(): void {
    this.#guard.tell("T=");
  }
}
