/** Images for models: their type by their first bytes, and how large they may be. */
export interface Image {
  /** "image/png", "image/jpeg", "image/gif" or "image/webp". */
  readonly type: string;
  /** Base64. */
  readonly data: string;
}

/** Every provider accepts this much in one request; base64 adds a third. */
export const MOST_IMAGE_BYTES = 3_750_000;

/** The image, or why it cannot be sent; undefined if the bytes are not an image. */
export function imageOf(bytes: Uint8Array): Image | { readonly problem: string } | undefined {
  const type = imageType(bytes);
  if (type === undefined) return undefined;
  if (bytes.byteLength > MOST_IMAGE_BYTES) return { problem: tooLarge(bytes.byteLength) };
  return { type, data: Buffer.from(bytes).toString("base64") };
}

export function tooLarge(bytes: number): string {
  return `the image has ${(bytes / 1e6).toFixed(1)} MB, and ${MOST}`;
}

const MOST = `at most ${MOST_IMAGE_BYTES / 1e6} MB can be sent: scale it down first`;
export const TOO_LARGE = `the image is too large: ${MOST}`;

function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : undefined;
}
