/** A file that can be edited as text: whole, not binary, and the same bytes when written back. */
import type { FileSlice, WriteOptions } from "../targets/target.ts";
import type { ToolContext } from "./tool.ts";

export const MOST_EDITED = 8 * 1024 * 1024;

/** The text, or undefined where writing it back would change or lose something else. */
export function textOf(slice: FileSlice): string | undefined {
  if (slice.binary || slice.lossy || Buffer.byteLength(slice.text) !== slice.sizeBytes) return undefined;
  return slice.text;
}

/** Writes only where it was judged, whatever the path leads to by now. */
export function writeOptions({ signal, onlyAt }: ToolContext): WriteOptions {
  return { signal, ...(onlyAt === undefined ? {} : { onlyAt }) };
}
