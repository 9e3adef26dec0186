/** The running text of HTML: words, line breaks, inline code, and links as [text](url). */
import { type HtmlElement, type HtmlNode, type Shape, isElement, isText } from "./html-shape.ts";

/** White space collapsed as a browser shows it; `<br>` becomes a line end. */
export function inlineText(nodes: readonly HtmlNode[], shape: Shape): string {
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
      const text = shape.verbatim(node).replace(/\s+/g, " ").trim();
      if (text !== "") parts.push(text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);
      return;
    }
    case "a":
      if (shape.link(node) !== undefined) parts.push(linked(node, shape));
      else through(node, shape, parts);
      return;
    case "img": {
      const alt = (node.attribs["alt"] ?? "").replace(/\s+/g, " ").trim();
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
      // blocks inside running text (a heading in a table cell, say) must not glue words together
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
  const text = raw.replace(/\s+/g, " ").trim();
  const label = text === "" ? (shape.name(node) ?? "") : text;
  if (url === undefined || label === "") return raw;
  const before = /^\s/.test(raw) ? " " : "";
  const after = /\s$/.test(raw) ? " " : "";
  const plain = label === url || `${label}/` === url;
  return before + (plain ? url : `[${label}](${url})`) + after;
}

/** 10<sup>9</sup> is no 109; a footnote mark is a link and stays as it is. */
function isPower(node: HtmlElement): boolean {
  const [only, ...more] = node.children;
  return only !== undefined && more.length === 0 && isText(only) && /^\s*[-+]?[0-9a-z]{1,4}\s*$/i.test(only.data);
}

function spaceOrNothing(run: string): string {
  return /[^\u00ad\u200b\u2060\ufeff]/.test(run) ? " " : "";
}
