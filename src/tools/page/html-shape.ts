/** What the elements of a page are to a reader: block or running text, navigation, a link. */
import { words } from "../../lib/text.ts";

export interface Shape {
  isBlock(element: HtmlElement): boolean;
  /** An inline element with blocks inside: `<b>` left open over paragraphs. */
  isTorn(element: HtmlElement): boolean;
  /** Scripts, navigation, form controls, and what the page itself hides. */
  isDropped(element: HtmlElement): boolean;
  /** The absolute address of a link that leads elsewhere. */
  link(element: HtmlElement): string | undefined;
  /** The accessible name of a link. */
  name(element: HtmlElement): string | undefined;
  /** Text with its white space. */
  verbatim(element: HtmlElement): string;
}

interface HtmlText {
  readonly type: "text";
  readonly data: string;
}

export interface HtmlElement {
  readonly type: "tag" | "script" | "style" | "root";
  readonly name: string;
  readonly attribs: Readonly<Record<string, string | undefined>>;
  readonly children: readonly HtmlNode[];
}

export type HtmlNode = HtmlText | HtmlElement | { readonly type: "comment" | "directive" | "cdata" };

export function isText(node: HtmlNode): node is HtmlText {
  return node.type === "text";
}

export function isElement(node: HtmlNode): node is HtmlElement {
  return node.type === "tag" || node.type === "script" || node.type === "style";
}

export function shapeOf(root: HtmlElement, base: string): Shape {
  const blocks = new Set<HtmlElement>();
  const prose = new Set<HtmlElement>();
  const links = new Set<HtmlElement>();
  survey(root, { blocks, prose, links }, false);
  return {
    isBlock: (element) => blocks.has(element),
    isTorn: (element) => blocks.has(element) && !BLOCKS.has(element.name) && element.name !== "a",
    isDropped: (element) =>
      DROPPED.has(element.name) || isHidden(element) || (element.name === "form" && !prose.has(element)),
    link: (element) => (links.has(element) ? linkOf(element.attribs["href"], base) : undefined),
    name: (element) => element.attribs["aria-label"]?.trim() || element.attribs["title"]?.trim() || undefined,
    verbatim,
  };
}

interface Found {
  readonly blocks: Set<HtmlElement>;
  readonly prose: Set<HtmlElement>;
  /** Links that are not inside another one. */
  readonly links: Set<HtmlElement>;
}

/** Marks what is or contains a block, what contains prose, and the links, in one pass. */
function survey(element: HtmlElement, found: Found, inLink: boolean): void {
  let block = BLOCKS.has(element.name);
  let hasProse = PROSE.has(element.name);
  const isLink = element.name === "a" && !inLink;
  if (isLink) found.links.add(element);
  for (const child of element.children) {
    if (!isElement(child)) continue;
    survey(child, found, inLink || isLink);
    block ||= found.blocks.has(child) && !DROPPED.has(child.name);
    hasProse ||= found.prose.has(child);
  }
  if (block) found.blocks.add(element);
  if (hasProse) found.prose.add(element);
}

function linkOf(href: string | undefined, base: string): string | undefined {
  const text = href?.trim() ?? "";
  if (text === "" || text.startsWith("#")) return undefined;
  const url = URL.parse(text, base);
  if (url === null || !/^(?:https?|mailto|ftp|tel|magnet):$/.test(url.protocol) || url.href.length > 2000)
    return undefined;
  // Brackets would end the link early.
  return url.href.replaceAll("(", "%28").replaceAll(")", "%29");
}

function verbatim(element: HtmlElement): string {
  const parts: string[] = [];
  const visit = (node: HtmlNode): void => {
    if (isText(node)) parts.push(node.data);
    else if (isElement(node) && node.name === "br") parts.push("\n");
    else if (isElement(node) && !(node.name !== element.name && DROPPED.has(node.name))) node.children.forEach(visit);
  };
  visit(element);
  return parts.join("");
}

function isHidden({ attribs }: HtmlElement): boolean {
  if ("hidden" in attribs || attribs["aria-hidden"] === "true") return true;
  if (/^(?:navigation|banner|contentinfo|search|dialog|alertdialog|menu|menubar|toolbar)$/.test(attribs["role"] ?? ""))
    return true;
  return /(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:;|!|$))/i.test(
    attribs["style"] ?? "",
  );
}

const setOf = (text: string): ReadonlySet<string> => new Set(words(text));

const DROPPED = setOf(
  "script style noscript template svg math canvas iframe frame frameset object embed applet audio video source track map nav footer aside dialog button input select option optgroup textarea datalist progress meter head link meta title base",
);
const BLOCKS = setOf(
  "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol p plaintext pre search section summary table tbody td tfoot th thead tr ul xmp",
);
/** A form around these is the page itself, not a search box. */
const PROSE = setOf("p h1 h2 h3 h4 article main pre blockquote table");

/** Removes tags that would nest too deeply or close nothing: parsers take quadratic time on those. */
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
  /** Follows the parser's stack; true: the tag is left out. */
  readonly drop?: (open: string[], count: Map<string, number>) => boolean;
}

/** The tag, comment or raw-text element that starts here; undefined: the `<` is text. */
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
  // </p> and </br> have an effect even alone.
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
const RAW_TEXT = setOf("script style textarea title");
const VOID = setOf(
  "area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr",
);
