/** read_file: text of a file on the target, by lines, within the budget. */
import { z } from "zod";
import type { Image } from "../lib/images.ts";
import { BOM } from "../lib/text-encoding.ts";
import { defined } from "../lib/values.ts";
import { readImage } from "../targets/files/read-image.ts";
import type { FileSlice } from "../targets/target.ts";
import { boundText, type Mask } from "./bound-output.ts";
import { fileNotes, filesFor, sudoField } from "./text-file.ts";
import type { Tool, ToolResult } from "./tool.ts";

const input = z.strictObject({
  path: z.string().min(1),
  offset: z.number().int().positive().optional().describe("first line, from 1"),
  limit: z.number().int().positive().optional().describe("lines"),
  sudo: sudoField,
});

export const readFileTool: Tool<z.infer<typeof input>> = {
  name: "read_file",
  onTarget: true,
  description: "Read a text file or an image on the target.",
  input,
  intent: (args) => ({
    kind: "read",
    title: args.offset === undefined ? args.path : `${args.path} from line ${args.offset}`,
    path: args.path,
    ...defined({ sudo: args.sudo }),
  }),
  async run(args, context) {
    const target = await context.target();
    const files = filesFor(target, args.sudo, context);
    const slice = await files.read(args.path, {
      ...defined({ offset: args.offset, limit: args.limit }),
      maxBytes: MOST_READ,
      signal: context.signal,
      ...defined({ onlyAt: context.onlyAt }),
    });
    if (slice.binary) {
      const image = await readImage(files, args.path, context.signal);
      if (image !== undefined) return imageResult(args.path, image, context.seesImages);
      return {
        ok: false,
        outcome: "binary",
        result: `${args.path} is a binary file of ${slice.sizeBytes} bytes. Look at it with run_shell: file, strings, xxd | head, tar -t, …`,
        display: `a binary file of ${slice.sizeBytes} bytes`,
      };
    }
    return {
      ok: true,
      outcome: "done",
      result: pageText(slice, args.offset ?? 1, context.budget, context.mask),
      display: `${slice.lines} lines, ${slice.sizeBytes} bytes`,
    };
  },
};

/** The image is attached for a model that reads images; any other learns that it does not. */
function imageResult(path: string, image: Image | { readonly problem: string }, sees = false): ToolResult {
  if ("problem" in image) return { ok: false, outcome: "binary", result: `${path}: ${image.problem}.` };
  const size = Math.floor((image.data.length * 3) / 4);
  const what = `${path} is an image (${image.type}, ${size} bytes)`;
  if (!sees) return { ok: false, outcome: "binary", result: `${what}, and this model does not read images.` };
  return {
    ok: true,
    outcome: "done",
    result: `${what}; it is attached.`,
    images: [image],
    display: `${image.type}, ${size} bytes`,
  };
}

/** The slice within the budget, and how to read the rest. */
function pageText(slice: FileSlice, first: number, budget: number, mask: Mask = (text) => text): string {
  if (slice.sizeBytes === 0) return "(empty file)";
  if (slice.lines === 0) return `(no line ${first}: the file is shorter)`;
  const notes = fileNotes(slice);
  const before = notes === "" ? "" : `[${notes}]\n`;
  const text = slice.text.startsWith(BOM) ? slice.text.slice(BOM.length) : slice.text;
  const rest =
    slice.linesLeft === undefined ? "more lines" : slice.linesLeft === 1 ? "1 line" : `${slice.linesLeft} lines`;
  const after = slice.linesLeft === 0 ? "" : `\n[${rest} left; continue with offset=${first + slice.lines}]`;
  const how = (offset: number): string => {
    const shown = countLines(text, offset);
    return `read_file offset=${first + shown} shows them${slice.lines === 1 ? " only in part: it is one line, use run_shell with cut -c" : ""}`;
  };
  // A slice from the middle of a file may begin or end inside a secret.
  const edges: Mask = (part, cut) =>
    mask(part, { start: cut?.start === true || first > 1, end: cut?.end === true || slice.linesLeft !== 0 });
  return before + boundText(text, budget, how, edges) + after;
}

/** Whole lines in the first `bytes` bytes. */
function countLines(text: string, bytes: number): number {
  const head = Buffer.from(text).subarray(0, bytes);
  let lines = 0;
  for (const byte of head) if (byte === 10) lines++;
  return lines;
}

/** More than any budget, so that head and tail come from the same read; `offset` continues in larger files. */
const MOST_READ = 1024 * 1024;
