/** Lists of names: folded into ranges, and matched by pattern. */

/** web01, web02, web03 → web[01-03], which --on accepts. */
export function foldNames(names: readonly string[]): string {
  const left = new Set(names);
  const folded = new Map<string, string>();
  for (;;) {
    const best = largestFamily([...left]);
    if (best === undefined) break;
    const { before, after, members } = best;
    const text = `${before}[${ranges(members.map(({ digits }) => digits))}]${after}`;
    for (const { name } of members) {
      left.delete(name);
      folded.set(name, text);
    }
  }
  return [...new Set(names.map((name) => folded.get(name) ?? name))].join(",");
}

interface Family {
  readonly before: string;
  readonly after: string;
  readonly members: readonly { readonly name: string; readonly digits: string }[];
}

/** Names that differ in one number only. */
function largestFamily(names: readonly string[]): Family | undefined {
  const families = new Map<string, { before: string; after: string; members: { name: string; digits: string }[] }>();
  for (const name of names) {
    for (const match of name.matchAll(/\d{1,9}/g)) {
      const [digits] = match;
      const before = name.slice(0, match.index);
      const after = name.slice(match.index + digits.length);
      if (/[[\]]/.test(before + after)) continue;
      // web1 and web01 are different names: a range has one fixed width, or no leading zeros.
      const width = digits.startsWith("0") && digits.length > 1 ? digits.length : 0;
      const key = JSON.stringify([before, after, width]);
      const family = families.get(key) ?? { before, after, members: [] };
      family.members.push({ name, digits });
      families.set(key, family);
    }
  }
  const padded = [...families.values()].map((family) => withSameWidth(family, families));
  return padded.reduce<Family | undefined>(
    (best, one) =>
      one.members.length > 1 && one.members.length > (best?.members.length ?? 1)
        ? { ...one, members: one.members.toSorted((a, b) => Number(a.digits) - Number(b.digits)) }
        : best,
    undefined,
  );
}

/** web08, web09 and web10 are one family: 10 has the same width without a leading zero. */
function withSameWidth(family: Family, all: ReadonlyMap<string, Family>): Family {
  const width = family.members[0]?.digits.length ?? 0;
  if (!family.members.every(({ digits }) => digits.startsWith("0") && digits.length > 1)) return family;
  const plain = all.get(JSON.stringify([family.before, family.after, 0]));
  const fitting = plain?.members.filter(({ digits }) => digits.length === width) ?? [];
  return { ...family, members: [...family.members, ...fitting] };
}

/** Sorted numbers as ranges: 01-03,07. */
function ranges(digits: readonly string[]): string {
  const parts: string[] = [];
  for (let at = 0; at < digits.length;) {
    let end = at;
    while (end + 1 < digits.length && Number(digits[end + 1]) === Number(digits[end]) + 1) end++;
    parts.push(end === at ? digits[at]! : `${digits[at]}-${digits[end]}`);
    at = end + 1;
  }
  return parts.join(",");
}

/** The names that patterns match: names, globs (`web*`), ranges (`web[01-03,07]`), comma-separated lists of them. */
export function matchNames(patterns: readonly string[], names: readonly string[]): string[] {
  const tests = patterns
    .slice(0, MOST_PATTERNS)
    .filter((one) => one.length <= MOST_LIST)
    .flatMap(splitList)
    .map(patternTest);
  return names.filter((name) => tests.some((fits) => fits(name)));
}

/** At commas outside brackets. */
export function splitList(text: string): string[] {
  return text
    .split(/,(?![^[]*\])/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function patternTest(pattern: string): (name: string) => boolean {
  // Models write these patterns, too: a larger one would only waste time.
  if (pattern.length > MOST_CHARACTERS || pattern.split("*").length > MOST_STARS + 1) return () => false;
  const parts = pattern.split(/(\*|\?|\[[\da-z, -]+\])/i);
  if (parts.length === 1) return (name) => name === pattern;
  const groups: string[] = [];
  const source = parts.map((part, at) => {
    if (at % 2 === 0) return part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    if (part === "*") return ".*";
    if (part === "?") return ".";
    groups.push(part.slice(1, -1));
    return "([A-Za-z0-9]+)";
  });
  const whole = new RegExp(`^${source.join("")}$`, "s");
  return (name) => {
    const found = whole.exec(name);
    return found !== null && groups.every((group, at) => inRanges(found[at + 1] ?? "", group));
  };
}

/** Digits or letters: rack[a-d], db[one,two]. */
function inRanges(digits: string, list: string): boolean {
  return list.split(",").some((range) => {
    const [from = "", to = from] = range.split("-").map((end) => end.trim());
    if (!/^\d+$/.test(from + to + digits))
      return to === from
        ? digits === from
        : isLetter(from) && isLetter(to) && isLetter(digits) && digits >= from && digits <= to;
    const width = from.startsWith("0") && from.length > 1 ? from.length : 0;
    const padded = digits.startsWith("0") && digits.length > 1 ? digits.length : 0;
    if (width > 0 ? digits.length !== width : padded > 0) return false;
    const ends = [Number(from), Number(to)];
    return Number(digits) >= Math.min(...ends) && Number(digits) <= Math.max(...ends);
  });
}

function isLetter(text: string): boolean {
  return /^[A-Za-z]$/.test(text);
}

const MOST_PATTERNS = 1_000;
const MOST_LIST = 20_000;
const MOST_CHARACTERS = 300;
const MOST_STARS = 4;

/** `*` stands for any characters, `?` for one. */
export function matchesGlob(pattern: string, name: string): boolean {
  // Not a regular expression: one with many stars can take exponential time.
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (from < name.length) {
    if (pattern[at] === "*") [star, mark] = [at++, from];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[from])) {
      at++;
      from++;
    } else if (star >= 0) {
      at = star + 1;
      from = ++mark;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

/** Whether there is a name that both patterns match. */
export function globsMeet(one: string, other: string): boolean {
  // Which beginnings of `other` a beginning of `one` can meet; a star on either side may stand for nothing or for more.
  let reached = [true];
  for (let at = 0; at < other.length; at++) reached.push(reached[at] === true && other[at] === "*");
  for (const letter of one) {
    const next = [letter === "*" && reached[0] === true];
    for (let at = 0; at < other.length; at++) {
      const same = letter === "?" || other[at] === "?" || letter === other[at];
      const starred = letter === "*" || other[at] === "*";
      next.push(
        starred ? reached[at + 1] === true || next[at] === true || reached[at] === true : same && reached[at] === true,
      );
    }
    reached = next;
  }
  return reached[other.length] === true;
}
