/**
 * `--batch`: one JSON value a line in, one JSON object a line out, as each line arrives; a bad line is answered too.
 */
import type { Explainer } from "./explainer.ts";

/** A longer line is answered with an error instead of being kept. */
const LONGEST_LINE = 8 * 1024 * 1024;

export async function answerBatch(
  explainer: Explainer,
  input: AsyncIterable<Uint8Array>,
  write: (text: string) => Promise<unknown>,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let dropping = false;
  for await (const chunk of input) {
    rest += decoder.decode(chunk, { stream: true });
    let out = "";
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      if (dropping) out += `${JSON.stringify({ error: "the line is too long" })}\n`;
      else out += `${await answer(explainer, line)}\n`;
      dropping = false;
    }
    if (rest.length > LONGEST_LINE) {
      rest = "";
      dropping = true;
    }
    if (out !== "") await write(out);
  }
  rest += decoder.decode();
  if (dropping) await write(`${JSON.stringify({ error: "the line is too long" })}\n`);
  else if (rest.trim() !== "") await write(`${await answer(explainer, rest)}\n`);
}

async function answer(explainer: Explainer, line: string): Promise<string> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return JSON.stringify({ error: "not a JSON value" });
  }
  try {
    return JSON.stringify(await explainer.explain(value));
  } catch (error) {
    return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
  }
}
