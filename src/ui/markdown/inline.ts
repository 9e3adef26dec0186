/** Bold, italic, code and links inside one block of Markdown. */
import { hyperlink, type Theme } from "../theme.ts";

export interface InlineOptions {
  readonly style: Theme;
  readonly links: boolean;
  /** The text is still growing: what is open counts as closed at its end, so that nothing jumps when it closes. */
  readonly growing: boolean;
}

export function inline(text: string, options: InlineOptions): string {
  return new Scan(text, options).render();
}

/** How much of the text more text cannot change: whole words, and no mark that may still find its partner. */
export function settledLength(text: string): number {
  let end = text.length;
  for (;;) {
    const word = Math.max(text.lastIndexOf(" ", end - 1), text.lastIndexOf("\n", end - 1));
    if (word < 0) return 0;
    const scan = new Scan(text.slice(0, word + 1), { style: PLAIN, links: false, growing: false });
    scan.render();
    if (scan.open > word) return word + 1;
    end = scan.open;
  }
}

const PLAIN = new Proxy({}, { get: () => (text: string) => text }) as Theme;

class Scan {
  open = Number.POSITIVE_INFINITY;
  #openInside = false;
  readonly #text: string;
  readonly #options: InlineOptions;

  constructor(text: string, options: InlineOptions) {
    this.#text = text;
    this.#options = options;
  }

  render(): string {
    // Looking for partners is quadratic in the worst case: no real paragraph is this long.
    if (this.#text.length > LONGEST) return this.#text;
    return this.#range(0, this.#text.length, true);
  }

  #range(from: number, to: number, outer: boolean): string {
    let out = "";
    let at = from;
    while (at < to) {
      const piece = this.#piece(at, to, outer);
      out += piece.shown;
      at = piece.next;
    }
    return out;
  }

  #piece(at: number, to: number, outer: boolean): Piece {
    const text = this.#text;
    const character = text[at]!;
    if (character === "\\" && at + 1 < to && /[!-/:-@[-`{-~]/.test(text[at + 1]!))
      return { shown: text[at + 1]!, next: at + 2 };
    if (character === "`") return this.#code(at, to, outer);
    if (character === "[" || (character === "!" && text[at + 1] === "[")) return this.#link(at, to, outer);
    if (character === "<" || character === "h") {
      const address = this.#address(at, to);
      if (address !== undefined) return address;
    }
    if (character === "*" || character === "_" || character === "~") return this.#emphasis(at, to, outer);
    return { shown: character, next: at + 1 };
  }

  #code(at: number, to: number, outer: boolean): Piece {
    const run = /^`+/.exec(this.#text.slice(at, to))![0];
    const { style, growing } = this.#options;
    let close = this.#text.indexOf(run, at + run.length);
    while (
      close >= 0 &&
      close + run.length <= to &&
      (this.#text[close + run.length] === "`" || this.#text[close - 1] === "`")
    ) {
      close = this.#text.indexOf(run, close + run.length + 1);
    }
    if (close < 0 || close + run.length > to) {
      this.#opened(at, outer);
      if (!growing || at + run.length >= to) return { shown: growing ? "" : run, next: at + run.length };
      return { shown: style.code(this.#text.slice(at + run.length, to)), next: to };
    }
    const body = this.#text.slice(at + run.length, close);
    const inner = /^ .*[^ ].* $/.test(body) ? body.slice(1, -1) : body;
    return { shown: style.color ? style.code(inner) : `\`${inner}\``, next: close + run.length };
  }

  #link(at: number, to: number, outer: boolean): Piece {
    const start = this.#text[at] === "!" ? at + 1 : at;
    const rest = this.#text.slice(start, to);
    const whole =
      /^\[((?:[^[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
        rest,
      );
    if (whole !== null) {
      const label = inline(whole[1]!, this.#options);
      return { shown: this.#shownLink(label, whole[2]!, whole[1] === whole[2]), next: start + whole[0].length };
    }
    const begun = /^\[([^\]]*)(?:\]|\]\([^)]*)?$/.exec(rest);
    if (begun !== null) {
      this.#opened(at, outer);
      if (this.#options.growing && rest.includes("](")) return { shown: this.#options.style.link(begun[1]!), next: to };
    }
    return { shown: this.#text[at]!, next: at + 1 };
  }

  #shownLink(label: string, url: string, same: boolean): string {
    const { style, links } = this.#options;
    const safe = /^(https?|mailto|ftp|file):/i.test(url) ? url : "";
    if (links && safe !== "") {
      const shown = hyperlink(style.link(label), safe);
      // A label that is an address itself must not hide another one.
      const misleads = !same && /[\w-]\.[a-z]{2,}|:\/\//i.test(label) && !url.includes(label);
      return misleads ? `${shown} (${url})` : shown;
    }
    return same || url === "" ? style.link(label) : `${style.link(label)} (${url})`;
  }

  #address(at: number, to: number): Piece | undefined {
    const rest = this.#text.slice(at, to);
    const angled = /^<((?:https?|mailto):[^\s<>]+)>/i.exec(rest);
    if (angled !== null) return { shown: this.#shownLink(angled[1]!, angled[1]!, true), next: at + angled[0].length };
    if (at > 0 && /\w/.test(this.#text[at - 1]!)) return undefined;
    const bare = /^https?:\/\/[^\s<>`]+/i.exec(rest);
    if (bare === null) return undefined;
    let url = bare[0].replace(/[.,;:!?'"*_~]+$/, "");
    while (url.endsWith(")") && url.split("(").length < url.split(")").length) url = url.slice(0, -1);
    return { shown: this.#shownLink(url, url, true), next: at + url.length };
  }

  #emphasis(at: number, to: number, outer: boolean): Piece {
    const text = this.#text;
    const mark = text[at]!;
    const run = new RegExp(`^\\${mark}+`).exec(text.slice(at, to))![0].length;
    const before = text[at - 1] ?? " ";
    const after = text[at + run] ?? " ";
    const plain = { shown: mark.repeat(run), next: at + run };
    if (run > 3 || (mark === "~" && run !== 2)) return plain;
    // At the end of the text it may still become an opening mark.
    if (at + run >= to) {
      if (/[\s(["']/.test(before)) this.#opened(at, outer);
      return this.#options.growing && /[\s(["']/.test(before) ? { shown: "", next: to } : plain;
    }
    if (/\s/.test(after) || (mark === "_" && /[\p{L}\p{N}]/u.test(before))) return plain;
    const close = this.#closing(mark, run, at + run, to);
    if (close === undefined) {
      this.#opened(at, outer);
      if (!this.#options.growing) return plain;
      return { shown: this.#styled(mark, run, this.#range(at + run, to, false)), next: to };
    }
    const body = this.#range(at + run, close, false);
    // A mark left open inside may take the closing one with it.
    if (outer && this.#openInside) this.#opened(at, true);
    if (outer) this.#openInside = false;
    return { shown: this.#styled(mark, run, body), next: close + run };
  }

  #closing(mark: string, run: number, from: number, to: number): number | undefined {
    const text = this.#text;
    for (let at = from; at < to; at++) {
      if (text[at] === "\\") at++;
      else if (text[at] === "`") {
        const ticks = /^`+/.exec(text.slice(at, to))![0];
        const end = text.indexOf(ticks, at + ticks.length);
        if (end >= 0 && end < to) at = end + ticks.length - 1;
      } else if (text[at] === mark) {
        let length = 1;
        while (at + length < to && text[at + length] === mark) length++;
        const closes = !/\s/.test(text[at - 1]!) && (mark !== "_" || !/[\p{L}\p{N}]/u.test(text[at + length] ?? " "));
        if (length === run && closes && at > from) return at;
        if (length > run && length === 3 && closes && at > from) return at + length - run;
        at += length - 1;
      }
    }
    return undefined;
  }

  #styled(mark: string, run: number, body: string): string {
    const { style } = this.#options;
    if (mark === "~") return style.strike(body);
    if (run === 1) return style.italic(body);
    return run === 2 ? style.bold(body) : style.bold(style.italic(body));
  }

  #opened(at: number, outer: boolean): void {
    if (outer) this.open = Math.min(this.open, at);
    else this.#openInside = true;
  }
}

interface Piece {
  readonly shown: string;
  readonly next: number;
}

const LONGEST = 20_000;
