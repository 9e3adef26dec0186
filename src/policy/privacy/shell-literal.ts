/** Puts a value into a shell command as literal text, whatever quotes surround it. */

/** Replaces each match of `pattern` in `command`; `value` returns the text, which may have any character but NUL. */
export function insertLiterals(
  command: string,
  pattern: RegExp,
  value: (match: RegExpExecArray) => string,
  shell: "posix" | "fish" = "posix",
): string {
  const places = new QuoteScanner(command, shell);
  let out = "";
  let kept = 0;
  const find = new RegExp(pattern.source, "g");
  for (let match = find.exec(command); match !== null; match = find.exec(command)) {
    out += command.slice(kept, match.index) + literal(value(match), places.at(match.index), shell);
    kept = match.index + match[0].length;
  }
  return out + command.slice(kept);
}

type Place = "plain" | "single" | "double" | "ansi" | "raw" | "expanding";

function literal(value: string, place: Place, shell: "posix" | "fish"): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(value)) return value;
  if (place === "raw") return value;
  // A here-document that expands.
  if (place === "expanding") return value.replace(/[\\$`]/g, "\\$&");
  if (place === "ansi") return value.replace(/[\\']/g, "\\$&");
  const inner = shell === "fish" ? value.replace(/[\\']/g, "\\$&") : value.replaceAll("'", String.raw`'\''`);
  if (place === "single") return inner;
  // Closes the double quotes and opens them again: `!` is not safe inside them in an interactive bash.
  return place === "double" ? `"'${inner}'"` : `'${inner}'`;
}

/** Reads a command from left to right and reports which quotes a place is in. */
class QuoteScanner {
  readonly #text: string;
  readonly #fish: boolean;
  #at = 0;
  /** Innermost last: `"`, `'`, `$'`, and `(` for a substitution, which has quotes of its own. */
  readonly #open: ("'" | '"' | "$'" | "(")[] = [];
  /** Here-documents whose body begins on the next line, and the one that is being read. */
  #waiting: HereDocument[] = [];
  #body: HereDocument | undefined;

  constructor(text: string, shell: "posix" | "fish") {
    this.#text = text;
    this.#fish = shell === "fish";
  }

  at(index: number): Place {
    while (this.#at < index) this.#step();
    if (this.#body !== undefined) return this.#body.expands ? "expanding" : "raw";
    switch (this.#open.at(-1)) {
      case "'":
        return "single";
      case '"':
        return "double";
      case "$'":
        return "ansi";
      default:
        return "plain";
    }
  }

  #step(): void {
    const text = this.#text;
    const char = text[this.#at]!;
    if (this.#body !== undefined) return this.#bodyLine();
    const inside = this.#open.at(-1);
    if (inside === "'") {
      if (this.#fish && char === "\\") this.#at++;
      else if (char === "'") this.#open.pop();
    } else if (inside === "$'") {
      if (char === "\\") this.#at++;
      else if (char === "'") this.#open.pop();
    } else if (char === "\\") this.#at++;
    else if (inside === '"') {
      if (char === '"') this.#open.pop();
      else if (char === "$" && text[this.#at + 1] === "(") this.#push("(", 1);
    } else this.#plain(char);
    this.#at++;
  }

  #plain(char: string): void {
    const text = this.#text;
    const next = text[this.#at + 1];
    if (char === "$" && next === "'" && !this.#fish) this.#push("$'", 1);
    else if (char === "'" || char === '"') this.#open.push(char);
    else if (char === "(") this.#open.push("(");
    else if (char === ")" && this.#open.at(-1) === "(") this.#open.pop();
    else if (char === "#" && /[\s;&|(]/.test(text[this.#at - 1] ?? " ")) {
      const end = text.indexOf("\n", this.#at);
      this.#at = (end < 0 ? text.length : end) - 1;
    } else if (char === "<" && next === "<" && text[this.#at + 2] !== "<" && !this.#fish) {
      const word = /^<<(-?)[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|\\?([\w.-]+))/.exec(text.slice(this.#at, this.#at + 200));
      if (word === null) return;
      const [whole, dash, single, double, bare] = word;
      const plain = bare !== undefined && !whole.includes("\\");
      this.#waiting.push({ end: single ?? double ?? bare ?? "", expands: plain, tabs: dash === "-" });
      this.#at += whole.length - 1;
    } else if (char === "\n" && this.#waiting.length > 0) this.#body = this.#waiting.shift();
  }

  #bodyLine(): void {
    const { end, tabs } = this.#body!;
    const stop = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, stop < 0 ? this.#text.length : stop);
    // Not the end: continue character by character, as the caller may ask for a place inside the line.
    const started = this.#at === 0 || this.#text[this.#at - 1] === "\n";
    if (started && (tabs ? line.replace(/^\t+/, "") : line) === end) {
      this.#body = this.#waiting.shift();
      this.#at += line.length;
      return;
    }
    this.#at++;
  }

  #push(quote: "$'" | "(", extra: number): void {
    this.#open.push(quote);
    this.#at += extra;
  }
}

interface HereDocument {
  readonly end: string;
  /** Its delimiter is not quoted: `$`, backquote and backslash are special in it. */
  readonly expands: boolean;
  readonly tabs: boolean;
}
