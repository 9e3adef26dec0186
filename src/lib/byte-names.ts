/**
 * File names are bytes. In our strings, each byte that is not valid UTF-8 is a lone surrogate, U+DC80 to U+DCFF, so
 * that the same bytes can be restored.
 */

export function nameFrom(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\ufffd")) return text;
  const { isUtf8 } = process.getBuiltinModule("node:buffer");
  let name = "";
  for (let at = 0; at < bytes.length;) {
    const length = LENGTHS.find((most) => at + most <= bytes.length && isUtf8(bytes.subarray(at, at + most)));
    name +=
      length === undefined ? String.fromCharCode(ESCAPES + (bytes[at] ?? 0)) : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return name;
}

const LENGTHS = [1, 2, 3, 4];
const ESCAPES = 0xdc00;

/** As bytes if the text holds such a name. */
export function withBytes(text: string): string | Buffer {
  if (text.isWellFormed()) return text;
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { index, 0: escape } of text.matchAll(/[\udc80-\udcff]/gu)) {
    pieces.push(Buffer.from(text.slice(from, index)), Buffer.of(escape.charCodeAt(0) - ESCAPES));
    from = index + 1;
  }
  return Buffer.concat([...pieces, Buffer.from(text.slice(from))]);
}

/** For people and the model: on one line, without characters that a terminal obeys or a server rejects. */
export function shownName(name: string): string {
  if (isAscii(name)) return name;
  // Control characters, lone surrogates, invisible characters and bidi controls.
  const hidden = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
  return name.replace(hidden, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const byte = code >= ESCAPES + 0x80 && code <= ESCAPES + 0xff ? code - ESCAPES : code;
    return byte <= 0xff ? `\\x${byte.toString(16).padStart(2, "0")}` : `\\u{${byte.toString(16)}}`;
  });
}

/** Printable ASCII only, like most names: the regular expression for the others takes 0.04 ms the first time. */
function isAscii(name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/** A text with such names in it, in a form that any server accepts. */
export function withoutBytes(text: string): string {
  return text.isWellFormed() ? text : text.replace(/\p{Cs}/gu, shownName);
}

/** Decodes a name in a marker of a shell: each byte may be `%` and two hex digits. */
export function nameFromMark(text: string): string {
  if (!text.includes("%")) return text;
  const bytes = Buffer.from(withBytes(text));
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const digits = bytes[at] === PERCENT ? bytes.toString("latin1", at + 1, at + 3) : "";
    const escaped = /^[0-9a-f]{2}$/i.test(digits);
    decoded[length++] = escaped ? Number.parseInt(digits, 16) : (bytes[at] ?? 0);
    if (escaped) at += 2;
  }
  return nameFrom(decoded.subarray(0, length));
}

const PERCENT = 0x25;

/**
 * The directory that buddy was started in, as a path that the runtime can use: it decodes names as UTF-8, so a name
 * that is not UTF-8 would lead to another directory.
 */
export function currentDirectory(): string {
  const name = process.cwd();
  return name.includes("\ufffd") && process.platform === "linux" ? BY_PROCESS : name;
}

/** Whether the path leads to a different file in another process. */
export function isByProcess(path: string): boolean {
  return path.startsWith(BY_PROCESS);
}

/** The real name of such a path. */
export function exactName(path: string): string {
  if (!isByProcess(path)) return path;
  return nameFrom(process.getBuiltinModule("node:fs").realpathSync(path, { encoding: "buffer" }));
}

const BY_PROCESS = "/proc/self/cwd";
