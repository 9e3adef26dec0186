/** A table as rows of `| cell |`, or, when it only arranges the page, its cells one after the other. */
import { inlineText } from "./html-inline.ts";
import { type HtmlElement, type Shape, isElement } from "./html-shape.ts";

export function tableText(table: HtmlElement, shape: Shape, blocks: (cell: HtmlElement) => string): string {
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
