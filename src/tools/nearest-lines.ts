/** The place in a file that looks most like a text that is not there exactly, for a model that misremembered it. */
export function nearestLines(text: string, wanted: string): string {
  const lines = text.split("\n");
  const target = wanted.split("\n").map(squeeze);
  while (target.length > 1 && target.at(-1) === "") target.pop();
  const wantedLines = target.slice(0, MOST_COMPARED);
  const squeezed = lines.map(squeeze);
  let best = { at: -1, score: 0 };
  for (let at = 0; at < lines.length; at++) {
    // Cheap first: most windows share nothing with the first line.
    let score = 0;
    for (let index = 0; index < wantedLines.length; index++)
      score += likeness(squeezed[at + index] ?? "", wantedLines[index]!);
    score /= wantedLines.length;
    if (score > best.score) best = { at, score };
  }
  if (best.at < 0 || best.score < ENOUGH) return "Nothing in the file looks like it: read the file again.";
  const from = Math.max(0, best.at - 1);
  const to = Math.min(lines.length, best.at + wantedLines.length + 1);
  const shown = lines
    .slice(from, to)
    .map(
      (line, index) =>
        `${from + index + 1}: ${line.length > MOST_OF_A_LINE ? `${line.slice(0, MOST_OF_A_LINE)}…` : line}`,
    );
  return `Nearest, at line ${best.at + 1}:\n${shown.join("\n")}`;
}

const squeeze = (line: string) => line.replaceAll(/\s+/g, " ").trim().slice(0, MOST_OF_A_LINE);

/** Dice coefficient of letter pairs: 1 the same, 0 nothing in common. */
function likeness(a: string, b: string): number {
  if (a === b) return 1;
  if (a.length < 2 || b.length < 2) return 0;
  const pairs = pairsOf(b);
  const left = new Map(pairs.counts);
  let common = 0;
  for (let index = 0; index < a.length - 1; index++) {
    const pair = a.slice(index, index + 2);
    const count = left.get(pair) ?? 0;
    if (count === 0) continue;
    left.set(pair, count - 1);
    common++;
  }
  return (2 * common) / (a.length - 1 + pairs.total);
}

const known = new Map<string, { counts: Map<string, number>; total: number }>();

function pairsOf(text: string): { counts: Map<string, number>; total: number } {
  let pairs = known.get(text);
  if (pairs === undefined) {
    const counts = new Map<string, number>();
    for (let index = 0; index < text.length - 1; index++) {
      const pair = text.slice(index, index + 2);
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    pairs = { counts, total: text.length - 1 };
    if (known.size > 100) known.clear();
    known.set(text, pairs);
  }
  return pairs;
}

const ENOUGH = 0.3;
const MOST_COMPARED = 20;
const MOST_OF_A_LINE = 200;
