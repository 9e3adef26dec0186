/** An HTML page as readable text: headings, lists, tables, code and links stay, navigation goes. */
import { type HtmlElement, type HtmlNode, type Shape, isElement, shapeOf, isText, limitNesting } from "./html-shape.ts";
import { codeBlock, collapseSpaces } from "../../lib/text.ts";

interface ReadablePage {
  readonly title: string;
  readonly text: string;
}

/** cheerio/slim: measured, parse5 takes minutes for 200 000 nested tags where htmlparser2 takes a second. */
export async function htmlText(html: string, url: string): Promise<ReadablePage> {
  const { load } = await import("cheerio/slim");
  // One element around everything: measured, a million nodes directly in the root take minutes.
  const $ = load(`<page>${limitNesting(html)}`);
  const base = URL.parse($("base[href]").attr("href") ?? "", url)?.href ?? url;
  const title = collapseSpaces($("head title, title").first().text());
  const body = ($("body").get(0) ?? $.root().get(0)) as unknown as HtmlElement | undefined;
  if (body === undefined) return { title, text: "" };
  const shape = shapeOf(body, base);
  const mains = $("main, [role=main]").toArray() as unknown as HtmlElement[];
  const main = mains.length === 1 && mains[0] !== undefined ? blocks(mains[0], shape, 0) : "";
  // The text of a page with an empty main is elsewhere.
  let text = main.length >= SHORT ? main : blocks(body, shape, 0);
  if (text === "") text = collapseSpaces($("noscript").text());
  return { title, text };
}

/** Block by block, with empty lines between them; `level` counts indents and quotes around it. */
function blocks(parent: HtmlElement, shape: Shape, level: number): string {
  const done: string[] = [];
  let run: HtmlNode[] = [];
  const flush = (): void => {
    const text = inlineText(run, shape);
    if (text !== "") done.push(text);
    run = [];
  };
  const add = (child: HtmlNode): void => {
    if (!isElement(child) || !shape.isBlock(child)) run.push(child);
    else if (shape.isTorn(child) && !shape.isDropped(child)) child.children.forEach(add);
    else {
      flush();
      const text = block(child, shape, level);
      if (text !== "") done.push(text);
    }
  };
  parent.children.forEach(add);
  flush();
  return done.join("\n\n");
}

function block(element: HtmlElement, shape: Shape, level: number): string {
  if (shape.isDropped(element)) return "";
  // Every level adds to every line: unbounded, deep nesting would multiply the size of a page.
  if (level >= MAX_LEVEL) return blocks(element, shape, level);
  const { name } = element;
  switch (name) {
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6": {
      const text = inlineText(element.children, shape).replaceAll("\n", " ");
      return text === "" ? "" : `${"#".repeat(Number(name[1]))} ${text}`;
    }
    case "ul":
    case "ol":
    case "menu":
    case "dir":
      return list(element, shape, level + 1);
    case "dl":
      return definitions(element, shape, level + 1);
    case "pre":
    case "listing":
    case "xmp":
    case "plaintext":
      return preformatted(element, shape);
    case "blockquote":
      return blocks(element, shape, level + 1)
        .replace(/^(?=.)/gm, "> ")
        .replace(/^$/gm, ">")
        .replace(/^>$(?![\s\S])/, "");
    case "hr":
      return "---";
    case "table":
      return tableText(element, shape, (cell) => blocks(cell, shape, level + 1));
    case "a":
      return linkedBlocks(element, shape, level + 1);
    default:
      return blocks(element, shape, level);
  }
}

function list(element: HtmlElement, shape: Shape, level: number): string {
  const start = Number.parseInt(element.attribs["start"] ?? "1", 10);
  let number = Number.isNaN(start) ? 1 : start;
  const items: string[] = [];
  for (const child of element.children) {
    if (!isElement(child) || shape.isDropped(child)) continue;
    const mark = child.name === "li" && element.name === "ol" ? `${number++}. ` : "- ";
    const text = (child.name === "li" ? blocks(child, shape, level) : block(child, shape, level)).replace(
      /\n\n(?=\s*(?:-|\d+\.) )/g,
      "\n",
    );
    if (text === "") continue;
    // A list directly inside a list is one more level.
    const nested = child.name === "ul" || child.name === "ol";
    items.push(nested ? indent(text, "  ") : mark + indent(text, " ".repeat(mark.length)).trimStart());
  }
  return items.join("\n");
}

function definitions(element: HtmlElement, shape: Shape, level: number): string {
  const lines: string[] = [];
  for (const child of element.children) {
    if (!isElement(child) || shape.isDropped(child)) continue;
    const text =
      child.name === "div" && level < MAX_LEVEL ? definitions(child, shape, level + 1) : blocks(child, shape, level);
    if (text !== "") lines.push(child.name === "dd" ? indent(text, "  ") : text);
  }
  return lines.join("\n");
}

function preformatted(element: HtmlElement, shape: Shape): string {
  const text = shape
    .verbatim(element)
    .replace(/^\r?\n/, "")
    .trimEnd();
  if (text.trim() === "") return "";
  const code = element.children.find(isElement);
  const classes = `${element.attribs["class"] ?? ""} ${code?.attribs["class"] ?? ""}`;
  const language = /\b(?:lang(?:uage)?|highlight-source|brush:?)[-\s]\s*([a-z0-9+#-]{1,20})/i.exec(classes)?.[1] ?? "";
  return codeBlock(text, language);
}

/** A link around blocks (a card): one link if it is short, otherwise the blocks and then the link. */
function linkedBlocks(element: HtmlElement, shape: Shape, level: number): string {
  const inside = blocks(element, shape, level);
  const url = shape.link(element);
  if (url === undefined || inside === "") return inside;
  const one = inside.replace(/\s*\n\s*/g, " ");
  const heading = /^#{1,6} /.exec(one)?.[0] ?? "";
  if (one.length <= SHORT && !/[[\]|]/.test(one))
    return `${heading}[${one.slice(heading.length).replace(/ #{1,6} /g, " ")}](${url})`;
  return `${inside}\n\n[${shape.name(element) ?? "link"}](${url})`;
}

const SHORT = 200;
const MAX_LEVEL = 8;

function indent(text: string, by: string): string {
  return text.replace(/^(?=.)/gm, by);
}

// A table as rows of `| cell |`, or, if it only arranges the page, its cells one after the other.

function tableText(table: HtmlElement, shape: Shape, blocks: (cell: HtmlElement) => string): string {
  const rows = rowsOf(table, shape);
  const caption = table.children.filter(isElement).find((child) => child.name === "caption");
  const heading = caption === undefined ? [] : [inlineText(caption.children, shape)];
  if (isLayout(rows, shape)) {
    const cells = rows.flat().map(blocks);
    return [...heading, ...cells].filter((text) => text !== "").join("\n\n");
  }
  const grid = rows
    .map((row) => row.flatMap((cell) => [cellText(cell, shape), ...Array.from({ length: span(cell) - 1 }, () => "")]))
    .filter((row) => row.some((text) => text !== ""));
  const width = grid.reduce((most, row) => Math.max(most, row.length), 0);
  if (width === 0) return heading.join("");
  const lines = grid.map((row) => `| ${Array.from({ length: width }, (_, i) => row[i] ?? "").join(" | ")} |`);
  lines.splice(1, 0, `|${" --- |".repeat(width)}`);
  return [...heading, lines.join("\n")].filter((text) => text !== "").join("\n\n");
}

/** Rows of this table, not of those inside it. */
function rowsOf(table: HtmlElement, shape: Shape): HtmlElement[][] {
  const rows: HtmlElement[][] = [];
  for (const child of table.children) {
    if (!isElement(child) || shape.isDropped(child)) continue;
    if (child.name === "tr")
      rows.push(child.children.filter(isElement).filter((cell) => /^t[dh]$/.test(cell.name) && !shape.isDropped(cell)));
    else if (child.name === "td" || child.name === "th") rows.push([child]);
    else if (child.name !== "caption" && child.name !== "table") rows.push(...rowsOf(child, shape));
    else if (child.name === "table") rows.push([child]);
  }
  return rows;
}

function isLayout(rows: readonly (readonly HtmlElement[])[], shape: Shape): boolean {
  if (rows.every((row) => row.length <= 1)) return true;
  return rows.flat().some((cell) => hasInside(cell, "table", shape) || hasInside(cell, "pre", shape));
}

function hasInside(element: HtmlElement, name: string, shape: Shape): boolean {
  return element.children.some(
    (child) => isElement(child) && shape.isBlock(child) && (child.name === name || hasInside(child, name, shape)),
  );
}

function cellText(cell: HtmlElement, shape: Shape): string {
  return inlineText(cell.children, shape)
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|");
}

function span(cell: HtmlElement): number {
  const wanted = Number.parseInt(cell.attribs["colspan"] ?? "1", 10);
  return Number.isNaN(wanted) ? 1 : Math.min(Math.max(wanted, 1), 50);
}

// The running text of HTML: words, line breaks, inline code, and links as [text](url).

/** White space collapsed as a browser shows it; `<br>` becomes a line end. */
function inlineText(nodes: readonly HtmlNode[], shape: Shape): string {
  return tidy(rawText(nodes, shape)).trim();
}

function rawText(nodes: readonly HtmlNode[], shape: Shape): string {
  const parts: string[] = [];
  for (const node of nodes) collect(node, shape, parts);
  return parts.join("");
}

function tidy(text: string): string {
  return text
    .replace(/[ \t\f\v\u00a0]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n");
}

function collect(node: HtmlNode, shape: Shape, parts: string[]): void {
  if (isText(node)) parts.push(node.data.replace(/[\s\u00ad\u200b\u2060\ufeff]+/g, spaceOrNothing));
  else if (isElement(node) && !shape.isDropped(node)) element(node, shape, parts);
}

function element(node: HtmlElement, shape: Shape, parts: string[]): void {
  switch (node.name) {
    case "br":
      parts.push("\n");
      return;
    case "code":
    case "kbd":
    case "samp":
    case "tt": {
      const text = collapseSpaces(shape.verbatim(node));
      if (text !== "") parts.push(text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);
      return;
    }
    case "a":
      if (shape.link(node) !== undefined) parts.push(linked(node, shape));
      else through(node, shape, parts);
      return;
    case "img": {
      const alt = collapseSpaces(node.attribs["alt"] ?? "");
      if (alt !== "") parts.push(`[image: ${alt}]`);
      return;
    }
    case "sup":
      if (isPower(node)) parts.push("^");
      through(node, shape, parts);
      return;
    case "q":
      parts.push("“");
      through(node, shape, parts);
      parts.push("”");
      return;
    case "rt":
      parts.push("(");
      through(node, shape, parts);
      parts.push(")");
      return;
    case "rp":
    case "wbr":
      return;
    default:
      // Blocks inside running text (a heading in a table cell, say) must not join words.
      if (shape.isBlock(node)) parts.push("\n");
      through(node, shape, parts);
      if (shape.isBlock(node)) parts.push("\n");
  }
}

function through(node: HtmlElement, shape: Shape, parts: string[]): void {
  for (const child of node.children) collect(child, shape, parts);
}

function linked(node: HtmlElement, shape: Shape): string {
  const url = shape.link(node);
  const raw = rawText(node.children, shape);
  const text = collapseSpaces(raw);
  const label = text === "" ? (shape.name(node) ?? "") : text;
  if (url === undefined || label === "") return raw;
  const before = /^\s/.test(raw) ? " " : "";
  const after = /\s$/.test(raw) ? " " : "";
  const plain = label === url || `${label}/` === url;
  return before + (plain ? url : `[${label}](${url})`) + after;
}

/** 10<sup>9</sup> is not 109; a footnote mark is a link and not a power. */
function isPower(node: HtmlElement): boolean {
  const [only, ...more] = node.children;
  return only !== undefined && more.length === 0 && isText(only) && /^\s*[-+]?[0-9a-z]{1,4}\s*$/i.test(only.data);
}

function spaceOrNothing(run: string): string {
  return /[^\u00ad\u200b\u2060\ufeff]/.test(run) ? " " : "";
}
