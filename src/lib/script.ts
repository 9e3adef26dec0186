/**
 * Puts a script for a target together from files of templates/target. In them, a line `. ./NAME.sh` stands for that
 * file, and `@name@` for a value.
 */
export function script(text: string, parts: Readonly<Record<string, string>> = {}): string {
  return lean(text)
    .replace(/^\. \.\/([a-z-]+)\.sh\n/gm, (_, file: string) => {
      const part = parts[file.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
      if (part === undefined) throw new TypeError(`a script needs ${file}.sh`);
      return script(part, parts);
    })
    .replace(/@(\w+)@/g, (all, name: string) => parts[name] ?? all);
}

/** For a place that takes one line, or where line numbers in messages of a command must be right. */
export function onOneLine(text: string): string {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .reduce((before, line) => `${before}${OPEN.test(before) ? " " : "; "}${line}`);
}

/** Where no `;` may follow. */
const OPEN = /(?:^|[\s;])(?:then|do|else|in|[{(])$|(?:;;|[|&])$/;

/** Without indents and comments: a shell reads a pipe one byte at a time (1 ms for 1 KB). */
function lean(text: string): string {
  return text.replace(/^ *(?:#(?!!).*)?\n/gm, "").replace(/^ +/gm, "");
}
