/** The options every command knows, and what they mean once they are read. */
import { resolve } from "node:path";
import type { ConfigFlags } from "../../config/load.ts";
import {
  type ApproveMode,
  DURATION_FORMAT,
  LONGEST_DURATION_MS,
  parseApproveMode,
  parseDuration,
} from "../../lib/durations.ts";
import { BuddyError } from "../../lib/errors.ts";
import { parseDestination } from "../../targets/connection/ssh-destination.ts";
import type { Args } from "../command.ts";

/** In the order of `buddy --help`. */
export const GLOBAL_ARGS = {
  config: { type: "string", alias: "c", valueHint: "PATH", path: true, description: "use this configuration file" },
  model: {
    type: "string",
    alias: "m",
    valueHint: "PROFILE-OR-MODEL",
    description: "a profile, PROFILE:MODEL, or a model of its endpoint; `demo` is built in",
  },
  "base-url": {
    type: "string",
    valueHint: "URL",
    check: requireHttpUrl,
    description: "use this endpoint instead of the profile's",
  },
  "api-key": { type: "string", valueHint: "KEY", description: "key (visible in ps; prefer BUDDY_API_KEY)" },
  ssh: {
    type: "string",
    valueHint: "[USER@]HOST[:PORT]",
    check: requireSshTarget,
    description: "work on a host over ssh; names from ~/.ssh/config work",
  },
  container: {
    type: "string",
    valueHint: "NAME",
    check: requireContainerName,
    description: "work in a docker or podman container (with --ssh: on that host)",
  },
  on: {
    type: "string",
    valueHint: "WHAT",
    description: "work on machines by name: names, groups, globs, web[01-12], lists, @FILE (buddy targets)",
  },
  tmux: {
    type: "string",
    valueHint: "[SESSION]",
    optionalValue: true,
    check: requireSessionName,
    description: "require tmux; with a name, use that session (--tmux=NAME)",
  },
  "no-tmux": { type: "boolean", description: "do not use tmux" },
  pane: {
    type: "string",
    valueHint: "%N",
    check: requirePaneId,
    description: "work in the shell of a pane of your own tmux on this machine (its #{pane_id}: %3)",
  },
  cd: { type: "string", alias: "C", valueHint: "DIR", description: "work in this directory on the target" },
  "dry-run": { type: "boolean", description: "change nothing; say what would be done" },
  approve: {
    type: "string",
    valueHint: "MODE",
    check: requireApproveMode,
    description: "ask, all, none, or a duration (10m: all, then ask again)",
  },
  "max-cost": {
    type: "string",
    valueHint: "USD",
    check: readAmount,
    description: "the most the session may cost (0.50); at the limit the REPL asks, and exec ends with exit code 1",
  },
  "no-color": { type: "boolean", description: "no colour (also NO_COLOR; FORCE_COLOR=1 for colour in a pipe)" },
  quiet: { type: "boolean", alias: "q", description: "print only the answer, errors and questions" },
  verbose: {
    type: "boolean",
    alias: "v",
    twice: "debug",
    description: "show more, with details of errors; -vv: also requests and decisions",
  },
  debug: { type: "boolean", description: "the same as -vv" },
  trace: {
    type: "string",
    valueHint: "FILE",
    path: true,
    description: "append requests, answers, decisions and timings to FILE, without secrets (see buddy trace)",
  },
  help: { type: "boolean", alias: "h", description: "show help and exit" },
  version: { type: "boolean", alias: "V", description: "show the version and exit; with -v also build and runtime" },
} as const satisfies Args;

export interface GlobalOptions extends ConfigFlags {
  readonly ssh?: string | undefined;
  readonly container?: string | undefined;
  /** Names of machines, not yet resolved. */
  readonly on?: string | undefined;
  readonly tmux: "auto" | "required" | "never";
  readonly tmuxSession?: string | undefined;
  /** Id of a pane of the operator's own tmux. */
  readonly pane?: string | undefined;
  /** On this machine the process has changed to it already; otherwise it is a directory of the target. */
  readonly cd?: string | undefined;
  readonly dryRun: boolean;
  readonly approve?: ApproveMode | undefined;
  /** What the session may cost, in USD. */
  readonly maxCost?: number | undefined;
  /** False with --no-color; otherwise the environment and [display].color decide. */
  readonly color?: false | undefined;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** -vv: lines of the trace on stderr. */
  readonly debug?: boolean | undefined;
  /** File of the trace. */
  readonly trace?: string | undefined;
}

/** Flags that exclude each other. */
const EITHER = [
  ["tmux", "no-tmux"],
  ["quiet", "verbose"],
  ["quiet", "debug"],
  ["on", "ssh"],
  ["on", "container"],
  ["pane", "on"],
  ["pane", "ssh"],
  ["pane", "container"],
  ["pane", "tmux"],
  ["pane", "no-tmux"],
  ["pane", "cd"],
] as const;

/** Flag name → its text, or true for a flag without a value. */
export type FlagValues = ReadonlyMap<string, string | true>;

export function readGlobalOptions(values: FlagValues, env: Environment = process.env): GlobalOptions {
  for (const [one, other] of EITHER) {
    if (values.has(one) && values.has(other)) {
      throw new BuddyError("usage", `--${one} and --${other} cannot be combined`, { hint: "Give one of them" });
    }
  }
  const text = (name: string): string | undefined => {
    const value = values.get(name);
    return typeof value === "string" ? value : undefined;
  };
  const approve = text("approve");
  const maxCost = text("max-cost");
  return {
    config: text("config"),
    model: text("model"),
    baseUrl: text("base-url"),
    apiKey: text("api-key"),
    ssh: text("ssh"),
    container: text("container"),
    on: text("on"),
    cd: text("cd"),
    tmuxSession: text("tmux"),
    pane: text("pane"),
    approve: approve === undefined ? undefined : requireApproveMode(approve),
    maxCost: maxCost === undefined ? undefined : readAmount(maxCost, "--max-cost"),
    color: values.has("no-color") ? false : undefined,
    trace: text("trace") ?? traceFile(env["BUDDY_TRACE_FILE"]),
    tmux: values.has("tmux") ? "required" : values.has("no-tmux") ? "never" : "auto",
    dryRun: values.has("dry-run"),
    ...outputLevel(values, env),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** -q, -v and -vv; without any of them BUDDY_LOG decides. */
function outputLevel(values: FlagValues, env: Environment): Pick<GlobalOptions, "quiet" | "verbose" | "debug"> {
  const flagged = ["quiet", "verbose", "debug"].some((name) => values.has(name));
  const level = flagged ? undefined : logLevel(env["BUDDY_LOG"]);
  const debug = values.has("debug") || level === "debug";
  return {
    quiet: values.has("quiet") || level === "error",
    verbose: debug || values.has("verbose") || level === "verbose",
    ...(debug && { debug }),
  };
}

/** Relative to the directory buddy was started in, as with --trace. */
function traceFile(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : resolve(value);
}

type LogLevel = "error" | "info" | "verbose" | "debug";

const LOG_LEVELS: Readonly<Record<string, LogLevel>> = {
  error: "error",
  quiet: "error",
  warn: "info",
  info: "info",
  verbose: "verbose",
  debug: "debug",
  trace: "debug",
};

function logLevel(value: string | undefined): LogLevel | undefined {
  if (value === undefined || value === "") return undefined;
  const level = LOG_LEVELS[value.toLowerCase()];
  if (level !== undefined) return level;
  throw new BuddyError("usage", `BUDDY_LOG: "${value}" is not a level`, {
    hint: "error (as -q), info, verbose (as -v), debug (as -vv)",
  });
}

function requireApproveMode(text: string): ApproveMode {
  const mode = parseApproveMode(text);
  if (mode !== undefined) return mode;
  throw new BuddyError("usage", `--approve must be ask, all, none, or ${DURATION_FORMAT}, not "${text}"`);
}

/** tmux itself reads `.` and `:` in a session name as separators. */
export const SESSION_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

function requireSessionName(name: string): void {
  if (SESSION_NAME.test(name)) return;
  throw new BuddyError("usage", `--tmux: "${name}" cannot be a session name`, {
    hint: "Letters, digits, - and _, at most 64, beginning with a letter, a digit or _",
  });
}

function requirePaneId(id: string): void {
  if (/^%\d{1,9}$/.test(id)) return;
  throw new BuddyError("usage", `--pane: "${id}" is not the id of a tmux pane`, {
    hint: "For example --pane %3; tmux shows it in the pane with: tmux display-message -p '#{pane_id}'",
  });
}

function requireHttpUrl(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new BuddyError("usage", `--base-url: "${url}" is not an HTTP(S) URL`, {
      hint: "For example --base-url http://localhost:11434/v1",
    });
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new BuddyError("usage", "--base-url must not contain a user name or password", {
      hint: "Give the key with BUDDY_API_KEY",
    });
  }
}

// Neither what ssh would read as an option nor a line break reaches its command line.
function requireSshTarget(target: string): void {
  if (/^[^\s-][^\s]*$/.test(target) && !target.includes("@-") && !target.endsWith("@")) {
    parseDestination(target);
    return;
  }
  throw new BuddyError("usage", `--ssh: "${target}" is not a valid host`, {
    hint: "For example --ssh web1, --ssh deploy@web1 or --ssh deploy@web1:2222",
  });
}

/** The same on another host, whose name is checked as that of --ssh. */
export function withSsh(globals: GlobalOptions, host: string): GlobalOptions {
  requireSshTarget(host);
  return { ...globals, ssh: host };
}

function requireContainerName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) return;
  throw new BuddyError("usage", `--container: "${name}" cannot be the name or id of a container`);
}

// ── Values of flags that are not plain text (a wrong one is a usage error), and the limits of `exec` and `run`.

/** Milliseconds, more than none. */
function readDuration(value: string, flag: string): number {
  const ms = parseDuration(value);
  if (ms === undefined || ms === 0 || ms > LONGEST_DURATION_MS) {
    throw new BuddyError("usage", `${flag} must be ${DURATION_FORMAT}, at most 24d, not "${value}"`);
  }
  return ms;
}

/** A whole number from 1. */
export function readCount(value: string, flag: string): number {
  const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (count < 1) throw new BuddyError("usage", `${flag} must be a whole number from 1, not "${value}"`);
  return count;
}

/** USD, more than nothing: 0.50, $2. */
function readAmount(value: string, flag: string): number {
  const amount = /^\$?\d{1,7}(\.\d{1,6})?$/.test(value) ? Number(value.replace("$", "")) : 0;
  if (amount > 0) return amount;
  throw new BuddyError("usage", `${flag} must be an amount in USD above 0, such as 0.50, not "${value}"`);
}

/** How many machines at once, how many failures, how long: for `exec` and `run`. */
export const LIMIT_ARGS = {
  parallel: {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "work on at most N machines at once (default: fleet.parallel, 32)",
  },
  canary: {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "make changes on N machines first; on the others only if that succeeded",
  },
  "max-fail": {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "after N failures, start on no further machines",
  },
  timeout: {
    type: "string",
    valueHint: "DURATION",
    check: readDuration,
    description: "give up after this long, with exit code 124",
  },
} as const satisfies Args;

export function readLimits(args: { readonly [K in keyof typeof LIMIT_ARGS]?: string | undefined }) {
  const { parallel, canary, "max-fail": maxFail, timeout } = args;
  return {
    fleet: {
      ...(parallel === undefined ? {} : { parallel: readCount(parallel, "--parallel") }),
      ...(canary === undefined ? {} : { canary: readCount(canary, "--canary") }),
      ...(maxFail === undefined ? {} : { maxFail: readCount(maxFail, "--max-fail") }),
    },
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout, "--timeout"),
  };
}
