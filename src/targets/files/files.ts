/** Files on any target: resolved, read and written by small scripts. */
import { nameFrom } from "../../lib/byte-names.ts";
import { randomBytes } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { decodeText, decodeUtf16, encodeText } from "../../lib/text-encoding.ts";
import { octal, wholeCharacters } from "../../lib/text.ts";
import { PermissionDenied } from "../errors.ts";
import { type RunAsRoot, runAsRoot } from "../as-root.ts";
import { READ, REMOVE_OR_LINK, RESOLVE, SET_ACL, STATES, WRITE } from "./file-scripts.ts";
import type {
  FileAccess,
  FileSlice,
  MachineFacts,
  ResolvedPath,
  ScriptOptions,
  ScriptResult,
  Shell,
  Transport,
  Written,
  FileState,
  SeenFile,
} from "../target.ts";

/** The most that is read or written in one call. */
const MAX_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 16 * 1024 * 1024;

export interface FileOptions {
  /** Where relative paths start: the current directory of the shell. */
  readonly cwd: () => string;
  /** The shell in which sudo may ask for a password. */
  readonly shell?: Shell;
}

export function fileAccess(transport: Transport, options: FileOptions): FileAccess {
  return accessAs(transport, options, undefined);
}

/** `root`: does everything as root. */
function accessAs(transport: Transport, options: FileOptions, root: RunAsRoot | undefined): FileAccess {
  const facts = root === undefined ? transport.facts : { ...transport.facts, user: "root", uid: 0 };
  const ask = async (script: string, verb: string, path: string, args: readonly string[], more: ScriptOptions = {}) => {
    if (path === "") throw new BuddyError("target", "the path is empty");
    if (path.includes("\0")) throw new BuddyError("target", "a path cannot contain a NUL byte");
    const request = { args: [path, options.cwd(), ...args], ...more };
    return await (root === undefined
      ? transport.run(script, request)
      : root(script, { ...request, purpose: `${verb} ${path}` }));
  };

  return {
    asRoot: (how = {}) => accessAs(transport, options, runAsRoot(transport, options.shell, how)),

    async resolve(path, { follow = true } = {}) {
      const result = await ask(RESOLVE, "find", path, [follow ? "1" : "0"]);
      const [resolved, kind, home, folds, hidden] = fields(result, 5);
      if (result.code !== 0 || !isKind(kind)) throw failure("resolve", path, result, facts);
      return {
        path: resolved ?? path,
        kind,
        exists: kind !== "missing",
        home: home ?? "/",
        caseInsensitive: folds === "1",
        hidden: hidden === "1",
      };
    },

    async read(path, { offset = 1, limit, maxBytes = READ_BYTES, signal, onlyAt = "" } = {}) {
      const first = Math.max(1, Math.trunc(offset));
      const most = Math.min(Math.max(0, Math.trunc(maxBytes)), MAX_BYTES);
      const lines = limit === undefined ? "" : String(Math.max(0, Math.trunc(limit)));
      // One byte more than wanted, to distinguish a full slice from a cut one.
      const args = [String(first), lines, String(most + 1), String(facts.uid), onlyAt];
      const result = await ask(READ, "read", path, args, { signal });
      if (result.code !== 0) throw failure("read", path, result, facts);
      return slice(result.stdout, first, limit, most);
    },

    async write(path, data, { signal, onlyAt = "" } = {}) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      if (bytes.byteLength > MAX_BYTES) {
        throw new BuddyError("target", `cannot write ${path}: ${bytes.byteLength} bytes exceed the limit of 64 MiB`);
      }
      const temporary = `.buddy-${randomBytes(8).toString("hex")}`;
      const args = [String(bytes.byteLength), temporary, onlyAt];
      const result = await ask(WRITE, "write", path, args, { input: bytes, signal });
      if (result.code === WRONG) throw wrong(path, result, temporary);
      if (result.code !== 0) throw failure("write", path, result, facts);
      return { bytes: bytes.byteLength, ...written(fields(result, 5)) };
    },

    async look(places, { cwd = options.cwd(), maxBytes = MAX_BYTES, maxTotal = MAX_BYTES, signal } = {}) {
      const [first] = places;
      if (first === undefined) return [];
      const words = places.flatMap(({ path, inside = "", follow }) => [path, inside, follow ? "1" : "0"]);
      const request = { args: [cwd, String(maxBytes), String(maxTotal), ...words], signal };
      const result = await (root === undefined
        ? transport.run(STATES, request)
        : root(STATES, { ...request, purpose: `read ${first.path}` }));
      if (result.code !== 0) throw failure("read", first.path, result, facts);
      return seenFiles(result.stdout, places.length);
    },

    async restore(path, state, { signal } = {}) {
      const temporary = `.buddy-${randomBytes(8).toString("hex")}`;
      if (state.kind !== "file") {
        const to = state.kind === "link" ? state.to : "";
        const verb = state.kind === "link" ? "write" : "remove";
        const result = await ask(REMOVE_OR_LINK, verb, path, [temporary, to], { signal });
        if (result.code !== 0) throw failure("write", path, result, facts);
        return;
      }
      const { bytes, mode, uid, gid, acl, inode = "" } = state;
      const args = [String(bytes.byteLength), temporary, path, octal(mode), `${uid}:${gid}`, "1", inode];
      const result = await ask(WRITE, "write", path, args, { input: bytes, signal });
      if (result.code !== 0) throw failure("write", path, result, facts);
      if (acl !== undefined) await ask(SET_ACL, "write", path, [], { input: Buffer.from(acl), signal });
    },
  };
}

/** Exit code: a program on the target rejected the new text. */
const WRONG = 30;
const MOST_WORDS = 2000;

function wrong(path: string, { stdout }: ScriptResult, temporary: string): BuddyError {
  // Removes the directory of the copy that was checked; the copy has the name of the file.
  const copies = new RegExp(`[^\\s"']*/${temporary.replace(".", "\\.")}\\.check/(?:dir/)?`, "g");
  const words = stdout.toString().replaceAll(copies, "").trim().slice(0, MOST_WORDS);
  return new BuddyError("target", `${path} was not changed: the check rejected the new text:\n${words}`, {
    hint: "Correct the text and write it again.",
  });
}

function written([created, , by = "", how, said = ""]: readonly string[]): Omit<Written, "bytes"> {
  const words = said.trim().slice(0, MOST_WORDS);
  return {
    created: created === "1",
    ...(by !== "" && (how === "copy" || how === "whole" || how === "after")
      ? { checked: { by, how, ...(words === "" ? {} : { said: words }) } }
      : {}),
    ...(how === "same" ? { uncheckable: `${by}: ${words}` } : {}),
  };
}

function slice(answer: Buffer, first: number, limit: number | undefined, most: number): FileSlice {
  let at = 0;
  const field = () => {
    const end = answer.indexOf(0, at);
    const text = answer.toString("latin1", at, end);
    at = end + 1;
    return text;
  };
  const [mode, links, owner] = [field(), Number(field()), field()];
  const access = { mode, links, ...(owner === "" ? {} : { owner }) };
  const sizeBytes = Number(field());
  const nul = field();
  const feeds = field();
  const open = field() === "1";
  const raw = answer.subarray(at);
  const whole = nul === "whole";
  if (raw.length > READ_BYTES && whole) throw new BuddyError("target", ENDLESS);
  const wide = whole ? decodeUtf16(raw) : undefined;
  const content = wide === undefined ? raw : Buffer.from(wide.text);
  if ((!whole && nul !== "0") || content.includes(0)) {
    return { ...decodeText(NOTHING), bytes: NOTHING, binary: true, sizeBytes, access, lines: 0 };
  }
  const total = whole ? countLines(content) : feeds === "" ? undefined : Number(feeds) + (open ? 1 : 0);
  let bytes = whole ? linesOf(content, first, limit) : content;
  let cutLine = false;
  if (bytes.length > most) {
    const end = most === 0 ? 0 : bytes.lastIndexOf(10, most - 1) + 1;
    cutLine = end === 0;
    bytes = bytes.subarray(0, cutLine ? wholeCharacters(bytes, most) : end);
  }
  const lines = countLines(bytes);
  const decoded = decodeText(bytes);
  return {
    ...decoded,
    bytes,
    ...(wide === undefined ? {} : { encoding: wide.encoding, bytes: encodeText(decoded.text, wide.encoding) ?? bytes }),
    binary: false,
    access,
    sizeBytes: whole ? raw.length : sizeBytes,
    lines,
    ...(cutLine ? { cutLine } : {}),
    ...(total === undefined ? {} : { linesLeft: Math.max(0, total - (first - 1) - lines) }),
  };
}

function linesOf(content: Buffer, first: number, limit: number | undefined): Buffer {
  let from = 0;
  for (let line = 1; line < first; line++) {
    const end = content.indexOf(10, from);
    if (end < 0) return content.subarray(0, 0);
    from = end + 1;
  }
  if (limit === undefined) return content.subarray(from);
  let to = from;
  for (let line = 0; line < Math.trunc(limit); line++) {
    const end = content.indexOf(10, to);
    if (end < 0) return content.subarray(from);
    to = end + 1;
  }
  return content.subarray(from, to);
}

const NOTHING = Buffer.alloc(0);
const ENDLESS = "the kernel does not report its size, and it has more than 16 MiB: read a part of it with a command";

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
  return bytes.length > 0 && bytes.at(-1) !== 10 ? lines + 1 : lines;
}

function fields(result: ScriptResult, count: number): string[] {
  return nameFrom(result.stdout).split("\0").slice(0, count);
}

function isKind(kind: string | undefined): kind is ResolvedPath["kind"] {
  return kind === "file" || kind === "directory" || kind === "other" || kind === "missing";
}

/** Exit codes of the scripts. 1 and 2 come from the shell itself, if it cannot fork, for example. */
export const CODES: Readonly<Record<number, string>> = {
  3: "the path now leads elsewhere; nothing was changed",
  4: "too many levels of symbolic links",
  5: "it cannot be read",
  6: "the kernel has no text for it now: reading it waits",
  9: "the connection broke off before all of it arrived; nothing was changed",
  20: "a part of the path is a file, not a directory",
  21: "it is a directory",
  22: "it is not a regular file but a device, pipe or socket",
  23: "it belongs to the kernel, and takes no text as a file does; use a command, such as echo VALUE >FILE",
  29: "another user can replace files in its directory, and this one can only be written in place; nothing was changed",
  31: "it is now another name of a different file, which would change, too; nothing was changed",
  41: "it is a symbolic link that leads nowhere",
  42: "no such file",
  44: "it leads to another file than the one that was judged; nothing was read",
  43: "the working directory is gone, renamed or removed; use a path from the root, or change the directory first",
};

const DENIED = 13;
const READ_ONLY = /read-only file system/i;

/** What the tools on the target print in the C locale, what it means, what to do. */
const SAID: readonly (readonly [RegExp, string, string?])[] = [
  [READ_ONLY, "the file system is mounted read-only"],
  [/no space left/i, "the disk is full", "Free some space first: df -h and df -i show which file system is full."],
  [/quota exceeded/i, "the disk quota is used up"],
  [/permission denied|operation not permitted/i, "permission denied"],
  [/not a directory|file exists/i, "a part of the path is a file, not a directory"],
  [/nonexist|no such file/i, "the directory does not accept new files"],
  [/file name too long/i, "the name is too long"],
  [
    /cannot fork|fork: /i,
    "the machine could not start another process",
    "It has too many processes or too little memory: ulimit -u, pids limits and free show which.",
  ],
];

function failure(verb: string, path: string, result: ScriptResult, facts: MachineFacts): BuddyError {
  const said = result.stderr.trim();
  if (result.code === DENIED && !READ_ONLY.test(said)) return denied(verb, path, result, facts);
  const [, meaning, hint] = SAID.find(([pattern]) => pattern.test(said)) ?? [];
  // Without the name of the tool and the path before it.
  const reason = said.split("\n").at(-1)?.split(": ").at(-1) ?? "";
  const refused = reason === "" ? `exit code ${result.code}` : `the system refused it (${reason.toLowerCase()})`;
  const why = CODES[result.code] ?? meaning ?? refused;
  return new BuddyError("target", `cannot ${verb} ${path}: ${why}${verb === "write" ? aftermath(result) : ""}`, {
    hint,
  });
}

/** The state of the file after a failed write. */
function aftermath({ code, stdout }: ScriptResult): string {
  if (code === 27) return "; its old text was put back";
  if (code === 8) return `; the file is incomplete, and its old text is in ${stdout.toString().split("\0")[0]}`;
  if (code === 2) return "; whether it was changed is not known: read it first";
  return code === 1 || code === DENIED || code === 28 ? "; nothing was changed" : "";
}

/** With owner and mode of the file or directory, and what to do. */
function denied(verb: string, path: string, { stdout }: ScriptResult, { user, uid }: MachineFacts): PermissionDenied {
  const [listed = "", attributes = ""] = stdout.toString().split("\n");
  const [mode = "", , owner = "", group = ""] = listed.split(/\s+/);
  const flags = attributes.split(" ")[0] ?? "";
  const locked = verb === "write" && flags.includes("i") ? "immutable" : flags.includes("a") ? "append-only" : "";
  const what = mode.startsWith("d") ? "the directory" : "it";
  if (verb === "write" && locked !== "") {
    return new PermissionDenied(
      "target",
      `cannot write ${path}: permission denied: ${what} is ${locked}; nothing was changed`,
      {
        hint: `${uid === 0 ? "" : "As root: "}chattr -${locked === "immutable" ? "i" : "a"} removes that flag, unless it is set on purpose.`,
      },
    );
  }
  const whose = owner === "" ? "" : `: ${what} belongs to ${owner}:${group} (mode ${mode}), and you are ${user}`;
  return new PermissionDenied("target", `cannot ${verb} ${path}: permission denied${whose}`, {
    hint: uid === 0 ? undefined : owner === user ? OWN : "Set sudo: true to do it as root; the operator is asked.",
  });
}

const OWN = "Its owner can change that mode: chmod u+rw for a file, u+rwx for a directory.";

// ── The state of files (content, mode, owner, link), many in one round trip; and the scripts that restore them.

export function seenFiles(answer: Buffer, count: number): SeenFile[] {
  let at = 0;
  const field = (): string => {
    const end = answer.indexOf(0, at);
    const text = nameFrom(answer.subarray(at, end));
    at = end + 1;
    return text;
  };
  return Array.from({ length: count }, () => {
    const [path, kind, mode, uid, gid, owner, more, inode, size] = Array.from({ length: 9 }, field) as Nine;
    const bytes = new Uint8Array(answer.subarray(at, at + Number(size)));
    at += bytes.length;
    const changed = field() !== size;
    return { path, state: state() };

    function state(): FileState {
      if (kind === "missing") return { kind };
      if (kind === "link") return { kind, to: more };
      if (kind === "file" && !changed) {
        const acl = more === "" ? {} : { acl: more };
        const linked = inode === "" ? {} : { inode };
        return { kind, bytes, mode: bitsOf(mode), uid: Number(uid), gid: Number(gid), owner, ...acl, ...linked };
      }
      return {
        kind: "unread",
        why: kind === "directory" || kind === "special" || kind === "large" ? kind : "unreadable",
      };
    }
  });
}

type Nine = [string, string, string, string, string, string, string, string, string];

/** Permission bits from the form of `ls -l`: "-rwsr-xr-t". */
function bitsOf(shown: string): number {
  let bits = 0;
  for (const [index, letter] of shown.slice(1, 10).split("").entries()) {
    const special = 0o4000 >> Math.floor(index / 3);
    if (letter !== "-" && letter !== "S" && letter !== "T") bits |= 0o400 >> index;
    if (/[sStT]/.test(letter)) bits |= special;
  }
  return bits;
}
