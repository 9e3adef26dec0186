/** Hosts in ~/.ssh/config, and how ssh itself resolves a destination. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { addressOf } from "../../lib/address-spelling.ts";
import { BuddyError } from "../../lib/errors.ts";
import { matchesGlob } from "../../lib/names.ts";
import {
  destinationOf,
  destinationText,
  sshArguments,
  type SshDestination,
  sshWords as argumentsOf,
} from "../connection/ssh-destination.ts";
import { type Hop, pathKey } from "../place.ts";
import type { Transport } from "../target.ts";
import { defined } from "../../lib/values.ts";
import { runProgram } from "../../lib/start-child.ts";
import { expandTilde } from "../../lib/user-directories.ts";

export interface SshHosts {
  /** Names that can be connected to as they are. */
  readonly names: readonly string[];
  /** The patterns of each line such as `Host web* !web9`, without `*`, which matches any name. */
  readonly patterns: readonly (readonly string[])[];
  /** The `HostName` of names that have one: those with the same may lead to one machine. */
  readonly sameHost: ReadonlyMap<string, string>;
}

const MOST_FILES = 100;
/** Names that `parseDestination` accepts: no patterns, no special characters of ssh or a shell. */
const VALID = /^[A-Za-z0-9._:%\u0080-\uffff][A-Za-z0-9._:%\-\u0080-\uffff]*$/;

/** From the `Host` lines of ~/.ssh/config and the files it includes; runs no ssh. */
export function sshHosts(home: string | undefined = process.env["HOME"]): SshHosts {
  const names = new Set<string>();
  const patterns: (readonly string[])[] = [];
  const sameHost = new Map<string, string>();
  const seen = new Set<string>();
  const read = (path: string): void => {
    if (home === undefined || seen.has(path) || seen.size >= MOST_FILES) return;
    seen.add(path);
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch {
      return; // no such file: no hosts
    }
    let block: readonly string[] = [];
    for (const line of text.split("\n")) {
      const [, keyword = "", rest = ""] = /^\s*(\w+)(?:\s+|\s*=\s*)(.*?)\s*$/.exec(line) ?? [];
      const found = sshWords(rest);
      if (/^host$/i.test(keyword)) {
        block = found.filter((word) => VALID.test(word) && inPatterns(found, word));
        for (const word of block) names.add(word);
        const covering = found.filter((word) => word !== "*");
        if (covering.some((word) => !word.startsWith("!") && /[*?]/.test(word))) patterns.push(covering);
      }
      if (/^match$/i.test(keyword)) block = [];
      // One that depends on the name is another address for each name.
      if (/^hostname$/i.test(keyword) && !rest.includes("%"))
        for (const word of block) sameHost.set(word, rest.toLowerCase());
      if (/^include$/i.test(keyword)) for (const word of found) for (const file of included(word, home)) read(file);
    }
  };
  if (home !== undefined) read(join(home, ".ssh/config"));
  return { names: [...names], patterns, sameHost };
}

/** The words of a line as ssh reads them: both kinds of quotes, comments after `#`. */
function sshWords(text: string): string[] {
  const words = text.match(/(?:^|(?<=\s))#.*|(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'\\])+/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith("#"));
  return words
    .slice(0, comment < 0 ? undefined : comment)
    .map((word) => word.replaceAll(/\\(["' \\])|["']/g, (_, escaped: string | undefined) => escaped ?? ""));
}

/** Whether a `Host` line with these patterns applies to a host: one must match, and none with a `!`. */
export function inPatterns(patterns: readonly string[], host: string): boolean {
  return (
    patterns.some((pattern) => !pattern.startsWith("!") && matchesGlob(pattern, host)) &&
    !patterns.some((pattern) => pattern.startsWith("!") && matchesGlob(pattern.slice(1), host))
  );
}

function included(pattern: string, home: string): string[] {
  const path = resolve(join(home, ".ssh"), expandTilde(pattern, home));
  if (!/[*?[]/.test(path)) return [path];
  return [...new Bun.Glob(path.slice(1)).scanSync({ cwd: "/", absolute: true, dot: true })].sort();
}

/** A destination after ~/.ssh/config was applied, including `Match` and `Include`. */
export interface ResolvedSsh {
  readonly host: string;
  readonly user: string;
  readonly port: number;
  /** The jump hosts, as ssh writes them. */
  readonly jump?: string;
  /** The command that makes the connection instead, if any. */
  readonly command?: string;
}

type Written = Parameters<typeof destinationOf>[0];

const ANSWER_MS = 10_000;

export async function resolvedSsh(hop: Written, signal?: AbortSignal): Promise<ResolvedSsh> {
  const destination = destinationOf(hop);
  return resolved(destination, await sshSettings(destination, signal));
}

/** The same by the configuration of another machine; undefined if that has no ssh. */
export async function resolvedSshOn(transport: Transport, written: string): Promise<ResolvedSsh | undefined> {
  const destination = destinationOf(written);
  const { code, stdout, stderr } = await transport.run(`ssh -G ${sshArguments(destination)}`, { timeoutMs: ANSWER_MS });
  if (code === 127) return undefined;
  if (code !== 0) throw new BuddyError("target", `ssh -G ${written} failed there: ${stderr.trim().split("\n").at(-1)}`);
  return resolved(destination, settingsIn(String(stdout)));
}

function resolved({ user, host, port }: SshDestination, settings: readonly (readonly [string, string])[]): ResolvedSsh {
  const values = new Map(settings);
  const set = (key: string) => {
    const value = values.get(key);
    return value === "none" ? undefined : value;
  };
  return {
    host: values.get("hostname") ?? host,
    user: values.get("user") ?? user ?? "",
    port: Number(values.get("port") ?? port ?? 22),
    ...defined({ jump: set("proxyjump"), command: set("proxycommand") }),
  };
}

/**
 * The path with what ssh would use: address, user and port, and the settings that a gateway may decide by. A
 * destination that ssh refuses stays unchanged.
 */
export async function loginPath(path: readonly Hop[]): Promise<readonly Hop[]> {
  const [first, ...inner] = path;
  if (first?.kind !== "ssh") return path;
  try {
    const settings = await sshSettings(destinationOf(first));
    const values = new Map(settings);
    const { host } = destinationOf(first);
    const login = { user: values.get("user"), host: values.get("hostname") ?? host, port: values.get("port") };
    return [
      { ...first, destination: destinationText(login), args: [...(first.args ?? []), routeOf(settings)] },
      ...inner,
    ];
  } catch (error) {
    if (error instanceof BuddyError) return path;
    throw error;
  }
}

/** From `ssh -G`, which does not connect. */
export async function sshSettings(
  destination: SshDestination,
  signal?: AbortSignal,
): Promise<(readonly [string, string])[]> {
  const { host } = destination;
  const problem = (why: string, cause?: unknown) =>
    new BuddyError("target", `ssh -G ${host} failed: ${why}`, {
      hint: "Check ~/.ssh/config; the message has the line number.",
      cause,
    });
  const run = await runProgram(["ssh", "-G", ...argumentsOf(destination)], { timeoutMs: ANSWER_MS, signal });
  if (run.kind === "not-started" && run.error.code === "ENOENT")
    throw new BuddyError("target", `ssh is not installed, so the settings of ${host} cannot be read`, {
      hint: "Install the OpenSSH client (package openssh-client or openssh-clients).",
      cause: run.error,
    });
  if (run.kind === "not-started") throw problem(String(run.error), run.error);
  if (run.kind === "killed") throw problem(`it ${run.why}`);
  if (run.code !== 0) throw problem(run.stderr.trim().split("\n").at(-1) || `exit code ${run.code}`);
  return settingsIn(run.stdout);
}

function settingsIn(text: string): (readonly [string, string])[] {
  return text.split("\n").map((line) => {
    const at = line.indexOf(" ");
    return [line.slice(0, at), line.slice(at + 1)] as const;
  });
}

/** The path with the address and port that ssh would use, and the other settings that decide where it leads. */
export interface PathByAddress {
  readonly path: readonly Hop[];
  /** It was not written as an address. */
  readonly isAlias: boolean;
  readonly route: string;
}

/** A gateway may lead to different machines by these: two hosts with one address that differ in them are different. */
const ROUTE = new Set(["proxyjump", "proxycommand", "identityfile", "hostkeyalias"]);
const routeOf = (settings: readonly (readonly [string, string])[]): string =>
  settings.filter(([key]) => ROUTE.has(key)).join("\n");
const asked = new Map<string, Promise<PathByAddress>>();

/** Cached for each destination. A destination that ssh refuses stays unchanged. */
export async function byAddress([first, ...inner]: readonly Hop[]): Promise<PathByAddress> {
  if (first?.kind !== "ssh") return { path: first === undefined ? [] : [first, ...inner], isAlias: false, route: "" };
  const key = pathKey([first]);
  const found = asked.get(key) ?? askAddress(first);
  asked.set(key, found);
  const { path, ...more } = await found;
  return { path: [...path, ...inner], ...more };
}

async function askAddress(hop: Hop & { kind: "ssh" }): Promise<PathByAddress> {
  try {
    const destination = destinationOf(hop);
    const settings = await sshSettings(destination);
    const values = new Map(settings);
    const { host: written } = destination;
    const host = values.get("hostname") ?? written;
    const address = destinationText({ host: addressOf(host) ?? host, port: values.get("port") ?? 22 });
    return {
      path: [{ kind: "ssh", destination: address }],
      isAlias: host !== written,
      route: routeOf(settings),
    };
  } catch (error) {
    if (error instanceof BuddyError) return { path: [hop], isAlias: false, route: "" };
    throw error;
  }
}
