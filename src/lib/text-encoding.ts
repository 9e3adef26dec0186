/** The text in a file: its encoding, byte order mark and line ends, and how to get the same bytes back. */

/** `mixed`: mostly UTF-8, with invalid bytes; shown with replacement characters and never written back. */
export type TextEncodingName = "utf-8" | "utf-16le" | "utf-16be" | "latin1" | "windows-1252" | "mixed";
export type LineEnds = "none" | "lf" | "crlf" | "cr" | "mixed";

export interface DecodedText {
  /** Begins with U+FEFF where the bytes do. */
  readonly text: string;
  readonly encoding: TextEncodingName;
  readonly lineEnds: LineEnds;
}

export function decodeText(bytes: Uint8Array): DecodedText {
  const [text, encoding] = decode(bytes);
  return { text, encoding, lineEnds: lineEndsOf(text) };
}

/** The bytes of `text`; undefined if the encoding lacks one of its characters. */
export function encodeText(text: string, encoding: TextEncodingName): Buffer | undefined {
  if (encoding === "utf-8") return Buffer.from(text);
  if (encoding === "utf-16le") return Buffer.from(text, "utf16le");
  if (encoding === "utf-16be") return Buffer.from(text, "utf16le").swap16();
  if (encoding === "mixed") return undefined;
  const codes = encoding === "latin1" ? undefined : windows1252();
  const bytes = Buffer.allocUnsafe(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const byte = codes === undefined ? code : (codes.get(code) ?? 256);
    if (byte > 255) return undefined;
    bytes[at] = byte;
  }
  return bytes;
}

export const BOM = "\ufeff";

/** Decodes UTF-16 with a byte order mark; undefined for all other bytes. */
export function decodeUtf16(bytes: Uint8Array): DecodedText | undefined {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? "utf-16be"
        : undefined;
  if (encoding === undefined) return undefined;
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    // UTF-32 begins like UTF-16.
    return text.includes("\0") ? undefined : { text, encoding, lineEnds: lineEndsOf(text) };
  } catch {
    return undefined;
  }
}

export function lineEndsOf(text: string): LineEnds {
  const feeds = count(text, "\n");
  if (feeds === 0) return text.includes("\r") ? "cr" : "none";
  const pairs = count(text, "\r\n");
  return pairs === 0 ? "lf" : pairs === feeds ? "crlf" : "mixed";
}

function decode(bytes: Uint8Array): [string, TextEncodingName] {
  try {
    return [new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), "utf-8"];
  } catch {
    // Some other encoding, or damaged.
  }
  // In a single-byte encoding, two bytes in a row are hardly ever a valid UTF-8 character.
  const replaced = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (/[^\0-\x7f\ufffd\ufeff]/.test(replaced)) return [replaced, "mixed"];
  if (bytes.some((byte) => byte >= 0x80 && byte < 0xa0))
    return [new TextDecoder("windows-1252").decode(bytes), "windows-1252"];
  return [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"), "latin1"];
}

function windows1252(): ReadonlyMap<number, number> {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  return new Map([...new TextDecoder("windows-1252").decode(all)].map((char, byte) => [char.charCodeAt(0), byte]));
}

function count(text: string, piece: string): number {
  let found = 0;
  for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) found++;
  return found;
}
