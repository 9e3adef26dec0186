/**
 * What can lock the operator out: firewall, SSH server, network, PAM, sudoers, accounts
 * (templates/dangers/lockout.txt).
 */
import table from "../../../../templates/dangers/lockout.txt" with { type: "text" };
import { words } from "../../../lib/text.ts";
import { once } from "../../../lib/values.ts";
import { type Field, field, programName, readable } from "../syntax/field.ts";
import type { FoundCommand, Walked } from "../syntax/findings.ts";
import type { Danger } from "./danger.ts";
import { DangerTable, knownWords, matches, type ListedFile, ListedFiles } from "./danger-table.ts";

/** A part of a command that could lock the operator out. */
export interface Lockout {
  readonly kind: LockoutKind;
  /** Ends the sentence “it …”. */
  readonly does: string;
  /** Without wrappers such as sudo: `nft`, `systemctl`, `tee`. */
  readonly program: string;
  readonly words: readonly string[];
  /** The file it would change, absolute or below `~`. */
  readonly file?: string;
}

export type LockoutKind = "firewall" | "ssh" | "network" | "pam" | "sudoers" | "account" | "service";

/** Everything in a text that could lock the operator out, also inside sudo, xargs, sh -c and other wrappers. */
export function lockoutsIn({ commands, writes }: Walked, cwd: string | undefined): Lockout[] {
  return [...commands.flatMap((one) => lockouts(one, cwd)), ...writes.flatMap(({ file }) => ofWrite(file, ["."], cwd))];
}

/** Whether changing this file could lock the operator out; `path` is absolute. */
export function lockoutFile(path: string, home: string): Pick<Lockout, "kind" | "does"> | undefined {
  const root = `${home.replace(/\/+$/, "")}/`;
  const below = root !== "/" && path.startsWith(root) ? path.slice(root.length) : undefined;
  const files = lockoutFiles();
  const entry = files.at(path, false) ?? (below === undefined ? undefined : files.at(below, true));
  return entry === undefined ? undefined : asLockout(entry);
}

function lockouts(found: FoundCommand, cwd: string | undefined): Lockout[] {
  const argv = asService(found.argv);
  const program = programName(argv[0]?.value ?? "");
  const given = argv.map((word) => readable(word.value));
  const args = knownWords(argv.slice(1).map(({ value }) => value));
  const rows = lockoutTable()
    .of(program)
    .filter((row) => matches(row, args));
  const [row] = rows;
  const uses: Lockout[] =
    row === undefined ? [] : [{ kind: row.section as LockoutKind, does: row.words, program, words: given }];
  const files = [...written(program, argv.slice(1)), ...found.writes.map(({ file }) => file)].flatMap((file) =>
    ofWrite(file, found.directories, cwd).map((one) => ({ ...one, program, words: given })),
  );
  // The last word of cp is a file or a directory: paths below one that is already listed are left out.
  const isBelow = ({ file = "" }: Lockout) => files.some((other) => file.startsWith(`${other.file}/`));
  return [...uses, ...files.filter((one) => !isBelow(one))];
}

export function lockoutDanger(found: FoundCommand, cwd: string | undefined): Danger | undefined {
  const [first] = lockouts(found, cwd);
  return first === undefined ? undefined : asDanger(first);
}

export function asDanger({ does }: Pick<Lockout, "does">): Danger {
  return {
    check: "lockout",
    why: `it ${does} and could lock you out`,
    instead: "Let the operator do this by hand, with a second connection open.",
  };
}

export const lockoutTable = once(() => new DangerTable(table));

/** `/etc/init.d/ssh stop` is `service ssh stop`, and `kill $(pidof sshd)` is `pkill sshd`. */
function asService(argv: readonly Field[]): readonly Field[] {
  const killed = KILLED.exec(
    argv
      .slice(1)
      .map(({ source }) => source)
      .join(" "),
  )?.[1];
  if (programName(argv[0]?.value ?? "") === "kill" && killed !== undefined) return [field("pkill"), field(killed)];
  const name = /^\/etc\/(?:rc\.d\/)?(?:init\.d|rc\.d)\/([^/]+)$/.exec(argv[0]?.value ?? "")?.[1];
  return name === undefined ? argv : [field("service"), field(name), ...argv.slice(1)];
}

function ofWrite(file: string, directories: readonly string[], cwd: string | undefined): Lockout[] {
  const found = lockoutFiles().named(file, { directories, cwd });
  if (found === undefined) return [];
  return [{ ...asLockout(found), program: "", words: [], file: readable(found.path) }];
}

const asLockout = ({ section, words: does }: ListedFile) => ({ kind: section as LockoutKind, does });

const lockoutFiles = once(() => new ListedFiles(lockoutTable()));

/** The operands that a program writes, moves, deletes or changes. */
function written(program: string, args: readonly Field[]): string[] {
  const values = args.map(({ value }) => value);
  const operands = values.filter((value) => !value.startsWith("-"));
  const glued = values.flatMap((value) => /^(?:of=|--output=|--output-document=)([^]+)$/.exec(value)?.[1] ?? []);
  const after = (pattern: RegExp) => values.flatMap((value, at) => (pattern.test(value) ? [values[at + 1] ?? ""] : []));
  if (ALL_OPERANDS.has(program)) return operands;
  if (LATER_OPERANDS.has(program)) return operands.slice(1);
  if (LAST_OPERAND.has(program)) {
    const into = [
      ...after(/^(?:-t|--target-directory)$/),
      ...values.flatMap((v) => /^--target-directory=([^]+)$/.exec(v)?.[1] ?? []),
    ];
    const last = operands.at(-1) ?? "";
    const inside = operands
      .slice(0, -1)
      .map((source) => `${last.replace(/\/+$/, "")}/${source.replace(/\/+$/, "").replace(/^.*\//, "")}`);
    return [...into, last, ...inside];
  }
  if (IN_PLACE.has(program) && values.some((value) => IN_PLACE_OPTION.test(value))) {
    // Its script is the value of -e or -f, otherwise the first operand.
    const isScript = (at: number) => /^-[a-zA-Z]*[eEf]$|^--(?:expression|file)$/.test(values[at - 1] ?? "");
    const scripted = values.some((_, at) => isScript(at)) || values.some((value) => /^--(?:expr|file)/.test(value));
    const files = values.filter((value, at) => !value.startsWith("-") && !isScript(at));
    return scripted ? files : files.slice(1);
  }
  if (program === "dd") return glued;
  if (program === "curl" || program === "wget")
    return [...glued, ...after(/^-[a-zA-Z]*[oO]$|^--output(?:-document)?$/)];
  // The contents of an archive are unknown: the directory that it is unpacked into is checked.
  if (program === "unzip" || (TAR.has(program) && (EXTRACTS.test(values[0] ?? "") || values.some(isExtract))))
    return [
      ...after(/^-[a-zA-Z]*[Cd]$|^--directory$/),
      ...values.flatMap((value) => /^(?:--directory=|-[Cd])([^]+)$/.exec(value)?.[1] ?? []),
    ];
  if (program === "find" && values.includes("-delete")) return operands;
  return [];
}

const KILLED = /(?:pidof|pgrep|\/)[^;|&]*\b(sshd|dropbear|tailscaled|NetworkManager|systemd-networkd)\b/;

const ALL_OPERANDS = new Set(
  words(`rm unlink shred srm truncate tee sponge touch mv patch ed ex vi vim nvim view nano pico emacs micro joe mcedit
    sudoedit rmdir crudini augtool`),
);
const LATER_OPERANDS = new Set(words("chmod chown chgrp chattr setfacl chcon restorecon"));
const LAST_OPERAND = new Set(words("cp install ln rsync scp"));
const TAR = new Set(words("tar gtar bsdtar"));
const EXTRACTS = /^[a-zA-Z]*x/;
const isExtract = (value: string) => /^-[a-zA-Z]*x|^--(?:extract|get)$/.test(value);
const IN_PLACE = new Set(words("sed gsed perl ruby awk gawk yq"));
const IN_PLACE_OPTION = /^-[a-zA-Z0-9]*i|^--in-?place/;
