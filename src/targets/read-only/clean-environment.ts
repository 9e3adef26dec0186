/**
 * The environment of a command that runs automatically: an allow-list. What an approved command exported, or planted in
 * PATH or HOME, neither reaches it nor the programs that start it.
 */
import bareInFish from "../../../templates/target/bare-environment.fish" with { type: "text" };
import bareEnvironment from "../../../templates/target/bare-environment.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { words } from "../../lib/text.ts";
import type { MachineFacts } from "../target.ts";

/** Taken over from the shell if their values are harmless by shape; the marks by which buddy finds what it started. */
const PLAIN = words(
  `LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME
  LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME TERM COLORTERM NO_COLOR BUDDY_JOB BUDDY_SHELL`,
);
const ADDRESSES = words(
  "http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY",
);
const PLACES = words("TZ XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS");

/** All names that may be taken over. */
export const TAKEN_OVER: readonly string[] = [...PLAIN, ...ADDRESSES, ...PLACES];

/** Whether the clean shell has this variable with this value, too; the same shapes as in `bareFunction`. */
export function isTakenOver(name: string, value: string): boolean {
  if (PLAIN.includes(name)) return /^[\w.@:+-]*$/.test(value);
  if (ADDRESSES.includes(name)) return /^[\w.@:+/~%,*[\]=-]*$/.test(value);
  return PLACES.includes(name) && /^[\w.:+/,=-]*$/.test(value) && PLACE.test(value) && !value.includes("..");
}

const PLACE = /^(?:[^/:]|:?\/usr\/share\/zoneinfo\/|:?\/etc\/localtime$|(?:unix:path=)?\/run\/user\/\d)/;

/**
 * The same for every machine. No inner shell reads a start-up file (SHLVL: with SSH_CLIENT set and SHLVL below 2, bash
 * assumes that sshd started it), no pager waits for keys, git does not write to its index, pip (before 23.1) and
 * Homebrew do not look for updates, make of BSD (`--version` is `-v ersion` there) reads no Makefile.
 */
const QUIET: readonly string[] = [
  ...["PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"].map((name) => `${name}=cat`),
  "SHLVL=3",
  "GIT_OPTIONAL_LOCKS=0",
  "GIT_CONFIG_COUNT=1",
  "GIT_CONFIG_KEY_0=diff.autoRefreshIndex",
  "GIT_CONFIG_VALUE_0=false",
  "PIP_DISABLE_PIP_VERSION_CHECK=1",
  "HOMEBREW_NO_AUTO_UPDATE=1",
  "HOMEBREW_NO_ANALYTICS=1",
  "MAKEFLAGS=-f /dev/null",
];

/** Where a machine reported no directory that only the user and root can write. */
export const STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** NAME=VALUE words: what does not come from the shell. */
export function settings({ path, home, user }: Pick<MachineFacts, "path" | "home" | "user">): readonly string[] {
  const own = [`PATH=${path || STANDARD_PATH}`, `HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`];
  return [...own, ...QUIET];
}

const NAMES = TAKEN_OVER.join(" ");

/** Defines `__buddy_exec` and `__buddy_bare`. `builtins` stands before a builtin, which may be an alias or function. */
export function bareFunction(builtins: "" | "\\builtin " | "\\command "): string {
  return script(bareEnvironment, {
    builtin: builtins,
    special: builtins === "\\command " ? "\\" : builtins,
    names: NAMES,
  });
}

/** Defines `__buddy_bare`. */
export const BARE_IN_FISH = script(bareInFish, { names: NAMES });
