/** Variables that may be set without a question: listed ones with a harmless value, and names that no program reads. */
import { words } from "../../../lib/text.ts";

/** Why setting this variable needs a question; undefined if it is harmless. `where`: for later commands, or for one. */
export function assignmentEffect(name: string, value: string, where: "shell" | "command"): string | undefined {
  const plain = LISTED.find(([names]) => names.test(name));
  if (plain?.[1].test(value) === true) return undefined;
  if (where === "command") return `it sets ${name} for a command`;
  return plain === undefined && isOwnName(name)
    ? undefined
    : `it sets ${name}, which may change what later commands do`;
}

/** With these values, they only change how something is shown or which of the operator's accounts is used. */
const LISTED: readonly (readonly [names: RegExp, values: RegExp])[] = [
  [/^(?:LC_[A-Z]+|LANG|LANGUAGE)$/, /^[A-Za-z0-9_.@:-]*$/],
  [/^TZ$/, /^(?:[A-Za-z][\w+-]*(?:\/[A-Za-z][\w+-]*)*|[A-Z]{3,5}[+-]?\d{1,2}(?::\d\d)?)?$/],
  [/^(?:COLUMNS|LINES)$/, /^\d{1,6}$/],
  [/^(?:NO_COLOR|CLICOLOR|CLICOLOR_FORCE|FORCE_COLOR|SYSTEMD_COLORS|SYSTEMD_URLIFY)$/, /^[0-9a-z]*$/],
  // With other values git writes to its index.
  [/^GIT_OPTIONAL_LOCKS$/, /^(?:0|false|no|off)$/],
  [/^(?:BLOCKSIZE|(?:DU_|DF_|LS_)?BLOCK_SIZE)$/, /^[0-9A-Za-z'-]*$/],
  [/^(?:QUOTING_STYLE|TIME_STYLE)$/, /^[a-z-]*$/],
  [/^(?:GIT_|SYSTEMD_|MAN)?PAGER$/, /^(?:cat)?$/],
  [/^AWS_(?:PROFILE|DEFAULT_PROFILE|REGION|DEFAULT_REGION)$/, /^[\w.@-]+$/],
  [/^AWS_PAGER$/, /^$/],
  [/^ETCDCTL_API$/, /^[23]$/],
  [/^(?:PG(?:HOST|USER|DATABASE)|CLOUDSDK_CORE_PROJECT)$/, /^\w[\w.-]*$/],
  [/^PG(?:PORT|CONNECT_TIMEOUT)$/, /^\d+$/],
  [/^TERM$/, /^(?:dumb|xterm(?:-256color)?|screen(?:-256color)?|tmux(?:-256color)?|vt100|ansi|linux)$/],
];

/** Without these a command does the same. Not PAGER, without which a pager starts, nor GIT_OPTIONAL_LOCKS. */
export function mayBeUnset(name: string): boolean {
  return isOwnName(name) || /^(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|(?:NO|FORCE)_COLOR|CLICOLOR)$/.test(name);
}

/** Lower-case names that programs or shells read. */
const SPECIAL = new Set(
  words(`path fpath cdpath manpath mailpath module_path fignore prompt psvar histchars argv status aliases galiases
    saliases functions commands builtins options parameters modules nameddirs userdirs command_not_found_handle
    auto_resume histchars _`),
);
/** Parts of upper-case names in scripts; programs read variables of other names. */
const ORDINARY = new Set(
  words(`APP ARG ARGS BACKUP BASE BIG BRANCH BUCKET BYTES CLUSTER CODE COMMIT CONF CONTAINER COUNT CPU CURRENT DATA DATE
    DAY DAYS DB DELTA DEST DEV DEVICE DIFF DIR DIRECTORY DIRS DISK DOMAIN DST ELAPSED END ENDPOINT ENTRY ERR ERRORS EXIT
    EXT FIELD FILE FILENAME FILES FIRST FOUND FREE FROM GROUP HASH HEIGHT HOSTS HOUR ID IDX IFACE IMAGE INDEX INFO INPUT
    INTERFACE ITEM ITEMS KB KEY KEYS LAST LEN LENGTH LEVEL LIMIT LINE LIST LOAD LOCAL LOG LOGDIR LOGFILE LOGS MATCH MAX
    MB MEM MIN MINUTES MODE MONTH MOUNT MSG NAME NAMES NAMESPACE NEW NOW NS NUM OBJ OLD OUT OUTPUT OWNER PART PARTS PASS
    PATTERN PERCENT PID PIDS POD PODS PORT PORTS PREFIX PROC PROCESS PROJECT QUERY RC REGEX REGION RELEASE REPO RES RESULT
    RET ROOT ROW SERVER SERVERS SERVICE SERVICES SIZE SITE SRC START STATE STATUS STR STRING SUFFIX SUM SVC TABLE TAG
    TARGET TEST TEXT THRESHOLD TIME TIMESTAMP TO TODAY TOTAL TYPE UNIT UNITS URL USAGE USED USERNAME VAL VALUE VALUES VAR
    VERSION VOLUME WEEK WIDTH WORD WORDS YEAR YESTERDAY`),
);

/** A variable that an environment may have: its value may be the path of a file with keys. */
export function isFromEnvironment(name: string): boolean {
  return !isOwnName(name) || /KEY|PASS|CONF|DATA|DB/.test(name);
}

function isOwnName(name: string): boolean {
  if (/^[a-z][a-z0-9_]*$/.test(name))
    return !SPECIAL.has(name) && !/_proxy$|^(?:npm_config|pip|cargo|bash)_/.test(name);
  if (/^[a-z][A-Za-z0-9_]*$|^[A-Z][0-9]?$/.test(name)) return true;
  return name.split("_").every((part) => ORDINARY.has(part.replace(/(?<=\D)\d+$/, "")) || /^[A-Z]?\d?$/.test(part));
}

/** A shell or a program runs its value. */
export function isScriptVariable(name: string): boolean {
  return SCRIPTS.test(name);
}
const SCRIPTS =
  /^(?:PROMPT_COMMAND|(?:GIT_|SYSTEMD_|MAN|BAT_|AWS_)?PAGER|(?:GIT_|SUDO_|SYSTEMD_|FC)?E?EDITOR|VISUAL|BROWSER|GIT_EXTERNAL_DIFF|GIT_SSH_COMMAND|GIT_SSH|GIT_ASKPASS|GIT_SEQUENCE_EDITOR|GIT_PROXY_COMMAND|SSH_ASKPASS|SUDO_ASKPASS|RSYNC_RSH|CVS_RSH|TAR_RSH|MAKEFLAGS|FZF_DEFAULT_COMMAND)$/;
