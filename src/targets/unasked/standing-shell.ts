/** A clean bash that stays in the read-only room and forks for each text: entering the room is what takes time. */
import { quote } from "../../lib/quote.ts";
import {
  CLEAN_BASH,
  type CleanShell,
  closeFiles,
  ENTER_DIRECTORY,
  LOOK,
  mayMove,
  QUIETLY,
  type RoomEntry,
  STARTS_SHELL,
} from "./clean-script.ts";

/**
 * Defines for a bash whose 8 and 9 are stdout and stderr: `__buddy_standing TEXT` has a clean bash in the room run it,
 * and sets __buddy_code; empty where that cannot be, and then nothing was run. That bash stays for the next text and
 * forks for each; `__buddy_leave` ends it. It is a child of the shell as it is now: whoever lets the shell itself run
 * something must end it first. It knows neither the key nor the requests of the shell: what runs in it can look into
 * it.
 */
export function standingShell(shell: CleanShell, room: RoomEntry): string {
  const file = quote(room.file);
  const words = `${quote(shell.path)} ${LOADED} bash "$PWD" ${file} "" "$__buddy_pid $__buddy_since"`;
  return `${LOOK}
__buddy_texts= __buddy_codes=
__buddy_serve() {
  ${DEFAULT_SIGNALS} true || return
  __buddy_look ${file} || return
  coproc __buddy_room {
    exec 5<&0 6>&1 </dev/null >&8 2>/dev/null 7<&- 8>&-
    exec ${DEFAULT_SIGNALS} ${room.enter} ${words} 3<<<${quote(STAND)}
  }
  __buddy_server=$__buddy_room_PID
  # Both ends of the pipe: a write to a process that is gone must not end this one.
  exec {__buddy_texts}<>"/proc/$$/fd/\${__buddy_room[1]}" {__buddy_codes}<&"\${__buddy_room[0]}"
  eval "exec \${__buddy_room[0]}<&- \${__buddy_room[1]}>&-"
}
__buddy_leave() {
  [ -n "$__buddy_texts" ] || return 0
  exec {__buddy_texts}>&- {__buddy_codes}<&-
  __buddy_texts= __buddy_codes=
  wait "$__buddy_server" || :
}
__buddy_standing() {
  __buddy_code=
  if [ -n "$__buddy_texts" ] || __buddy_serve; then
    printf '%s\\0' "$1" >&"$__buddy_texts"
    IFS= read -r __buddy_code <&"$__buddy_codes"
  fi
  if [ "$__buddy_code" != taken ]; then
    __buddy_code=
    __buddy_leave
    return
  fi
  # What it has taken is not run again, whatever became of it.
  IFS= read -r __buddy_code <&"$__buddy_codes"
  case $__buddy_code in '' | *[!0-9]*) __buddy_code=137; __buddy_leave ;; esac
}`;
}

/** What a shell starts in the background ignores these, and so would all that runs in it. */
export const DEFAULT_SIGNALS = "env --default-signal=INT,QUIT";

/** The text comes by a file: as an argument everyone would see it in `ps`. */
const LOAD = `IFS= read -r -d "" __buddy_line <&3; exec 3<&-; eval "$__buddy_line"`;

/** The options of a bash that loads it. */
export const LOADED = [...CLEAN_BASH, LOAD].map(quote).join(" ");

/** Texts that a standing shell takes: they end where they began, and what they start takes no functions over. */
export function fitsStandingShell(text: string): boolean {
  return text.length <= MOST_STANDING && !mayMove(text) && !STARTS_SHELL.test(text);
}

/** A pipe takes as much at once, also when its reader is gone. */
const MOST_STANDING = 8192;

/**
 * In the room: texts come on 5, "taken" and the exit code go to 6, 9 is stderr; $1 directory, $2 file of the room, $3 a
 * file that must not be writable, where "ready" is to be said, or "", $4 what the file of the room says. A room that is
 * made again holds mounts that are gone, so each look at it ends this shell. One line: so that what a text prints of
 * its lines is right.
 */
export const STAND = [
  ENTER_DIRECTORY,
  "shift",
  QUIETLY,
  closeFiles("[0-2569]", "[0-9]*"),
  `if [ -n "$2" ]; then if true >"$2"; then exit 1; fi; echo ready >&6; fi`,
  "__buddy_file=$1 __buddy_room=$3; set --; unset BASH_EXECUTION_STRING",
  `__buddy_same() { IFS= read -r __buddy_line <"$__buddy_file" && [ "$__buddy_line" = "$__buddy_room" ] && [ . -ef "$PWD" ]; }`,
  "while __buddy_text=; do " +
    `until IFS= read -r -d "" -t 2 __buddy_part <&5; do ` +
    `[ $? -gt 128 ] || exit 0; __buddy_text=$__buddy_text$__buddy_part; [ -n "$__buddy_text" ] || __buddy_same || exit 0; done`,
  "__buddy_text=$__buddy_text$__buddy_part; __buddy_same || exit 0; echo taken >&6",
  `( set -- "$__buddy_text"; unset -f __buddy_same; unset \${!__buddy_@}; exec 5<&- 6>&-; eval "set --; $1" ) 2>&9 9>&-`,
  "echo $? >&6; done",
].join("; ");
