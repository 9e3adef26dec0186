/** A unified diff of two texts, in full; `boundDiff` cuts it for a screen or the model. */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return "";
  const a = lines(before);
  const b = lines(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const edits: Edit[] = [
    ...a.slice(0, start).map((line): Edit => [" ", line]),
    ...middle(a.slice(start, endA), b.slice(start, endB)),
    ...a.slice(endA).map((line): Edit => [" ", line]),
  ];
  return hunks(edits).join("\n");
}

type Edit = readonly [" " | "-" | "+", string];

function lines(text: string): string[] {
  if (text === "") return [];
  const list = text.split("\n");
  if (list.at(-1) === "") list.pop();
  else list[list.length - 1] += NO_NEWLINE;
  return list;
}

/** Longest common subsequence; for very long texts, everything old, then everything new. */
function middle(a: readonly string[], b: readonly string[]): Edit[] {
  if (a.length * b.length > MOST_CELLS)
    return [...a.map((line): Edit => ["-", line]), ...b.map((line): Edit => ["+", line])];
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] =
        a[i] === b[j]
          ? length[(i + 1) * width + j + 1]! + 1
          : Math.max(length[(i + 1) * width + j]!, length[i * width + j + 1]!);
    }
  }
  const edits: Edit[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push([" ", a[i]!]);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || length[(i + 1) * width + j]! >= length[i * width + j + 1]!))
      edits.push(["-", a[i++]!]);
    else edits.push(["+", b[j++]!]);
  }
  return edits;
}

function hunks(edits: readonly Edit[]): string[] {
  const near = new Uint8Array(edits.length);
  edits.forEach(([sign], index) => {
    if (sign === " ") return;
    near.fill(1, Math.max(0, index - CONTEXT), Math.min(edits.length, index + CONTEXT + 1));
  });
  const out: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  edits.forEach(([sign, text], index) => {
    if (near[index] === 1) {
      if (index === 0 || near[index - 1] === 0) {
        let stop = index;
        while (stop < edits.length && near[stop] === 1) stop++;
        const hunk = edits.slice(index, stop);
        const olds = hunk.filter((edit) => edit[0] !== "+").length;
        const news = hunk.filter((edit) => edit[0] !== "-").length;
        out.push(`@@ -${olds === 0 ? oldLine - 1 : oldLine},${olds} +${news === 0 ? newLine - 1 : newLine},${news} @@`);
      }
      out.push(text.endsWith(NO_NEWLINE) ? `${sign}${text.slice(0, -1)}\n\\ No newline at end of file` : sign + text);
    }
    if (sign !== "+") oldLine++;
    if (sign !== "-") newLine++;
  });
  return out;
}

const CONTEXT = 3;
const MOST_CELLS = 1_000_000;
/** Marks a last line without newline, so that it differs from the same line with one; no text file contains it. */
const NO_NEWLINE = "\u0000";
