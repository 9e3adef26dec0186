/** Files with keys, and buddy's own files: reading one shows it to the model, so buddy asks before it is read. */
import { HOME, isFixed, ONE, SPLIT, STAR, UNKNOWN, WORD, WORDS } from "../shell/syntax/field.ts";
import { type Path, resolved } from "../shell/dangers/protected-paths.ts";
import { keys, own, type Secret } from "./secret-names.ts";

/** Whether the file at this path contains keys. A path from a shell word may contain the stand-ins for globs. */
export const holdsSecrets = remembered((path, directory) => {
  const place = placeOf(path, directory);
  if (keys().some((secret) => isAt(place, secret))) return true;
  const way = wayOf(path, directory);
  return way !== undefined && (way === "anywhere" || keys().some((secret) => endsAt(way, secret)));
});

/** A directory in which every file contains keys, such as `~/.ssh`. */
export const holdsSecretFiles = remembered((path, directory) => {
  const place = placeOf(path, directory);
  return keys().some(
    ({ parts, absolute }) => parts.at(-1)?.startsWith("*") === true && ends(place, parts.slice(0, -1), absolute),
  );
});

/** A directory with such files somewhere below it: a home, `/etc`, `~/.config`. */
export function hasSecretsBelow(path: string, directory = "."): boolean {
  return hasKeysBelow(placeOf(path, directory));
}

function hasKeysBelow(place: Path): boolean {
  if (place.parts.length === 0) return place.from !== ".";
  if (place.from === "/" && /^(?:home|users|root)(?:\/[^/]+)?$/.test(place.parts.join("/"))) return true;
  return isAbove(place, keys());
}

function isAbove(place: Path, files: readonly Secret[]): boolean {
  return files.some(({ parts, absolute }) =>
    parts.some((_, count) => count > 0 && ends(place, parts.slice(0, count), absolute)),
  );
}

/** Whether a file with keys may have this name, in any directory. */
export function mayNameSecret(name: string): boolean {
  return keys().some(({ parts }) => parts.at(-1) !== "**" && mayMatch(name.toLowerCase(), parts.at(-1) as string));
}

/** buddy's own files: its sessions and terminals. */
export const isBuddysOwn = remembered((path, directory) => {
  const place = placeOf(path, directory);
  return own().some((one) => isAt(place, one) || ends(place, one.parts.slice(0, -1), one.absolute));
});

/** A directory above buddy's own files, one of which has the key of its terminal marks. */
export function hasBuddysBelow(path: string, directory = "."): boolean {
  return isAbove(placeOf(path, directory), own());
}

/** Contains a variable of buddy's, or the beginning of a terminal mark. */
export function namesBuddy(text: string): boolean {
  return /__buddy|\bBUDDY_[A-Z]|7771[;~]|[\][]7771/.test(text);
}

/** Caches answers: texts inside texts name the same files again and again. */
function remembered(
  answer: (path: string, directory: string) => boolean,
): (path: string, directory?: string) => boolean {
  const known = new Map<string, boolean>();
  return (path, directory = ".") => {
    const key = `${directory}\0${path}`;
    let found = known.get(key);
    if (found === undefined) {
      if (known.size >= MOST_REMEMBERED) known.clear();
      known.set(key, (found = answer(path, directory)));
    }
    return found;
  };
}
const MOST_REMEMBERED = 500;

function placeOf(path: string, directory: string): Path {
  const { from, parts } = resolved(path.replace(/^~(?=\/|$)/, HOME), directory);
  return { from, parts: parts.map((part) => part.toLowerCase()) };
}

function isAt(place: Path, { parts: names, absolute, but, named }: Secret): boolean {
  const { from, parts } = place;
  const last = parts.at(-1);
  if (last === undefined || but.some((name) => isOnly(parts, name))) return false;
  if (names.length === 1 && names[0]?.startsWith("*") === true && PUBLIC.test(last)) return false;
  // Fast path: most rows end here if the last part of the path is fixed.
  if (names.at(-1) !== "**" && isFixed(last) && !mayMatch(last, names.at(-1) as string)) return false;
  if (named && !hasLetters(isFixed(last) ? last : last.replace(/\.[^.]*$/, ""))) return false;
  const below = names.at(-1) === "**";
  const fixed = below ? names.slice(0, -1) : names;
  // `.*` matches hidden files, which most of these are.
  if (!below && fixed.length === 1 && !absolute)
    return (hasLetters(last) || last.startsWith(".")) && mayMatch(last, fixed[0] as string);
  if (!below && isFoundBelow(place, names, absolute)) return true;
  for (let start = absolute ? 0 : parts.length - fixed.length; start >= 0; start--) {
    if (absolute && (start > 0 || from !== "/")) return false;
    const enough = below ? parts.length > start + fixed.length : parts.length === start + fixed.length;
    if (enough && fixed.every((name, index) => mayMatch(parts[start + index] as string, name)))
      // A wholly unknown name may be any file: it counts only if some part is known.
      return absolute || fixed.some((_, index) => isSpecific(parts[start + index] as string));
    // An unknown name in a directory that has such a file.
    if (enough && absolute && !below && last === UNKNOWN)
      return fixed.slice(0, -1).every((name, index) => mayMatch(parts[index] as string, name));
    if (absolute || !below) return false;
  }
  return false;
}

/** Patterns for public project files and for logs: `Dockerfile*`, `docker-compose*.yml`, `dpkg.log*`. */
const PUBLIC =
  /^(?:dockerfile|(?:docker-)?compose|makefile|jenkinsfile|vagrantfile|procfile|gemfile|readme|licen[cs]e|changelog|requirements|tsconfig|package|pyproject)[\w.-]*\uFDD0(?:\.?(?:ya?ml|json|txt|md|toml))?$|^(?:[\w.-]+\.log|syslog|messages)[.-]?\uFDD0$/;

/**
 * For a path that may lead elsewhere through links: `anywhere` below a link of /proc, otherwise the names after the
 * last `..` that follows a name, which are relative to a directory that only the machine knows.
 */
function wayOf(path: string, directory: string): "anywhere" | readonly string[] | undefined {
  if (!/\.\.|\/(?:proc|dev)\/|[\uFDD0-\uFDD2]/.test(path + directory)) return undefined;
  const text = /^[/~\uFDD3]/.test(path) || directory === "." ? path : `${directory}/${path}`;
  const parts: string[] = [];
  let tail: string[] | undefined;
  const pieces = text.split("/").filter((piece) => piece !== "" && piece !== ".");
  for (const [index, piece] of pieces.entries()) {
    if (piece === "..") {
      if (parts.pop() !== undefined) tail = [];
      continue;
    }
    parts.push(piece.toLowerCase());
    tail?.push(piece.toLowerCase());
    if (index < pieces.length - 1 && text.startsWith("/") && isProcessLink(parts)) return "anywhere";
  }
  return tail;
}

/** `/proc/1/root`, `/proc/self/task/7/cwd`, `/dev/fd/3`. */
function isProcessLink(parts: readonly string[]): boolean {
  const last = parts.at(-1) as string;
  const below = (...names: string[]) =>
    parts.length === names.length + 1 && names.every((name, index) => name === "*" || matches(parts[index], name));
  if (below("dev", "fd") || below("proc", "*", "fd") || below("proc", "*", "task", "*", "fd")) return true;
  return (matches(last, "root") || matches(last, "cwd")) && (below("proc", "*") || below("proc", "*", "task", "*"));
}

const matches = (part: string | undefined, name: string) => part !== undefined && mayMatch(part, name);

/** A path that ends in these names may be that absolute path. */
function endsAt(tail: readonly string[], { parts: names, absolute }: Secret): boolean {
  if (!absolute || tail.length === 0) return false;
  const fixed = names.at(-1) === "**" ? names.slice(0, -1) : names;
  const below = fixed.length < names.length;
  const least = below ? 1 : 0;
  for (let count = Math.min(fixed.length, tail.length - least); count > 0; count--) {
    if (!below && count !== tail.length) return false;
    const end = fixed.slice(fixed.length - count);
    if (
      end.every(
        (name, index) => name !== "*" && hasLetters(tail[index] as string) && mayMatch(tail[index] as string, name),
      )
    )
      return true;
  }
  return false;
}

/** For paths of find: a name somewhere below a directory. */
function isFoundBelow({ from, parts }: Path, names: readonly string[], absolute: boolean): boolean {
  const gap = parts.lastIndexOf(UNKNOWN);
  const tail = parts.slice(gap + 1);
  if (gap < 0 || tail.length === 0 || tail.length > names.length) return false;
  // The name alone says little: only its directory shows that it contains keys.
  if (tail.length < names.length && names.at(-1)?.startsWith("*") === true) return false;
  const head = parts.slice(0, gap);
  if (absolute && (from !== "/" || !head.every((part, index) => mayMatch(part, names[index] ?? "")))) return false;
  if (!isFixed(tail.at(-1) as string)) {
    // A pattern may match such a file only where one can be: those of a home are not below /etc.
    const inHomes = from === "~" || head.length === 0 || /^(?:home|users|root)$/.test(head[0] as string);
    const above = { from, parts: head };
    if (!(hasKeysBelow(above) || isAbove(above, own())) || (names[0]?.startsWith(".") === true && !inHomes))
      return false;
  }
  return tail.every((part, index) => mayMatch(part, names[names.length - tail.length + index] as string));
}

function ends({ from, parts }: Path, names: readonly string[], absolute: boolean): boolean {
  const start = parts.length - names.length;
  if (names.length === 0 || start < 0 || (absolute && (start > 0 || from !== "/"))) return false;
  return names.every((name, index) => {
    const part = parts[start + index] as string;
    return (absolute || hasLetters(part)) && mayMatch(part, name);
  });
}

/** Every file that the last part may match has this public name, or is in a directory of that name. */
function isOnly(parts: readonly string[], name: string): boolean {
  const last = parts.at(-1) as string;
  if (name.startsWith("*")) return last.endsWith(name.slice(1)) && last.length >= name.length;
  if (name.endsWith("*")) return last.startsWith(name.slice(0, -1));
  return last === name || parts.at(-2) === name;
}

/** Hidden, or a pattern with letters of the name in it. */
const isSpecific = (part: string) => hasLetters(part) || part.startsWith(".");

/** Fixed, or a pattern with at least two letters: others may match any file. */
function hasLetters(part: string): boolean {
  return isFixed(part) || part.replace(/[\uFDD0-\uFDDB]/g, "").length >= 2;
}

/** The part has the beginning or the end of the name. */
function overlaps(part: string, name: string): boolean {
  if (!name.includes("*")) return true;
  return (
    (/^[^\uFDD0-\uFDDB]/.test(part) && !name.startsWith("*")) || (/[^\uFDD0-\uFDDB]$/.test(part) && !name.endsWith("*"))
  );
}

/** Unknown numbers. */
const isNumeric = (part: string) => /^[\uFDD4\uFDD5\uFDD8\uFDD9]+$/.test(part);
/** What a number may match in a name of the table. */
const DIGIT = /[\d#*]/;

/** Whether a part of a path, perhaps with globs and unknown text, can match a name of the table. */
function mayMatch(part: string, name: string): boolean {
  if (name === part || name === "*") return true;
  if (name === "#") return !isFixed(part) || /^\d+$|self$/.test(part);
  if (isFixed(part)) {
    const star = name.indexOf("*");
    if (star < 0 && !name.includes("#")) return false;
    if (star >= 0 && !/[*#]/.test(name.slice(star + 1)) && !name.includes("#"))
      return (
        part.length >= name.length - 1 && part.startsWith(name.slice(0, star)) && part.endsWith(name.slice(star + 1))
      );
  }
  // Unknown text matches a name only if some of the name is known.
  if (part === UNKNOWN || isNumeric(part) || part === WORD || (part.includes(UNKNOWN) && !overlaps(part, name)))
    return false;
  if (name.startsWith(".") && (part[0] === STAR || part[0] === ONE)) return false;
  // `*release` and `vault_pass*` have no text in common.
  const [, end] = /^\uFDD0([^\uFDD0-\uFDDB]+)$/.exec(part) ?? [];
  if (end !== undefined && /^[^*#]+\*$/.test(name) && !name.includes(end.slice(0, 2))) return false;
  // The positions in the name that can be reached.
  let reached = new Set<number>([0]);
  const skipStars = (positions: Set<number>) => {
    for (const at of positions) if (name[at] === "*" || name[at] === "#") positions.add(at + 1);
    return positions;
  };
  skipStars(reached);
  for (const character of part) {
    const next = new Set<number>();
    const any = character === STAR || character === UNKNOWN || character === WORD || character === WORDS;
    for (const at of reached) {
      if (any) for (let to = at; to <= name.length; to++) next.add(to);
      else if (character !== SPLIT && isNumeric(character))
        for (let to = at; to === at || DIGIT.test(name[to - 1] ?? ""); to++) next.add(to);
      else if (name[at] === "*" || (name[at] === "#" && (character === ONE || /\d/.test(character)))) next.add(at);
      else if (at < name.length && (character === ONE || character === name[at])) next.add(at + 1);
    }
    reached = skipStars(next);
    if (reached.size === 0) return false;
  }
  return reached.has(name.length);
}
