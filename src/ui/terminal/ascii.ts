/** For locales without UTF-8: the same text in ASCII, every character as wide as before. */
type Env = Readonly<Record<string, string | undefined>>;

/** Only a locale that is set and is not UTF-8 counts: many machines set none and have a UTF-8 terminal. */
export function asciiOnly(env: Env): boolean {
  const locale = (env.LC_ALL || env.LC_CTYPE || env.LANG || "").toLowerCase();
  return locale !== "" && !locale.includes("utf-8") && !locale.includes("utf8");
}

/** What writes to a terminal passes here; escape sequences are ASCII already. */
export function terminalEncoder(env: Env): (text: string) => string {
  return asciiOnly(env) ? toAscii : (text) => text;
}

export function toAscii(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(" …", "..").replace(/[^\x00-\x7f]/gu, (character) => {
    const known = SIGNS[character];
    if (known !== undefined) return known;
    const code = character.codePointAt(0)!;
    if (code >= 0x2500 && code <= 0x257f) return BOX_LINES.has(character) ? "-" : character === "│" ? "|" : "+";
    if (code >= 0x2800 && code <= 0x28ff) return SPINNER[code % SPINNER.length]!;
    // oxlint-disable-next-line no-control-regex
    const plain = character.normalize("NFKD").replace(/[^\x00-\x7f]/g, "");
    const width = Bun.stringWidth(character);
    return plain.length === width ? plain : "?".repeat(width);
  });
}

const SIGNS: Readonly<Record<string, string>> = {
  // Not a path and not a pattern: what is copied with it does nothing.
  "…": ">",
  "●": "*",
  "•": "*",
  "·": "-",
  "›": ">",
  "−": "-",
  "–": "-",
  "—": "-",
  "“": '"',
  "”": '"',
  "‘": "'",
  "’": "'",
  "→": ">",
  "↑": "^",
  "↓": "v",
  "≈": "~",
  "⏎": "|",
  "✓": "x",
  "×": "x",
};
const BOX_LINES = new Set("─━┄┅┈┉╌╍═");
const SPINNER = ["|", "/", "-", "\\"];
