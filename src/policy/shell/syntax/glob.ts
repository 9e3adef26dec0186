/** Whether a pattern with active globs could match a name. */
import { ONE, STAR, UNKNOWN } from "./field.ts";

/** Time is linear in pattern × name. A leading dot is matched only by a dot, as in the shell. */
export function globMatches(pattern: string, name: string): boolean {
  const first = pattern[0];
  if (name.startsWith(".") && (first === STAR || first === ONE)) return false;
  let p = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    if (p < pattern.length && (pattern[p] === ONE || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (p < pattern.length && pattern[p] === STAR) {
      star = p++;
      mark = n;
    } else if (star >= 0) {
      p = star + 1;
      n = ++mark;
    } else return false;
  }
  while (p < pattern.length && pattern[p] === STAR) p++;
  return p === pattern.length;
}

/** Matches everything in a directory: `*`, `**`, `?*`, `.*`. */
export function matchesEverything(pattern: string): boolean {
  const rest = pattern.startsWith(".") ? pattern.slice(1) : pattern;
  if (!rest.includes(STAR) || rest.includes(UNKNOWN)) return false;
  for (const character of rest) if (character !== STAR && character !== ONE) return false;
  return true;
}

/** The pattern in `${x#…}` and the like; undefined if a part of it is unknown. */
export function patternToRegExp(pattern: string, greedy: boolean): string | undefined {
  if (pattern.includes(UNKNOWN) || pattern.includes(ONE)) return undefined;
  let out = "";
  for (const character of pattern) {
    if (character === STAR) out += greedy ? "[^]*" : "[^]*?";
    else out += character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  }
  return out;
}
