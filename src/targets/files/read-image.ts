/** Reads an image on any target, within the limit of what can be sent; undefined if the file is not an image. */
import { type Image, imageOf, MOST_IMAGE_BYTES, TOO_LARGE } from "../../lib/images.ts";
import type { FileAccess } from "../target.ts";

export async function readImage(
  files: Pick<FileAccess, "look">,
  path: string,
  signal: AbortSignal,
): Promise<Image | { readonly problem: string } | undefined> {
  const [seen] = await files.look([{ path, follow: true }], { maxBytes: MOST_IMAGE_BYTES, signal });
  if (seen?.state.kind === "file") return imageOf(seen.state.bytes);
  // Too large to transfer just to find out: its name decides.
  const large = seen?.state.kind === "unread" && seen.state.why === "large";
  return large && /\.(png|jpe?g|gif|webp)$/i.test(path) ? { problem: TOO_LARGE } : undefined;
}
