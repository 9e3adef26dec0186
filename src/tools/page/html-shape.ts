/** What the elements of a page are to a reader: block or running text, furniture, a link to somewhere. */
export interface Shape {
  isBlock(element: HtmlElement): boolean;
  /** Running text by its name, but with blocks inside: `<b>` left open over paragraphs. */
  isTorn(element: HtmlElement): boolean;
  /** Scripts, navigation, forms' controls, and what the page itself hides. */
  isDropped(element: HtmlElement): boolean;
  /** Absolute address of a link worth following. */
  link(element: HtmlElement): string | undefined;
  /** The name a link has for those who cannot see it. */
  name(element: HtmlElement): string | undefined;
  /** Text with its white space. */
  verbatim(element: HtmlElement): string;
}

export interface HtmlText {
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

/** Marks what is or contains a block, what contains prose, and the links; bottom up, once. */
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
  // brackets would end the link early
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

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

const DROPPED = words(
  "script style noscript template svg math canvas iframe frame frameset object embed applet audio video source track map nav footer aside dialog button input select option optgroup textarea datalist progress meter head link meta title base",
);
const BLOCKS = words(
  "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol p plaintext pre search section summary table tbody td tfoot th thead tr ul xmp",
);
/** A form around these is the page itself, not a search box. */
const PROSE = words("p h1 h2 h3 h4 article main pre blockquote table");
