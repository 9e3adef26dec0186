/** edit_file: replaces one exact piece of text in a file, or says what is there instead. */
import { z } from "zod";
import { lineEndsOf } from "../lib/text-encoding.ts";
import { collapseSpaces, shorten } from "../lib/text.ts";
import { defined } from "../lib/values.ts";
import type { FileAccess, Target } from "../targets/target.ts";
import { boundDiff, boundText } from "./bound-output.ts";
import { unifiedDiff } from "./diff.ts";
import {
  changedSinceShown,
  checkNote,
  editableText,
  filesFor,
  fingerprint,
  LINE_END,
  MOST_EDITED,
  needsRoot,
  sudoField,
  writeOptions,
} from "./text-file.ts";
import type { Prepared, Tool, ToolResult } from "./tool.ts";

const input = z.strictObject({
  path: z.string().min(1),
  old_text: z.string().min(1, "must not be empty; use write_file for a new file").describe("exact, unique in the file"),
  new_text: z.string(),
  replace_all: z.boolean().optional(),
  sudo: sudoField,
});

type EditInput = z.infer<typeof input>;

/** The change that the operator saw. */
const shown = new WeakMap<EditInput, Edit & { ok: true }>();

export const editFileTool: Tool<EditInput> = {
  name: "edit_file",
  onTarget: true,
  description: "Replace exact text in a file on the target.",
  input,
  secretFields: ["old_text", "new_text"],
  intent: (args) => ({
    kind: "write",
    title: args.path,
    path: args.path,
    ...defined({ sudo: args.sudo }),
  }),
  async prepare(args, context): Promise<Prepared> {
    const target = await context.target();
    const files = filesFor(target, args.sudo, context);
    const edit = await plan(args, files, context.signal);
    if (!edit.ok) return { kind: "failed", result: await withoutSecrets(args, target, edit.result) };
    shown.set(args, edit);
    return { kind: "ready", diff: unifiedDiff(context.mask(edit.before), context.mask(edit.after)) };
  },
  async run(args, context) {
    const files = filesFor(await context.target(), args.sudo, context);
    const edit = shown.get(args)!;
    const now = await files.read(args.path, { maxBytes: MOST_EDITED, signal: context.signal });
    if (fingerprint(now) !== edit.old) return changedSinceShown(args.path);
    const written = await files.write(args.path, edit.bytes, writeOptions(context));
    const notes = [`${written.bytes} bytes`, ...checkNote(written)].join("; ");
    const diff = boundDiff(unifiedDiff(context.mask(edit.before), context.mask(edit.after)));
    const count = edit.count === 1 ? "" : `${edit.count} places, `;
    return {
      ok: true,
      outcome: "done",
      result: boundText(`edited ${args.path} (${count}${notes})\n${diff}`, SMALL_DIFF, () => "left out of this diff"),
      display: diff,
    };
  },
};

/** Reading the file as root is not approved yet, so a failed edit must not show what is in it. */
async function withoutSecrets(args: EditInput, target: Target, result: ToolResult): Promise<ToolResult> {
  if (args.sudo !== true || !(await needsRoot(target.files, args.path))) return result;
  const text = `error: ${args.path} cannot be edited like this. Read it first with read_file and sudo: true.`;
  return { ok: false, outcome: "failed", result: text };
}

type Edit =
  | {
      readonly ok: true;
      /** Fingerprint of the file. */
      readonly old: string;
      /** As a person reads them. */
      readonly before: string;
      readonly after: string;
      readonly bytes: Uint8Array;
      readonly count: number;
    }
  | { readonly ok: false; readonly result: ToolResult };

async function plan(args: EditInput, files: FileAccess, signal: AbortSignal): Promise<Edit> {
  const slice = await files.read(args.path, { maxBytes: MOST_EDITED, signal });
  const file = editableText(slice);
  if (file === undefined) {
    const what = slice.binary ? `${args.path} is a binary file.` : `${args.path} is too large to edit.`;
    return failed(slice.binary ? what : `${what} Change it with run_shell (sed, a script).`, what);
  }
  const before = file.text;
  let old = file.inFile(args.old_text);
  let next = file.inFile(args.new_text);
  let places = positions(before, old);
  const end = slice.lineEnds === "cr" ? LINE_END.cr : LINE_END.crlf;
  if (places.length === 0 && before.includes(end) && !old.includes(end)) {
    old = old.replaceAll("\n", end);
    places = positions(before, old);
    if (places.length > 0) next = withLineEnds(next, end);
  }
  // The file keeps its line ends, which the model does not see.
  if ((slice.lineEnds === "crlf" || slice.lineEnds === "cr") && lineEndsOf(next) === "lf")
    next = withLineEnds(next, end);
  if (places.length === 0)
    return failed(
      `old_text is not in ${args.path}. ${nearestLines(file.shown(before), args.old_text)}`,
      `the text to be replaced is not in ${args.path}`,
    );
  if (places.length > 1 && args.replace_all !== true) {
    const at = places.slice(0, 10).map((place) => lineOf(before, place));
    return failed(
      `old_text occurs ${places.length} times in ${args.path} (lines ${at.join(", ")}${places.length > 10 ? ", …" : ""}). Add lines around it to make it unique, or set replace_all.`,
      `the text to be replaced occurs ${places.length} times in ${args.path}`,
    );
  }
  if (old === next) return failed("old_text and new_text are the same: nothing to change.", "nothing to change");
  const after = before.split(old).join(next);
  const bytes = file.bytes(after);
  if (bytes === undefined) {
    return failed(
      `${args.path} is ${slice.encoding} text, and new_text has a character that ${slice.encoding} lacks. Nothing was changed: use other characters, or convert the file first (iconv).`,
      `${args.path} is ${slice.encoding} text, and the new text has a character that ${slice.encoding} lacks`,
    );
  }
  return {
    ok: true,
    old: fingerprint(slice),
    before: file.shown(before),
    after: file.shown(after),
    bytes,
    count: places.length,
  };
}

function withLineEnds(text: string, end: string): string {
  return text.replaceAll(/\r?\n/g, end);
}

function positions(text: string, piece: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) found.push(at);
  return found;
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let index = text.indexOf("\n"); index >= 0 && index < at; index = text.indexOf("\n", index + 1)) line++;
  return line;
}

/** `display`: for people, without advice to the model. */
function failed(message: string, display: string): Edit & { ok: false } {
  return { ok: false, result: { ok: false, outcome: "failed", result: `error: ${message}`, display } };
}

const SMALL_DIFF = 3_000;

// The place in a file that is most like a text that the model remembered wrongly.

export function nearestLines(text: string, wanted: string): string {
  const lines = text.split("\n");
  const target = wanted.split("\n").map(squeeze);
  while (target.length > 1 && target.at(-1) === "") target.pop();
  const wantedLines = target.slice(0, MOST_COMPARED);
  const squeezed = lines.map(squeeze);
  let best = { at: -1, score: 0 };
  for (let at = 0; at < lines.length; at++) {
    let score = 0;
    for (let index = 0; index < wantedLines.length; index++)
      score += likeness(squeezed[at + index] ?? "", wantedLines[index]!);
    score /= wantedLines.length;
    if (score > best.score) best = { at, score };
  }
  if (best.at < 0 || best.score < ENOUGH) return "Nothing in the file looks like it: read the file again.";
  const from = Math.max(0, best.at - 1);
  const to = Math.min(lines.length, best.at + wantedLines.length + 1);
  const shown = lines.slice(from, to).map((line, index) => `${from + index + 1}: ${shorten(line, MOST_OF_A_LINE)}`);
  return `Nearest, at line ${best.at + 1}:\n${shown.join("\n")}`;
}

const squeeze = (line: string) => collapseSpaces(line).slice(0, MOST_OF_A_LINE);

/** Dice coefficient of letter pairs: 1 is equal, 0 has nothing in common. */
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
