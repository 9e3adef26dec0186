/**
 * Archives written by hand, so that the same files give the same bytes: tar, ar and cpio; gzip and zstd around them.
 */
import { createHash } from "node:crypto";
import { constants, zstdCompressSync } from "node:zlib";

export interface ArchiveFile {
  /** Without a slash at its start; a directory ends with one. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly mode: number;
  /** Records for a pax header before the entry. */
  readonly pax?: Readonly<Record<string, string>>;
}

export function file(path: string, data: Uint8Array | string, mode = 0o644): ArchiveFile {
  return { path, data: typeof data === "string" ? Buffer.from(data) : data, mode };
}

/** The time of every entry: SOURCE_DATE_EPOCH, or the commit that is checked out. */
export function sourceDate(): number {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  const { stdout, exitCode } = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: import.meta.dir });
  return exitCode === 0 ? Number(stdout.toString().trim()) : 0;
}

/** POSIX ustar, owned by root, directories before what is in them. `open` leaves out the end-of-archive blocks. */
export function tar(files: readonly ArchiveFile[], mtime: number, { open = false } = {}): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of withDirectories(files)) {
    if (entry.pax !== undefined)
      blocks.push(...block(`PaxHeaders/${entry.path}`, paxRecords(entry.pax), 0o644, "x", mtime));
    const directory = entry.path.endsWith("/");
    blocks.push(...block(entry.path, entry.data, entry.mode, directory ? "5" : "0", mtime));
  }
  return Buffer.concat(open ? blocks : [...blocks, Buffer.alloc(1024)]);
}

function withDirectories(files: readonly ArchiveFile[]): ArchiveFile[] {
  const known = new Set(files.map(({ path }) => path));
  return files.flatMap((entry) => {
    const parts = entry.path.replace(/\/$/, "").split("/").slice(0, -1);
    const missing = parts
      .map((_, i) => `${parts.slice(0, i + 1).join("/")}/`)
      .filter((path) => path !== "./" && !known.has(path) && known.add(path));
    return [...missing.map((path): ArchiveFile => ({ path, data: new Uint8Array(), mode: 0o755 })), entry];
  });
}

function block(path: string, data: Uint8Array, mode: number, type: string, mtime: number): Buffer[] {
  const header = Buffer.alloc(512);
  const [name, prefix] = splitName(path);
  header.write(name, 0, 100);
  header.write(octal(mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(data.length, 11), 124);
  header.write(octal(mtime, 11), 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\u000000", 257);
  header.write("root", 265);
  header.write("root", 297);
  header.write(prefix, 345, 155);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 6).slice(0, 6)}\0 `, 148);
  const padding = Buffer.alloc((512 - (data.length % 512)) % 512);
  return [header, Buffer.from(data), padding];
}

function splitName(path: string): [name: string, prefix: string] {
  if (path.length <= 100) return [path, ""];
  const at = path.indexOf("/", path.length - 101);
  if (at === -1 || at > 155) throw new Error(`${path} is too long for a tar archive`);
  return [path.slice(at + 1), path.slice(0, at)];
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, "0")}\0`;
}

/** Each record says its own length, with the digits of it. */
function paxRecords(records: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = rest.length + 1;
    while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
    return `${length}${rest}`;
  });
  return Buffer.from(lines.join(""));
}

/** Debian's outer archive. */
export function ar(files: readonly ArchiveFile[], mtime: number): Buffer {
  const parts = files.flatMap(({ path, data, mode }) => {
    const fields = [path.padEnd(16), String(mtime).padEnd(12), "0".padEnd(6), "0".padEnd(6)];
    const header = `${fields.join("")}${(0o100000 | mode).toString(8).padEnd(8)}${String(data.length).padEnd(10)}\`\n`;
    return [Buffer.from(header), Buffer.from(data), Buffer.from(data.length % 2 === 1 ? "\n" : "")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts]);
}

/** The payload of an rpm: the "new ASCII" format, names with `./` before them. */
export function cpio(files: readonly ArchiveFile[], mtime: number): Buffer {
  const parts = [...files, file("TRAILER!!!", "", 0)].flatMap(({ path, data, mode }, index) => {
    const trailer = path === "TRAILER!!!";
    const name = Buffer.from(`${trailer ? "" : "./"}${path.replace(/\/$/, "")}\0`);
    const inode = trailer ? 0 : index + 1;
    const numbers = [
      inode,
      trailer ? 0 : typedMode({ path, mode }),
      0,
      0,
      1,
      trailer ? 0 : mtime,
      data.length,
      0,
      0,
      0,
      0,
    ];
    const header = Buffer.from(
      `070701${[...numbers, name.length, 0].map((value) => value.toString(16).padStart(8, "0")).join("")}`,
    );
    return [padded(Buffer.concat([header, name]), 4), padded(Buffer.from(data), 4)];
  });
  return Buffer.concat(parts);
}

/** As stat tells it. */
export function typedMode({ path, mode }: Pick<ArchiveFile, "path" | "mode">): number {
  return (path.endsWith("/") ? 0o040000 : 0o100000) | mode;
}

export function padded(bytes: Buffer, size: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((size - (bytes.length % size)) % size)]);
}

/** Bun's gzip writes no name and no time. */
export function gzip(bytes: Uint8Array, level: Bun.ZlibCompressionOptions["level"] = 9): Buffer {
  return Buffer.from(Bun.gzipSync(Buffer.from(bytes), { level }));
}

/** Level 22 with a window of 128 MB, the largest that zstd unpacks without being asked to. */
export function zstd(bytes: Uint8Array, level = 22): Buffer {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } });
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
