/** Patterns of names: `*` stands for any characters, `?` for one. */

export function matchesGlob(pattern: string, name: string): boolean {
  // By hand: a regular expression made of many stars can take exponential time.
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
