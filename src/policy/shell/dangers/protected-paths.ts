/**
 * Paths that must not be deleted recursively: root, homes, system directories, a repository, the whole working
 * directory; and which paths are disks and devices.
 */
import { words } from "../../../lib/text.ts";
import { once } from "../../../lib/values.ts";
import { globMatches, HOME, isUnknown, matchesEverything, readable, SPLIT, STAR } from "../syntax/field.ts";

export interface CriticalPath {
  readonly kind: "root" | "home" | "working-directory" | "repository" | "system";
  /** Everything in it, as in `/etc/*`, not the directory itself. */
  readonly contents: boolean;
  /** In words: "a system directory (/etc)". */
  readonly what: string;
  /** Of a system directory. */
  readonly path?: string;
}

/** Undefined if the path is not critical. `cwd` is "." when only the running shell knows it. */
export function criticalPath(value: string, cwd: string): CriticalPath | undefined {
  // An empty argument names nothing.
  return value === "" ? undefined : critical(resolved(value, cwd));
}

/** A path in parts: absolute, below a home, or relative to an unknown directory. */
export interface Path {
  readonly from: "/" | "~" | ".";
  readonly parts: readonly string[];
}

export function resolved(value: string, cwd: string): Path {
  const word = value.replaceAll(SPLIT, "");
  const absolute = word.startsWith("/") || word.startsWith(HOME);
  const text = absolute || cwd === "." ? word : `${cwd}/${word}`;
  let from: Path["from"] = text.startsWith("/") ? "/" : text.startsWith(HOME) ? "~" : ".";
  const parts: string[] = [];
  const pieces = (from === "~" ? text.slice(1) : text).split("/");
  for (const piece of pieces) {
    if (piece === "" || piece === ".") continue;
    if (piece !== "..") {
      parts.push(piece);
      continue;
    }
    const last = parts.at(-1);
    if (last !== undefined && last !== "..") parts.pop();
    else if (from === ".") parts.push("..");
    else if (from === "~") {
      from = "/";
      parts.push("home");
    }
  }
  if (from === "/" && parts[0] === "proc" && parts[2] === "root") parts.splice(0, 3);
  if (from === "/" && parts[0] === "proc" && parts[2] === "cwd") {
    from = ".";
    parts.splice(0, 3);
  }
  return { from, parts };
}

/** Every directory that a name may be relative to: those of the text, and where the shell is. */
export function startingAt(directories: readonly string[], cwd: string | undefined): readonly string[] {
  if (cwd === undefined) return directories;
  const absolute = directories
    .filter((directory) => !/^[/\uFDD3]/.test(directory) && !isUnknown(directory))
    .map((directory) => `${cwd}/${directory}`);
  return [...directories, ...absolute];
}

/** Top-level directories of Linux and macOS; not /tmp. */
const system = once(() =>
  words(
    "bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt proc root run sbin snap srv sys usr var Applications Library System Users Volumes private cores",
  ),
);
const BELOW: Readonly<Record<string, readonly string[]>> = {
  usr: ["bin", "sbin", "lib", "lib32", "lib64", "libexec", "share", "local", "include", "src"],
  var: ["lib", "log", "spool", "mail", "db"],
  private: ["etc", "var"],
  System: ["Library"],
  Library: ["LaunchDaemons"],
};
const HOMES = ["home", "Users"];

function critical(path: Path): CriticalPath | undefined {
  const { from, parts } = path;
  const last = parts.at(-1);
  if (last === undefined) {
    if (from === "/") return itself("root", "the root directory");
    return from === "~" ? A_HOME : itself("working-directory", "the working directory");
  }
  if (parts.every((part) => part === "..") && from === ".")
    return itself("working-directory", "a parent of the working directory");
  if (matchesEverything(last)) {
    const above = critical({ from, parts: parts.slice(0, -1) });
    if (above !== undefined) return { ...above, contents: true, what: `everything in ${above.what}` };
  }
  if (parts.length === 1 && from === "~" && isUnknown(last)) return undefined;
  if (last.toLowerCase() === ".git" || (last.startsWith(".") && globMatches(last, ".git")))
    return itself("repository", "a git repository (.git)");
  if (from !== "/") return undefined;
  const top = parts[0] as string;
  if (isUnknown(top)) return undefined;
  if (parts.length === 1 && system().some((name) => globMatches(top, name))) return systemDirectory(parts);
  if (parts.length === 2) {
    if (HOMES.some((name) => globMatches(top, name)) && !isUnknown(last)) return A_HOME;
    for (const [name, below] of Object.entries(BELOW))
      if (globMatches(top, name) && below.some((inner) => globMatches(last, inner))) return systemDirectory(parts);
  }
  return undefined;
}

function itself(kind: CriticalPath["kind"], what: string): CriticalPath {
  return { kind, contents: false, what };
}

const A_HOME = itself("home", "a home directory");

function systemDirectory(parts: readonly string[]): CriticalPath {
  const path = `/${readable(parts.join("/"))}`;
  return { ...itself("system", `a system directory (${path})`), path };
}

/** A disk, a partition, a volume or memory below /dev: a write to it destroys a file system. */
export function isDisk(value: string, cwd = "."): boolean {
  const path = resolved(value, isUnknown(cwd) ? "." : cwd);
  if (path.from !== "/" || path.parts[0] !== "dev") return false;
  const [, name, inner] = path.parts;
  if (name === undefined) return false;
  if (disk().test(name)) return true;
  if (inner === undefined) return name.startsWith(STAR);
  return name === "disk" || name === "mapper" || name === "block" || name === "zvol" || !notVolumeGroups().has(name);
}

const disk = once(
  () =>
    /^(?:sd|hd|vd|xvd|nvme|mmcblk|loop|md|dm-|r?disk\d|sr\d|sg\d|cdrom|nbd|zram|ram\d|pmem|bcache|drbd|rbd|ubi|mtd|dasd|ada\d|da\d|mem$|kmem$|port$)/,
);
const notVolumeGroups = once(
  () =>
    new Set(
      words(
        "shm pts fd dri input snd net char bus cpu serial tcp udp mqueue hugepages v4l usb bsg infiniband vfio stdin stdout stderr null tty dma_heap accel",
      ),
    ),
);

/** A write to it changes no file. Not `/dev/fd/3`: that opens a file for writing that was opened for reading. */
export function isHarmlessSink(value: string): boolean {
  return /^\/dev\/(?:null|stdout|stderr|tty)$/.test(value);
}

/** Reading it may block, consume messages or disturb something; sources of plain bytes are not meant. */
export function isDeviceToRead(value: string, cwd = "."): boolean {
  const path = resolved(value, isUnknown(cwd) ? "." : cwd);
  if (path.from === "/" && ACTS.test(path.parts.join("/"))) return true;
  if (path.from !== "/" || path.parts[0] !== "dev" || path.parts.length < 2) return false;
  return !/^\/dev\/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd\/[0-9]+|shm\/.*)$/.test(
    `/${path.parts.join("/")}`,
  );
}

/** Messages that can be read only once, and debugfs, where reading some files makes a driver act. */
const ACTS =
  /^(?:proc\/(?:kmsg|acpi\/event)|run\/initctl|sys\/.*trace_pipe(?:_raw)?|sys\/kernel\/(?:debug|[\uFDD0-\uFDD2]+)\/.*)$/;

/** A directory with such files somewhere below it. */
export function hasDevicesBelow(value: string, cwd = "."): boolean {
  const path = resolved(value, isUnknown(cwd) ? "." : cwd);
  return path.from === "/" && /^(?:dev|sys|sys\/kernel(?:\/debug|\/tracing)?)$/.test(path.parts.join("/"));
}

/** Directories in which a name is looked up as a machine on the network: automounts, AFS, CernVM-FS. */
export function isOfAnotherMachine(value: string, cwd = "."): boolean {
  const path = resolved(value, isUnknown(cwd) ? "." : cwd);
  return path.from === "/" && /^(?:(?:net|afs|cvmfs)|network\/servers)\/[^/]/i.test(path.parts.join("/"));
}
