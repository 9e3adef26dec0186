/** A file that can be edited as text: whole, not binary, and the same bytes when written back. */
import type { FileSlice } from "../targets/target.ts";

export const MOST_EDITED = 8 * 1024 * 1024;

/** The text, or undefined where writing it back would change or lose something else. */
export function textOf(slice: FileSlice): string | undefined {
  if (slice.binary || slice.lossy || Buffer.byteLength(slice.text) !== slice.sizeBytes) return undefined;
  return slice.text;
}
