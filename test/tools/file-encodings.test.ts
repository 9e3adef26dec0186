/** What read_file, write_file and edit_file do with text that is not plain UTF-8 with line feeds. */
import { describe, expect, test } from "bun:test";
import { chmodSync, linkSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call } from "../support/calls.ts";
import { Here } from "../support/in-process.ts";

const ALL = { "no-tmux": true, approve: "all" } as const;

/** The result of one call on a file with these bytes, and the file afterwards. */
async function on(
  bytes: Buffer,
  tool: string,
  args: Record<string, unknown>,
): Promise<{ result: string; file: Buffer }> {
  await using here = new Here([call(tool, { path: "file", ...args }), { text: "done" }]);
  here.write("cwd/file", bytes);
  const { results } = await here.turn(ALL);
  return { result: String(results[0]), file: readFileSync(join(here.cwd, "file")) };
}

const LATIN1 = Buffer.from("Gr\xfc\xdfe aus caf\xe9\n", "latin1");
const WINDOWS = Buffer.from([0x80, 0x20, 0x35, 0x20, 0x93, 0x78, 0x94, 0x0a]);
const MIXED = Buffer.concat([Buffer.from("größe\n"), Buffer.from([0x66, 0xff, 0x6f, 0x0a])]);
const WIDE = Buffer.from("\ufeffgröße\r\n", "utf16le");
const WIDE_BIG = Buffer.from("\ufeffgröße\n", "utf16le").swap16();
const ROWS = "a row\r\n".repeat(10_000);
const LARGE = Buffer.from(`\ufeffgröße\r\n${ROWS}`, "utf16le");
const OLD_MAC = Buffer.from("one\rtwo\r");
const DOS = Buffer.from("\ufeffone\r\ntwo\r\n");

describe("read_file", () => {
  test.each([
    ["latin1", LATIN1, "[latin1 (ISO-8859-1)]\nGrüße aus café\n"],
    ["windows-1252", WINDOWS, "[windows-1252]\n€ 5 “x”\n"],
    ["UTF-16", WIDE, "[UTF-16 (little endian), byte order mark, CRLF line ends]\ngröße\r\n"],
    ["UTF-16 of big endian", WIDE_BIG, "[UTF-16 (big endian), byte order mark]\ngröße\n"],
    ["CR line ends", OLD_MAC, "[CR line ends]\none\rtwo\r"],
    ["a byte order mark and CRLF", DOS, "[byte order mark, CRLF line ends]\none\r\ntwo\r\n"],
  ])("%s is named and shown readably", async (_, bytes, shown) => {
    expect((await on(bytes, "read_file", {})).result).toBe(shown);
  });

  test("a part of a large file in UTF-16", async () => {
    const { result } = await on(LARGE, "read_file", { offset: 2, limit: 1 });
    expect(result).toStartWith("[UTF-16 (little endian), CRLF line ends]\na row\r\n\n[9999 lines left;");
  });

  test("damaged UTF-8 is shown as UTF-8", async () => {
    expect((await on(MIXED, "read_file", {})).result).toContain("größe\nf\ufffdo\n");
  });

  test("an ordinary file has no heading", async () => {
    expect((await on(Buffer.from("größe\n"), "read_file", {})).result).toBe("größe\n");
  });

  test("unusual rights and further links are named", async () => {
    await using here = new Here([call("read_file", { path: "file" }), { text: "done" }]);
    const path = here.write("cwd/file", "x\n");
    chmodSync(path, 0o4755);
    linkSync(path, `${path}2`);
    const { results } = await here.turn(ALL);
    expect(results[0]).toBe("[mode -rwsr-xr-x, 2 hard links]\nx\n");
  });
});

describe("write_file", () => {
  test.each([
    ["latin1", LATIN1, "Ärger\n", Buffer.from("\xc4rger\n", "latin1")],
    ["windows-1252", WINDOWS, "€\n", Buffer.from([0x80, 0x0a])],
    ["UTF-16 and CRLF", WIDE, "1\n2\n", Buffer.from("\ufeff1\r\n2\r\n", "utf16le")],
    ["CR", OLD_MAC, "1\n2\n", Buffer.from("1\r2\r")],
    ["CRLF and a byte order mark", DOS, "1\n2\n3\n", Buffer.from("\ufeff1\r\n2\r\n3\r\n")],
  ])("%s is kept, and said", async (_, before, content, after) => {
    const { result, file } = await on(before, "write_file", { content });
    expect(file).toEqual(after);
    expect(result).toContain("kept");
  });

  test("a character that the old encoding lacks makes it UTF-8, and buddy says so", async () => {
    const { result, file } = await on(LATIN1, "write_file", { content: "日本\n" });
    expect(file).toEqual(Buffer.from("日本\n"));
    expect(result).toContain("is UTF-8 now");
  });

  test.each([
    ["mixed line ends", Buffer.from("1\r\n2\n"), "are LF now"],
    ["a binary file", Buffer.from("\xff\xfe\0\0x\0\0\0", "latin1"), "was a binary file"],
  ])("%s that are not kept are named", async (_, before, said) => {
    const { result, file } = await on(before, "write_file", { content: "1\n" });
    expect(file).toEqual(Buffer.from("1\n"));
    expect(result).toContain(said);
  });

  test("line ends that were given are written as given", async () => {
    const { file } = await on(DOS, "write_file", { content: "\ufeff1\r\n2\n" });
    expect(file).toEqual(Buffer.from("\ufeff1\r\n2\n"));
  });
});

describe("edit_file", () => {
  test("keeps latin1", async () => {
    const { file } = await on(LATIN1, "edit_file", { old_text: "café", new_text: "Köln" });
    expect(file).toEqual(Buffer.from("Gr\xfc\xdfe aus K\xf6ln\n", "latin1"));
  });

  test("refuses a character that latin1 lacks and changes nothing", async () => {
    const { result, file } = await on(LATIN1, "edit_file", { old_text: "café", new_text: "日本" });
    expect(result).toStartWith("error: ");
    expect(file).toEqual(LATIN1);
  });

  test("keeps bytes that belong to no character", async () => {
    const { file } = await on(MIXED, "edit_file", { old_text: "größe", new_text: "Maß" });
    expect(file).toEqual(Buffer.concat([Buffer.from("Maß\n"), Buffer.from([0x66, 0xff, 0x6f, 0x0a])]));
  });

  test.each([
    ["UTF-16", WIDE, "größe", "Maß", Buffer.from("\ufeffMaß\r\n", "utf16le")],
    ["UTF-16 of big endian", WIDE_BIG, "größe", "日本", Buffer.from("\ufeff日本\n", "utf16le").swap16()],
    ["UTF-16 in a large file", LARGE, "größe", "Maß", Buffer.from(`\ufeffMaß\r\n${ROWS}`, "utf16le")],
    ["CR line ends", OLD_MAC, "one\ntwo", "1\n2\n3", Buffer.from("1\r2\r3\r")],
  ])("keeps %s", async (_, before, old_text, new_text, after) => {
    expect((await on(before, "edit_file", { old_text, new_text })).file).toEqual(after);
  });

  test("a line added to a CRLF file ends like the others", async () => {
    const { file } = await on(DOS, "edit_file", { old_text: "one", new_text: "one\nand a half" });
    expect(file).toEqual(Buffer.from("\ufeffone\r\nand a half\r\ntwo\r\n"));
  });
});
