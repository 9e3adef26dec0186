/** Finds in a captured screen what follows the last lines that were seen in the stream. */
export function linesAfter(seen: readonly string[], screen: readonly string[]): { found: boolean; text: string } {
  const lines = [...screen];
  while (lines.at(-1) === "") lines.pop();
  const last = seen.at(-1) ?? "";
  const whole = seen.slice(0, -1);
  if (whole.length === 0 && last === "") return { found: false, text: body(lines) };
  for (let at = lines.length - 1; at >= 0; at--) {
    const start = at - whole.length;
    if (start < 0) break;
    if (!whole.every((line, index) => line.trimEnd() === lines[start + index]?.trimEnd())) continue;
    const here = lines[at] ?? "";
    if (!here.startsWith(last)) continue;
    return { found: true, text: body([here.slice(last.length), ...lines.slice(at + 1)]) };
  }
  if (whole.length > 0 && last === "" && endsWith(lines, whole)) return { found: true, text: "" };
  return { found: false, text: body(lines) };
}

/** Without the prompt that the shell has drawn since. */
function body(lines: readonly string[]): string {
  const end = lines.findLastIndex((line) => /\[buddy \d+: \d+\] /.test(line));
  const kept = end >= 0 && end >= lines.length - 2 ? lines.slice(0, end) : lines;
  const partial =
    end >= 0 && kept.length === end ? (lines[end] ?? "").replace(/\[buddy \d+: \d+\] .*$/, "") : undefined;
  return partial === undefined ? kept.join("\n") : kept.map((line) => `${line}\n`).join("") + partial;
}

function endsWith(lines: readonly string[], tail: readonly string[]): boolean {
  return tail.every((line, index) => lines[lines.length - tail.length + index]?.trimEnd() === line.trimEnd());
}
