/** write_file: creates or replaces a file on the target, after the operator saw what changes. */
import { z } from "zod";
import { plural } from "../lib/text.ts";
import { defined } from "../lib/values.ts";
import { unifiedDiff } from "./diff.ts";
import type { FileSlice } from "../targets/target.ts";
import {
  changedSinceShown,
  checkNote,
  editableText,
  filesFor,
  fingerprint,
  likeOldFile,
  MOST_EDITED,
  type NewContent,
  sudoField,
  writeOptions,
} from "./text-file.ts";
import type { Prepared, Tool, ToolContext } from "./tool.ts";

const input = z.strictObject({ path: z.string().min(1), content: z.string(), sudo: sudoField });

type WriteInput = z.infer<typeof input>;

/** The change that the operator saw. */
const shown = new WeakMap<WriteInput, Comparison>();

export const writeFileTool: Tool<WriteInput> = {
  name: "write_file",
  onTarget: true,
  description: "Create or replace a file on the target.",
  input,
  secretFields: ["content"],
  intent: (args) => ({
    kind: "write",
    title: `${args.path} (${plural(Buffer.byteLength(args.content), "byte")})`,
    path: args.path,
    ...defined({ sudo: args.sudo }),
  }),
  async prepare(args, context): Promise<Prepared> {
    const files = filesFor(await context.target(), args.sudo, context);
    const path = await files.resolve(args.path);
    if (path.kind === "directory") return refuse(`${path.path} is a directory.`);
    if (path.kind === "other") return refuse(`${path.path} is not a regular file.`);
    const change = await compared(args, context, path.exists);
    shown.set(args, change);
    return { kind: "ready", diff: change.diff };
  },
  async run(args, context) {
    const files = filesFor(await context.target(), args.sudo, context);
    const { old, content } = shown.get(args)!;
    const { exists } = await files.resolve(args.path);
    if (fingerprint(exists ? await readOld(args, context) : undefined) !== old) return changedSinceShown(args.path);
    const written = await files.write(args.path, content.bytes, writeOptions(context));
    const { bytes, created } = written;
    const { path } = await files.resolve(args.path);
    const notes = [...content.notes, ...checkNote(written)].map((note) => `; ${note}`).join("");
    return {
      ok: true,
      outcome: "done",
      result: `${created ? "created" : "replaced"} ${path}: ${plural(bytes, "byte")} written${notes}`,
    };
  },
};

interface Comparison {
  /** Fingerprint of the file. */
  readonly old: string;
  readonly diff: string;
  readonly content: NewContent;
}

async function compared(args: WriteInput, context: ToolContext, exists: boolean): Promise<Comparison> {
  const slice = exists ? await readOld(args, context) : undefined;
  const content = likeOldFile(args.content, slice);
  return { old: fingerprint(slice), diff: differenceFrom(slice, content, context), content };
}

async function readOld(args: WriteInput, context: ToolContext): Promise<FileSlice> {
  const files = filesFor(await context.target(), args.sudo, context);
  return files.read(args.path, { maxBytes: MOST_EDITED, signal: context.signal });
}

function differenceFrom(slice: FileSlice | undefined, content: NewContent, { mask }: ToolContext): string {
  if (slice === undefined) return unifiedDiff("", mask(content.text));
  const old = editableText(slice);
  if (old !== undefined) return unifiedDiff(mask(old.shown(old.text)), mask(content.text)) || "[no change]";
  const what = slice.binary ? "binary content" : "content that is too large to compare";
  return `[replaces ${slice.sizeBytes} bytes of ${what} with ${content.bytes.length} bytes]`;
}

function refuse(result: string): Prepared {
  return { kind: "failed", result: { ok: false, outcome: "failed", result: `error: ${result}` } };
}
