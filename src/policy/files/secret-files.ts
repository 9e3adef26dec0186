/** Files of keys, and buddy's own: reading one hands it to the model, so buddy asks although nothing changes. */
import { HOME, isFixed, ONE, SPLIT, STAR, UNKNOWN, WORD, WORDS } from "../shell/syntax/field.ts";
import { type Path, resolved } from "../shell/dangers/protected-paths.ts";
import { keys, own, type Secret } from "./secret-names.ts";

/** Whether the file at this path holds keys. A path of a shell word may contain the characters that represent globs. */
export const holdsSecrets = remembered((path, directory) => {
  const place = placeOf(path, directory);
  if (keys().some((secret) => isAt(place, secret))) return true;
  const way = wayOf(path, directory);
  return way !== undefined && (way === "anywhere" || keys().some((secret) => endsAt(way, secret)));
});

/** A directory whose every file holds keys, such as `~/.ssh`. */
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

/** Some file of keys has this name, whatever directory it is in. */
export function mayNameSecret(name: string): boolean {
  return keys().some(({ parts }) => parts.at(-1) !== "**" && mayMatch(name.toLowerCase(), parts.at(-1) as string));
}

/** buddy's own files: what it keeps of sessions and terminals. */
export const isBuddysOwn = remembered((path, directory) => {
  const place = placeOf(path, directory);
  return own().some((one) => isAt(place, one) || ends(place, one.parts.slice(0, -1), one.absolute));
});

/** A directory above those of its terminals: the key of their marks is in one. */
export function hasBuddysBelow(path: string, directory = "."): boolean {
  return isAbove(placeOf(path, directory), own());
}

/** A variable of buddy's, or the beginning of a mark that its terminals write. */
export function namesBuddy(text: string): boolean {
  return /__buddy|\bBUDDY_[A-Z]|7771[;~]|[\][]7771/.test(text);
}

/** A text that runs texts names the same files again and again. */
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
  // Most rows end here: one comparison for each, where nothing in the path is open.
  if (names.at(-1) !== "**" && isFixed(last) && !mayMatch(last, names.at(-1) as string)) return false;
  if (named && !hasLetters(isFixed(last) ? last : last.replace(/\.[^.]*$/, ""))) return false;
  const below = names.at(-1) === "**";
  const fixed = below ? names.slice(0, -1) : names;
  // `.*` asks for hidden files, and most of these are.
  if (!below && fixed.length === 1 && !absolute)
    return (hasLetters(last) || last.startsWith(".")) && mayMatch(last, fixed[0] as string);
  if (!below && isFoundBelow(place, names, absolute)) return true;
  for (let start = absolute ? 0 : parts.length - fixed.length; start >= 0; start--) {
    if (absolute && (start > 0 || from !== "/")) return false;
    const enough = below ? parts.length > start + fixed.length : parts.length === start + fixed.length;
    if (enough && fixed.every((name, index) => mayMatch(parts[start + index] as string, name)))
      // Any name at all may be one of these: that counts only where some of it is known.
      return absolute || fixed.some((_, index) => saysSomething(parts[start + index] as string));
    // Any name at all, in a directory that has such a file.
    if (enough && absolute && !below && last === UNKNOWN)
      return fixed.slice(0, -1).every((name, index) => mayMatch(parts[index] as string, name));
    if (absolute || !below) return false;
  }
  return false;
}

/** Patterns for files that every project shows, and for logs: `Dockerfile*`, `docker-compose*.yml`, `dpkg.log*`. */
const PUBLIC =
  /^(?:dockerfile|(?:docker-)?compose|makefile|jenkinsfile|vagrantfile|procfile|gemfile|readme|licen[cs]e|changelog|requirements|tsconfig|package|pyproject)[\w.-]*\uFDD0(?:\.?(?:ya?ml|json|txt|md|toml))?$|^(?:[\w.-]+\.log|syslog|messages)[.-]?\uFDD0$/;

/**
 * Where links may make a path come out elsewhere than it reads: `anywhere` behind a link of /proc, otherwise the names
 * that follow the last `..` behind a name, which counts from a directory that only the machine knows.
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

/** A path that ends in these names may be that file of the root. */
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

/** What find runs on: a name somewhere below a directory. */
function isFoundBelow({ from, parts }: Path, names: readonly string[], absolute: boolean): boolean {
  const gap = parts.lastIndexOf(UNKNOWN);
  const tail = parts.slice(gap + 1);
  if (gap < 0 || tail.length === 0 || tail.length > names.length) return false;
  // Nearly every name ends like that; only the directory makes it one of keys.
  if (tail.length < names.length && names.at(-1)?.startsWith("*") === true) return false;
  const head = parts.slice(0, gap);
  if (absolute && (from !== "/" || !head.every((part, index) => mayMatch(part, names[index] ?? "")))) return false;
  if (!isFixed(tail.at(-1) as string)) {
    // A pattern may stand for such a file only where one can be: those of a home are not below /etc.
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

/** Every file that the last part may stand for has this public name, or is in a directory of that name. */
function isOnly(parts: readonly string[], name: string): boolean {
  const last = parts.at(-1) as string;
  if (name.startsWith("*")) return last.endsWith(name.slice(1)) && last.length >= name.length;
  if (name.endsWith("*")) return last.startsWith(name.slice(0, -1));
  return last === name || parts.at(-2) === name;
}

/** Hidden, or a pattern with letters of the name in it. */
const saysSomething = (part: string) => hasLetters(part) || part.startsWith(".");

/** A pattern of few letters may stand for any file: that alone does not make it one of keys. */
function hasLetters(part: string): boolean {
  return isFixed(part) || part.replace(/[\uFDD0-\uFDDB]/g, "").length >= 2;
}

/** Something of the name is in the part: how it begins, or how it ends. */
function overlaps(part: string, name: string): boolean {
  if (!name.includes("*")) return true;
  return (
    (/^[^\uFDD0-\uFDDB]/.test(part) && !name.startsWith("*")) || (/[^\uFDD0-\uFDDB]$/.test(part) && !name.endsWith("*"))
  );
}

/** Numbers that are not known. */
const isNumeric = (part: string) => /^[\uFDD4\uFDD5\uFDD8\uFDD9]+$/.test(part);
/** What a number may be in a name of the table. */
const DIGIT = /[\d#*]/;

/** Whether a part of a path, with globs and unknown text in it, can be a name of the table. */
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
  // Text that is not known matches a name only where something of the name is known.
  if (part === UNKNOWN || isNumeric(part) || part === WORD || (part.includes(UNKNOWN) && !overlaps(part, name)))
    return false;
  if (name.startsWith(".") && (part[0] === STAR || part[0] === ONE)) return false;
  // `*release` and `vault_pass*` have nothing in common but that both leave something open.
  const [, end] = /^\uFDD0([^\uFDD0-\uFDDB]+)$/.exec(part) ?? [];
  if (end !== undefined && /^[^*#]+\*$/.test(name) && !name.includes(end.slice(0, 2))) return false;
  // Columns are positions in the name that can be reached.
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
