/** write_file: creates or replaces a file on the target, after the operator saw what changes. */
import { z } from "zod";
import { plural } from "../lib/text.ts";
import { defined } from "../lib/values.ts";
import { unifiedDiff } from "./diff.ts";
import {
  checkNote,
  editableText,
  filesFor,
  likeOldFile,
  MOST_EDITED,
  type NewContent,
  sudoField,
  writeOptions,
} from "./text-file.ts";
import type { Prepared, Tool, ToolContext } from "./tool.ts";

const input = z.strictObject({ path: z.string().min(1), content: z.string(), sudo: sudoField });

type WriteInput = z.infer<typeof input>;

/** The content of the file when the operator saw the diff. */
const seen = new WeakMap<WriteInput, string>();

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
    const { fingerprint, diff } = await comparison(args, context, path.exists);
    seen.set(args, fingerprint);
    return { kind: "ready", diff: diff() };
  },
  async run(args, context) {
    const files = filesFor(await context.target(), args.sudo, context);
    const shown = seen.get(args);
    const { exists } = await files.resolve(args.path);
    const { fingerprint, content } = await comparison(args, context, exists);
    if (shown !== undefined && fingerprint !== shown) {
      return {
        ok: false,
        outcome: "changed",
        result: `${args.path} has changed since the operator saw the difference. Nothing was written: read it and decide again.`,
        display: `${args.path} has changed since you saw the difference; nothing was written`,
      };
    }
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

async function comparison(
  args: WriteInput,
  context: ToolContext,
  exists: boolean,
): Promise<{ fingerprint: string; diff: () => string; content: NewContent }> {
  if (!exists) {
    const content = likeOldFile(args.content, undefined);
    return { fingerprint: "missing", diff: () => unifiedDiff("", context.mask(args.content)), content };
  }
  const files = filesFor(await context.target(), args.sudo, context);
  const slice = await files.read(args.path, { maxBytes: MOST_EDITED, signal: context.signal });
  const content = likeOldFile(args.content, slice);
  const old = editableText(slice);
  if (old === undefined) {
    const what = slice.binary ? "binary content" : "content that is too large to compare";
    return {
      fingerprint: `${slice.sizeBytes}`,
      diff: () => `[replaces ${slice.sizeBytes} bytes of ${what} with ${content.bytes.length} bytes]`,
      content,
    };
  }
  return {
    fingerprint: old.text,
    diff: () => unifiedDiff(context.mask(old.shown(old.text)), context.mask(content.text)) || "[no change]",
    content,
  };
}

function refuse(result: string): Prepared {
  return { kind: "failed", result: { ok: false, outcome: "failed", result: `error: ${result}` } };
}
