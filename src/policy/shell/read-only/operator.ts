/** The operator preset: reads with `sudo -n` and over ssh. */
import { differsBetweenShells, outsideCommonGrammar } from "../syntax/parse.ts";
import { isFixed, isUnknown, programName } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import { walkText } from "../syntax/walk.ts";
import type { Refusal } from "../../effects/argv.ts";

/** The settings of a preset. */
export interface Preset {
  readonly name: "operator";
  /** Hosts that may be read from over HTTP, in addition to this machine: fetch_allowed_domains. */
  readonly hosts: readonly string[];
}

/** Why `sudo` or `ssh` with these words is not a read; undefined if it depends on what they run. */
export function elsewhereUnproven({ argv, wrapped, unwaited }: FoundCommand): string | undefined {
  const args = argv.slice(1).map((word) => word.value);
  const name = programName(argv[0]?.value ?? "");
  // Both close every file they inherit, including the pipe by which leftovers of a text are found.
  if (unwaited) return `${name} could outlive the text, which does not wait for it`;
  // Globs in the command that sudo runs are judged with that command.
  const own = name === "sudo" ? args.slice(0, wrapped?.at) : args;
  if (!own.every(isFixed) || args.some(isUnknown)) return `the words of ${name} are only known when it runs`;
  if (name === "sudo") return sudoUnproven(args, wrapped?.at);
  return name === "ssh" ? sshUnproven(args) : `${name} runs another command`;
}

function sudoUnproven(args: readonly string[], at: number | undefined): string | undefined {
  const options = args.slice(0, at === undefined ? args.length : at - 1).join(" ");
  if (at === undefined) return /^(?:-n -l|-l -n|-nl)$/.test(options) ? undefined : "sudo has no command";
  return /^(?:(?:-[nH]+|--non-interactive|-[nH]*[ug] ?[\w.-]+|--(?:user|group)[ =][\w.-]+)(?: |$))+(?:--)?$/.test(
    options,
  ) && /(?:^| )(?:-H?n|--non-interactive(?: |$))/.test(options)
    ? undefined
    : "only sudo -n without other options runs without a question";
}

const SSH_SETTING =
  /^(?:BatchMode=yes|StrictHostKeyChecking=(?:yes|accept-new)|LogLevel=\w+|(?:ConnectTimeout|ConnectionAttempts|NumberOfPasswordPrompts|Port|ServerAlive\w+)=\d+|(?:PasswordAuthentication|KbdInteractiveAuthentication|RequestTTY|ForwardAgent|ForwardX11|ClearAllForwardings|ControlMaster)=no|ClearAllForwardings=yes|ControlPath=none|PreferredAuthentications=publickey|IdentitiesOnly=yes|AddressFamily=inet6?|User=[\w.-]+)$/i;
const SSH_VALUES: Readonly<Record<string, RegExp>> = {
  p: /^\d+$/,
  l: /^\w[\w.-]*$/,
  // A key for the login, which is not shown.
  i: /^[\w~/\uFDD3][\w./~@-]*$/,
  J: /^(?:(?:\w[\w.-]*@)?\w[\w.-]*(?::\d+)?(?:,|$))+$/,
  o: SSH_SETTING,
};

function sshUnproven(args: readonly string[]): string | undefined {
  if (args.length === 1 && args[0] === "-V") return undefined;
  let at = 0;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++) {
    const word = args[at] as string;
    if (/^-[nTqxakv46C]+$/.test(word)) continue;
    const [, letter = "", glued = ""] = /^-[nTqxakv46C]*([pliJo])([^]*)$/.exec(word) ?? [];
    const value = glued === "" ? (args[++at] ?? "") : glued;
    if (SSH_VALUES[letter]?.test(value) !== true) return `ssh is not known to be read-only with ${word}`;
  }
  if (!/^(?:[\w.-]+@)?[\w.:%-]+$/.test(args[at] ?? "")) return "the host that ssh connects to is not plain text";
  const text = args.slice(at + 1).join(" ");
  if (text === "") return "ssh without a command opens a shell";
  // Any shell may read it on that machine.
  const why =
    outsideCommonGrammar(text) ??
    walkText(text)
      .commands.map(({ argv }) => differsBetweenShells(argv))
      .find((one) => one !== undefined);
  if (why !== undefined) return `shells read the text for ssh differently: ${why}`;
  return walkText(text).commands.some((one) => programName(one.argv[0]?.value ?? "") === "git")
    ? "git runs where buddy cannot check its repository"
    : undefined;
}

/** Programs that send their input, which may be any file, to another machine. */
export function sendsInput({ argv, fed }: FoundCommand): boolean {
  if (fed !== true) return false;
  const [path = "", first, ...others] = argv.map(({ value }) => value);
  switch (programName(path)) {
    case "nslookup":
      return true;
    case "openssl":
      return first === "s_client";
    case "ssh":
      return ![first, ...others].includes("-n");
    default:
      return false;
  }
}

/** A line for nc or socat that asks for the state of a server: ZooKeeper (`ruok`), memcached (`stats`), HAProxy. */
export function asksForState({ argv, input, fed }: FoundCommand): boolean {
  const call = argv.map(({ value }) => value).join(" ");
  if (input === undefined || fed === true || !isFixed(input) || !isFixed(call)) return false;
  return (LETTERS.test(input) && TO_PORT.test(call)) || (HAPROXY.test(input) && TO_HAPROXY.test(call));
}

const LETTERS = /^(?:ruok|stat|srvr|mntr|cons|isro|stats(?: (?:items|slabs|settings))?)[\r\n]*$/;
const TO_PORT = /^nc(?:at)? (?:-[46nvN]+ |-[wq] ?\d+ )*\w[\w.-]* \d+$/;
const HAPROXY = /^show (?:stat|info|backend|servers (?:state|conn)|sess|table|pools|activity|version)(?: [\w.-]+)*\n?$/;
const SOCKET = String.raw`/(?:run|var/run|var/lib)/haproxy(?:/[\w-]+)*(?:\.sock|/stats)`;
const TO_HAPROXY = new RegExp(
  `^(?:nc -U ${SOCKET}|socat (?:stdio|STDIO|-) (?:unix-connect:|UNIX-CONNECT:)?${SOCKET}|socat (?:unix-connect:|UNIX-CONNECT:)?${SOCKET} (?:stdio|STDIO|-))$`,
);

/** Whether it runs as another user or in directories that find visits: buddy cannot check the repository there. */
export function runsElsewhere(command: FoundCommand): boolean {
  for (let { by } = command; by !== undefined; { by } = by.command) {
    const words = by.command.argv.map(({ value }) => value);
    if (programName(words[0] ?? "") === "sudo" || words.some((word) => /^-(?:execdir|okdir)$/.test(word))) return true;
  }
  return false;
}

/** Undefined if proven; otherwise why not, in words that follow the program's name. */
export type PresetReader = (args: readonly string[], preset: Preset) => Refusal | undefined;
