/**
 * Takes out of an HTML text the tags that would nest too deeply or close nothing: parsers take quadratic time on those.
 */
export function limitNesting(html: string): string {
  const pieces: string[] = [];
  const open: string[] = [];
  const count = new Map<string, number>();
  let kept = 0;
  for (let at = html.indexOf("<"); at >= 0;) {
    const tag = tagAt(html, at);
    if (tag === undefined) {
      at = html.indexOf("<", at + 1);
      continue;
    }
    if (tag.drop?.(open, count) === true) {
      pieces.push(html.slice(kept, at));
      kept = tag.end;
    }
    at = html.indexOf("<", tag.end);
  }
  if (pieces.length === 0) return html;
  pieces.push(html.slice(kept));
  return pieces.join("");
}

interface TagSpan {
  readonly end: number;
  /** Follows the parser's stack; true when the tag is better left out. */
  readonly drop?: (open: string[], count: Map<string, number>) => boolean;
}

/** The tag, comment or raw-text element that starts here; undefined when the `<` is only text. */
function tagAt(html: string, at: number): TagSpan | undefined {
  if (html.startsWith("<!--", at)) return { end: after(html, "-->", at + 4) };
  if (/[!?]/.test(html[at + 1] ?? "")) return { end: after(html, ">", at + 1) };
  NAME.lastIndex = at + 1;
  const match = NAME.exec(html);
  if (match === null) return undefined;
  const name = (match[2] ?? "").toLowerCase();
  const end = tagEnd(html, NAME.lastIndex);
  if (match[1] === "/") return { end, drop: (open, count) => closes(open, count, name) };
  if (RAW_TEXT.has(name)) return { end: afterRawText(html, name, end) };
  if (VOID.has(name)) return { end };
  return { end, drop: (open, count) => opens(open, count, name) };
}

function opens(open: string[], count: Map<string, number>, name: string): boolean {
  if (open.length >= MAX_DEPTH) return true;
  open.push(name);
  count.set(name, (count.get(name) ?? 0) + 1);
  return false;
}

function closes(open: string[], count: Map<string, number>, name: string): boolean {
  // </p> and </br> mean something even alone
  if ((count.get(name) ?? 0) === 0) return name !== "p" && name !== "br";
  for (let last = open.pop(); last !== undefined; last = open.pop()) {
    count.set(last, (count.get(last) ?? 1) - 1);
    if (last === name) break;
  }
  return false;
}

/** Past the `>` that ends the tag; one inside quotes does not. */
function tagEnd(html: string, from: number): number {
  for (let i = from; i < html.length; i++) {
    const character = html[i];
    if (character === ">") return i + 1;
    if ((character === '"' || character === "'") && /=\s*$/.test(html.slice(Math.max(from, i - 8), i))) {
      const quote = html.indexOf(character, i + 1);
      if (quote < 0) return html.length;
      i = quote;
    }
  }
  return html.length;
}

function after(html: string, what: string, from: number): number {
  const at = html.indexOf(what, from);
  return at < 0 ? html.length : at + what.length;
}

function afterRawText(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, "gi");
  end.lastIndex = from;
  const match = end.exec(html);
  return match === null ? html.length : after(html, ">", match.index);
}

/** Real pages stay below a hundred. */
const MAX_DEPTH = 400;
const NAME = /(\/?)([a-z][^\s/>]*)/iy;
const RAW_TEXT: ReadonlySet<string> = new Set(["script", "style", "textarea", "title"]);
const VOID: ReadonlySet<string> = new Set(
  "area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr".split(
    " ",
  ),
);
