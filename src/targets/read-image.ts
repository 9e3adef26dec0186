/** The bytes of a picture on any target, within the limit of what can be sent; undefined when the file is not a picture. */
import { type Image, imageOf, MOST_IMAGE_BYTES, tooLarge } from "../lib/images.ts";
import type { Target } from "./target.ts";

export async function readImage(
  { transport }: Pick<Target, "transport">,
  path: string,
  signal: AbortSignal,
): Promise<Image | { readonly problem: string } | undefined> {
  const { code, stdout } = await transport.run(SCRIPT, { args: [path, String(MOST_IMAGE_BYTES + 1)], signal });
  if (code !== 0) return undefined;
  const end = stdout.indexOf(0x0a);
  const size = Number(stdout.toString("latin1", 0, end));
  const image = imageOf(stdout.subarray(end + 1));
  return image !== undefined && size > MOST_IMAGE_BYTES ? { problem: tooLarge(size) } : image;
}

/** The size on a line of its own, then the bytes, not many more than can be used. */
const SCRIPT = `[ -f "$1" ] || exit 1
wc -c <"$1" | tr -d ' ' || exit 1
head -c "$2" <"$1"`;
