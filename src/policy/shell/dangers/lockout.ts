/**
 * What can lock the operator out: firewall, SSH server, network, PAM, sudoers, accounts
 * (templates/dangers/lockout.txt).
 */
import table from "../../../../templates/dangers/lockout.txt" with { type: "text" };
import { once } from "../../../lib/values.ts";
import { fileChanges, type LocatedChange, pathsOf, redirected } from "../../effects/file-changes.ts";
import { type Field, field, programName, readable } from "../syntax/field.ts";
import type { FoundCommand, Walked } from "../syntax/findings.ts";
import { type Danger, DangerTable, knownWords, type ListedFile, ListedFiles, matches } from "./danger.ts";

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

/** Redirections that could lock the operator out. */
export function lockoutWrites(writes: Walked["writes"], cwd: string | undefined): Lockout[] {
  return writes.flatMap((write) => ofChange(redirected(write), cwd));
}

/** Whether changing this file could lock the operator out; `path` is absolute. */
export function lockoutFile(path: string, home: string): Pick<Lockout, "kind" | "does"> | undefined {
  const root = `${home.replace(/\/+$/, "")}/`;
  const below = root !== "/" && path.startsWith(root) ? path.slice(root.length) : undefined;
  const files = lockoutFiles();
  const entry = files.at(path, false) ?? (below === undefined ? undefined : files.at(below, true));
  return entry === undefined ? undefined : asLockout(entry);
}

/** Everything in one command that could lock the operator out. */
export function lockouts(found: FoundCommand, cwd: string | undefined): Lockout[] {
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
  const files = fileChanges(found)
    .flatMap((change) => ofChange(change, cwd))
    .map((one) => ({ ...one, program, words: given }));
  // The last word of cp is a file or a directory: paths below one that is already listed are left out.
  const isBelow = ({ file = "" }: Lockout) => files.some((other) => file.startsWith(`${other.file}/`));
  return [...uses, ...new Map(files.filter((one) => !isBelow(one)).map((one) => [one.file, one])).values()];
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

function ofChange(change: LocatedChange, cwd: string | undefined): Lockout[] {
  return pathsOf(change).flatMap((path) => {
    const found = lockoutFiles().named(path, { directories: change.directories, cwd });
    return found === undefined ? [] : [{ ...asLockout(found), program: "", words: [], file: readable(found.path) }];
  });
}

const asLockout = ({ section, words: does }: ListedFile) => ({ kind: section as LockoutKind, does });

const lockoutFiles = once(() => new ListedFiles(lockoutTable()));

const KILLED = /(?:pidof|pgrep|\/)[^;|&]*\b(sshd|dropbear|tailscaled|NetworkManager|systemd-networkd)\b/;
