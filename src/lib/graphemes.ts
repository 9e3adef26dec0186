/** Splits text into what a person calls characters and says how many terminal columns each takes. */
export function graphemes(text: string): string[] {
  if (PRINTABLE_ASCII.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const clusters: string[] = [];
  for (const { segment } of segmenter.segment(text)) clusters.push(segment);
  return clusters;
}

/** Columns of one cluster: 0, 1 or 2. A family emoji of seven code points still takes two. */
export function clusterWidth(cluster: string): number {
  if (cluster.length === 1 && PRINTABLE_ASCII.test(cluster)) return 1;
  return Math.min(2, Bun.stringWidth(cluster));
}

export function textWidth(text: string): number {
  return Bun.stringWidth(text);
}

/** Cuts text to `columns`, ending in … when something was left out. Keeps SGR and OSC 8 sequences balanced. */
export function clip(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (Bun.stringWidth(text) <= columns) return text;
  if (columns === 1) return "…";
  return `${Bun.sliceAnsi(text, 0, columns - 1)}…`;
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
let segmenter: Intl.Segmenter | undefined;
