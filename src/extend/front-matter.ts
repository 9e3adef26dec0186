/** Front matter: the YAML between `---` lines at the head of a Markdown file, and the text below it. */
import { isRecord } from "../lib/values.ts";

export type FrontMatter =
  | { readonly kind: "read"; readonly data: Readonly<Record<string, unknown>>; readonly body: string }
  | { readonly kind: "damaged"; readonly problem: string };

/** A file without front matter is all body. */
export function readFrontMatter(text: string): FrontMatter {
  const source = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const opened = /^---[ \t]*\n/.exec(source);
  if (opened === null) return { kind: "read", data: {}, body: source.trim() };
  const rest = source.slice(opened[0].length);
  const closed = /^---[ \t]*(?:\n|$)/m.exec(rest);
  if (closed === null) return { kind: "damaged", problem: "the front matter has no closing --- line" };
  if (closed.index > MOST) return { kind: "damaged", problem: `the front matter has more than ${MOST} characters` };
  const body = rest.slice(closed.index + closed[0].length).trim();
  let data: unknown;
  try {
    data = Bun.YAML.parse(rest.slice(0, closed.index));
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^YAML Parse error: /, "") : String(error);
    return { kind: "damaged", problem: `the front matter is not valid YAML (${why})` };
  }
  if (data === null || data === undefined) return { kind: "read", data: {}, body };
  if (!isRecord(data)) return { kind: "damaged", problem: "the front matter must be keys and values" };
  return { kind: "read", data, body };
}

const MOST = 16_384;
