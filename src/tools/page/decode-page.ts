/**
 * What a response holds: HTML, other text, or bytes to be described; decoded with the charset the server or page names.
 */
export function decodePage(body: Uint8Array, contentType: string): DecodedPage {
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  const mime = type.trim();
  const kind = kindOf(mime, body, charsetOf(contentType));
  if (kind === "binary") return { kind, mime };
  const label =
    bomLabel(body) ?? charsetOf(contentType) ?? (kind === "html" || isXml(mime) ? declared(body) : undefined);
  return { kind, mime, text: decode(body, label) };
}

export type DecodedPage =
  | { readonly kind: "html" | "text"; readonly mime: string; readonly text: string }
  | { readonly kind: "binary"; readonly mime: string };

/** False when the type alone says that there is nothing to read. */
export function mayBeText(contentType: string): boolean {
  return !/^\s*(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:pdf|zip|gzip|x-tar|x-7z|x-rar|java-archive|vnd\.(?:openxml|ms-|oasis|android|debian|rar)|x-(?:xz|bzip2?|debian|rpm|executable|iso9660)|wasm|msword))/i.test(
    contentType,
  );
}

function kindOf(mime: string, body: Uint8Array, charset: string | undefined): DecodedPage["kind"] {
  if (!mayBeText(mime)) return "binary";
  const start = Buffer.from(body.subarray(0, SNIFFED)).toString("latin1");
  // UTF-16 text is full of NULs, so a BOM or the server must speak for it
  if (bomLabel(body) === undefined && looksBinary(body) && !/^utf-?16/i.test(charset ?? "")) return "binary";
  if (/^(?:text\/html|application\/xhtml\+xml)$/.test(mime)) return "html";
  if (mime === "" || mime === "application/octet-stream" || mime === "unknown/unknown")
    return /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype\s+html|html|head|body)[\s>]/i.test(start) ? "html" : "text";
  return "text";
}

/** NUL bytes, or many control characters, near the start. */
function looksBinary(body: Uint8Array): boolean {
  const start = body.subarray(0, SNIFFED);
  let odd = 0;
  for (const byte of start) {
    if (byte === 0) return true;
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b) odd++;
  }
  return odd > start.length / 20;
}

function isXml(mime: string): boolean {
  return /[/+]xml$/.test(mime);
}

function bomLabel(body: Uint8Array): string | undefined {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return "utf-8";
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  return undefined;
}

function charsetOf(text: string): string | undefined {
  return /charset\s*=\s*["']?\s*([^\s"';,>]+)/i.exec(text)?.[1];
}

/** <meta charset>, <meta http-equiv … charset=…>, <?xml encoding=…?>, as far as browsers look. */
function declared(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.subarray(0, SNIFFED)).toString("latin1");
  const xml = /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([^"']{1,40})["']/i.exec(start)?.[1];
  if (xml !== undefined) return xml;
  for (const [tag] of start.matchAll(/<meta\b[^>]{0,500}>/gi)) {
    const label = charsetOf(tag);
    // a page that can be read up to here cannot be UTF-16
    if (label !== undefined) return /^utf-?16/i.test(label) ? "utf-8" : label;
  }
  return undefined;
}

function decode(body: Uint8Array, label: string | undefined): string {
  if (label !== undefined) {
    try {
      return new TextDecoder(label as Bun.Encoding).decode(body);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  try {
    // a body that was cut may end inside a character
    return new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: true });
  } catch {
    return new TextDecoder(label === undefined ? "windows-1252" : "utf-8").decode(body);
  }
}

const SNIFFED = 4096;
