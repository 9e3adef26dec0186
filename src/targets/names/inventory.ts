/** An Ansible inventory, read through `ansible-inventory --list`: its hosts and groups become names. */
import { BuddyError } from "../../lib/errors.ts";
import { destinationText } from "../connection/ssh-destination.ts";
import type { Hop } from "../place.ts";
import { runProgram } from "../../lib/start-child.ts";
import { isRecord } from "../../lib/values.ts";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { splitWords } from "../../lib/quote.ts";
import { expandTilde } from "../../lib/user-directories.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { isTimeout, unlessAborted } from "../../lib/waiting.ts";

export interface Inventory {
  readonly hosts: ReadonlyMap<string, InventoryHost>;
  /** Members of a group, those of its children included. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

interface InventoryHost {
  readonly name: string;
  /** A text: why it cannot be reached as Ansible would reach it. */
  readonly path: readonly Hop[] | string;
  readonly groups: readonly string[];
}

const ANSWER_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** What those who want the inventory share: a command asks for it several times, and it may take long. */
interface Reading {
  readonly inventory: Promise<Inventory>;
  readonly stop: AbortController;
  readers: number;
  isOver: boolean;
  isSaid: boolean;
}

const readings = new Map<string, Reading>();
const SHARED_MS = 30_000;
const SAID_MS = 1_500;

/** `waiting`: called once with the reason, if reading takes a while. */
export async function readInventory(
  file: string,
  { signal, waiting }: { readonly signal?: AbortSignal | undefined; readonly waiting?: (what: string) => void } = {},
): Promise<Inventory> {
  const key = `${file} ${await Bun.file(file)
    .stat()
    .then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )}`;
  const reading = readings.get(key) ?? begin(key, file);
  reading.readers++;
  const say = (): void => {
    if (!reading.isSaid) waiting?.(`waiting for ansible-inventory, which reads ${file}`);
    reading.isSaid ||= waiting !== undefined;
  };
  const timer = setTimeout(say, SAID_MS);
  try {
    return await unlessAborted(signal, reading.inventory);
  } finally {
    clearTimeout(timer);
    reading.readers--;
    if (reading.readers === 0 && !reading.isOver) reading.stop.abort(signal?.reason);
  }
}

function begin(key: string, file: string): Reading {
  const stop = new AbortController();
  const reading: Reading = { inventory: list(file, stop.signal), stop, readers: 0, isOver: false, isSaid: false };
  readings.set(key, reading);
  const forget = (): void => void readings.delete(key);
  stop.signal.addEventListener("abort", forget);
  const over = (): void => void (reading.isOver = true);
  reading.inventory.then(() => setTimeout(forget, SHARED_MS).unref(), forget).finally(over);
  return reading;
}

async function list(file: string, signal: AbortSignal): Promise<Inventory> {
  const problem = (why: string, hint: string, cause?: unknown) =>
    new BuddyError("config", `the inventory ${file} cannot be read: ${why}`, {
      hint,
      cause,
    });
  if (
    !(await Bun.file(file)
      .stat()
      .catch(() => undefined))
  )
    throw problem("it does not exist", "Correct inventory below [fleet], or remove it.");
  const run = await runProgram(["ansible-inventory", "-i", file, "--list"], { timeoutMs: ANSWER_MS, signal });
  if (run.kind === "not-started") {
    const why =
      run.error.code === "ENOENT"
        ? "ansible-inventory is not installed"
        : `ansible-inventory cannot be started: ${String(run.error)}`;
    throw problem(why, "Install ansible-core, or remove inventory below [fleet].", run.error);
  }
  const check = `Check with: ansible-inventory -i ${file} --list`;
  if (run.kind === "killed") throw problem(`ansible-inventory ${run.why}`, check);
  const { code, stdout, stderr } = run;
  if (code !== 0) throw problem(lastLine(stderr) || `ansible-inventory ended with code ${code}`, check);
  if (stdout.length > MOST_BYTES) throw problem("it is too large", check);
  let listed: unknown;
  try {
    listed = JSON.parse(stdout);
  } catch (error) {
    throw problem("ansible-inventory did not print JSON", check, error);
  }
  const inventory = parseInventory(listed, [process.cwd(), dirname(file)]);
  // For a file that it cannot parse, ansible prints a warning and an inventory without hosts.
  if (inventory.hosts.size === 0) throw problem(lastLine(stderr) || "it has no hosts", check);
  return inventory;
}

/** From the JSON of `ansible-inventory --list`. `directories`: where relative names of key files are looked up. */
export function parseInventory(listed: unknown, directories: readonly string[] = []): Inventory {
  const table = isRecord(listed) ? listed : {};
  const meta = isRecord(table["_meta"]) ? table["_meta"] : {};
  const variables = isRecord(meta["hostvars"]) ? meta["hostvars"] : {};
  const direct = new Map<string, { hosts: readonly string[]; children: readonly string[] }>();
  for (const [name, group] of Object.entries(table)) {
    if (name === "_meta" || !isRecord(group)) continue;
    direct.set(name, { hosts: texts(group["hosts"]), children: texts(group["children"]) });
  }
  const members = (name: string, trail: ReadonlySet<string>): string[] => {
    const group = direct.get(name);
    if (group === undefined || trail.has(name)) return [];
    const inner = new Set([...trail, name]);
    return [...new Set([...group.hosts, ...group.children.flatMap((child) => members(child, inner))])];
  };
  const groups = new Map<string, readonly string[]>();
  for (const name of direct.keys()) {
    const hosts = members(name, new Set());
    if (hosts.length > 0) groups.set(name, hosts);
  }
  const groupsOf = new Map<string, string[]>();
  for (const [group, hosts] of groups) {
    if (group === "all" || group === "ungrouped") continue;
    for (const host of hosts) groupsOf.set(host, [...(groupsOf.get(host) ?? []), group]);
  }
  const names = new Set([...Object.keys(variables), ...[...groups.values()].flat()]);
  const hosts = new Map<string, InventoryHost>();
  for (const name of names) {
    const own = variables[name];
    const path = pathOf(name, isRecord(own) ? own : {}, directories);
    hosts.set(name, { name, path, groups: groupsOf.get(name) ?? [] });
  }
  return { hosts, groups };
}

/** From Ansible's connection variables; what cannot be followed exactly is refused: it may lead elsewhere. */
function pathOf(
  name: string,
  variables: Readonly<Record<string, unknown>>,
  directories: readonly string[],
): Hop[] | string {
  const problems: string[] = [];
  /** The last that has a value, as Ansible takes them. */
  const text = (...keys: readonly string[]): string | undefined => {
    const key = keys.findLast((one) => (variables[one] ?? "") !== "");
    const written = key === undefined ? undefined : variables[key];
    const value = isRecord(written) && "__ansible_unsafe" in written ? written["__ansible_unsafe"] : written;
    if (value === undefined) return undefined;
    if (typeof value !== "string" && typeof value !== "number") problems.push(`${key} is not a plain text`);
    else if (/\{[{%]/.test(String(value))) problems.push(`${key} has a template, which only Ansible can resolve`);
    return String(value);
  };
  const refuse = (...keys: readonly string[]) =>
    problems.push(...keys.filter((key) => text(key) !== undefined).map((key) => `buddy does not use ${key}`));
  const connection = (text("ansible_connection") ?? "ssh").replace(PLUGIN_COLLECTION, "");
  const user = text("ansible_user", "ansible_ssh_user");
  const path = (): Hop[] => {
    if (connection === "local") return [];
    if (connection === "docker" || connection === "podman") {
      refuse("ansible_user", ...CONTAINER_VARIABLES.map((key) => `ansible_${connection}_${key}`));
      const container = text("ansible_host", `ansible_${connection}_host`) ?? name;
      return [{ kind: "container", name: container, engine: connection }];
    }
    if (!SSH_PLUGINS.has(connection)) problems.push(`buddy has no connection ${connection}`);
    refuse("ansible_ssh_executable");
    const host = text("ansible_host", "ansible_ssh_host") ?? name;
    const port = text("ansible_port", "ansible_ssh_port");
    if (port !== undefined && !/^\d+$/.test(port)) problems.push(`${JSON.stringify(port)} is not a port`);
    const destination = destinationText({ user, host, port });
    const key = text("ansible_private_key_file", "ansible_ssh_private_key_file");
    const args = key === undefined ? [] : ["-i", keyFile(key, directories, problems)];
    for (const variable of ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"])
      args.push(...sshOptions(text(variable) ?? "", variable, problems));
    return [{ kind: "ssh", destination, ...(args.length === 0 ? {} : { args }) }];
  };
  const found = path();
  return problems.length === 0 ? found : [...new Set(problems)].join("; ");
}

const PLUGIN_COLLECTION =
  /^(?:ansible\.builtin|ansible\.legacy|community\.docker|containers\.podman|community\.general)\./;
const SSH_PLUGINS = new Set(["ssh", "smart", "paramiko", "paramiko_ssh"]);
/** They change how, as whom or where a command runs in a container. */
const CONTAINER_VARIABLES = ["extra_args", "extra_env", "executable", "privileged", "user", "working_dir"];

/** A missing one is refused: ssh would try other keys, with which an account may be another one. */
function keyFile(written: string, directories: readonly string[], problems: string[]): string {
  const path = expandTilde(written, process.env["HOME"]);
  const found = ["/", ...directories].map((directory) => resolve(directory, path)).find((one) => existsSync(one));
  if (found === undefined) problems.push(`the key file ${written} does not exist`);
  return found ?? written;
}

/** Only options that decide how ssh connects: a word that is not an option would be another host. */
function sshOptions(text: string, variable: string, problems: string[]): string[] {
  const words = splitWords(text);
  const refused = (what: string) => {
    problems.push(`${what} in ${variable} cannot be used`);
    return [];
  };
  if (words === undefined) return refused("a quote that is not closed");
  const options: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (/^-[46AaCKkXxY]+$/.test(word)) options.push(word);
    else if (/^-[BbcFIiJlmop]./.test(word)) options.push(word);
    else if (/^-[BbcFIiJlmop]$/.test(word) && at + 1 < words.length) options.push(word, words[++at] ?? "");
    // How much ssh prints, and terminals, are decided by buddy.
    else if (!/^-[qvtT]+$/.test(word)) return refused(word);
  }
  return options;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}

/** Completion waits no longer than this; names from a script or a cloud are read again after FRESH_MS. */
const QUICK_MS = 2_000;
const FRESH_MS = 3_600_000;

/** For completion: the remembered names, or read again if that is quick. `state`: buddy's state directory. */
export async function inventoryNames(file: string, state: string | undefined): Promise<string[]> {
  const remembered = readNames(file, state);
  if (remembered?.isFresh === true) return remembered.names;
  try {
    const inventory = await readInventory(file, { signal: AbortSignal.timeout(QUICK_MS) });
    rememberNames(file, inventory, state);
    return namesIn(inventory);
  } catch (error) {
    // A broken inventory is reported where it is used.
    if (error instanceof BuddyError || isTimeout(error)) return remembered?.names ?? [];
    throw error;
  }
}

/** After each reading, so that completion works even if reading takes long. */
export function rememberNames(file: string, inventory: Inventory, state: string | undefined): void {
  if (state === undefined) return;
  try {
    mkdirSync(join(state, "inventories"), { recursive: true, mode: 0o700 });
    writeFileAtomic(pathFor(file, state), JSON.stringify(namesIn(inventory)));
  } catch (error) {
    // A full or read-only disk: the names are read again next time.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

function namesIn({ groups, hosts }: Inventory): string[] {
  return [...new Set([...groups.keys(), ...hosts.keys()])];
}

function readNames(file: string, state: string | undefined): { names: string[]; isFresh: boolean } | undefined {
  if (state === undefined) return undefined;
  try {
    const path = pathFor(file, state);
    const names: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!Array.isArray(names)) return undefined;
    const { mtimeMs } = statSync(path);
    const isFresh = mtimeMs > statSync(file).mtimeMs && Date.now() - mtimeMs < FRESH_MS;
    return { names: names.filter((name) => typeof name === "string"), isFresh };
  } catch {
    return undefined; // not remembered, or the inventory is gone
  }
}

function pathFor(file: string, state: string): string {
  return join(state, "inventories", `${Bun.hash(file).toString(36)}.json`);
}
