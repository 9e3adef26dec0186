import { expect, test } from "bun:test";
import { decodePage, mayBeText } from "../../../src/tools/fetch-url.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1");

function decoded(body: Uint8Array, type: string): string {
  const page = decodePage(body, type);
  return page.kind === "binary" ? "binary" : page.text;
}

test.each([
  ["header", ascii("caf\xe9"), "text/html; charset=ISO-8859-1", "café"],
  ["quoted header", bytes(0x93, 0xfa, 0x96, 0x7b), 'text/html; charset="Shift_JIS"', "日本"],
  ["gbk", bytes(0xc4, 0xe3), "text/plain;charset=gb2312", "你"],
  ["windows-1252", bytes(0x93, 0x80, 0x94), "text/plain; charset=windows-1252", "“€”"],
  ["meta", ascii('<meta charset="iso-8859-2">\xb1'), "text/html", '<meta charset="iso-8859-2">ą'],
  [
    "http-equiv",
    ascii('<meta http-equiv=Content-Type content="text/html; charset=koi8-r">\xc1'),
    "text/html",
    '<meta http-equiv=Content-Type content="text/html; charset=koi8-r">а',
  ],
  [
    "xml declaration",
    ascii('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9'),
    "application/rss+xml",
    '<?xml version="1.0" encoding="ISO-8859-1"?><a>é',
  ],
  ["BOM beats the header", bytes(0xef, 0xbb, 0xbf, 0xc3, 0xa9), "text/html; charset=iso-8859-1", "é"],
  ["UTF-16 with BOM", bytes(0xff, 0xfe, 0x68, 0x00, 0xe9, 0x00), "text/plain", "hé"],
  ["UTF-16 by the header", bytes(0x68, 0x00, 0xe9, 0x00), "text/html; charset=UTF-16LE", "hé"],
  ["undeclared UTF-8", Buffer.from("naïve 漢字"), "text/html", "naïve 漢字"],
  ["undeclared old text", ascii("na\xefve"), "text/html", "naïve"],
  ["unknown label", Buffer.from("é"), "text/html; charset=klingon", "é"],
  ["cut inside a character", Buffer.from("aé").subarray(0, 2), "text/plain", "a"],
  ["a lie about UTF-16 in meta", Buffer.from("<meta charset=utf-16>é"), "text/html", "<meta charset=utf-16>é"],
])("%s", (_what, body, type, text) => {
  expect(decoded(body, type)).toBe(text);
});

test("what kind of content it is", () => {
  expect(decodePage(ascii("<!DOCTYPE html><p>x"), "").kind).toBe("html");
  expect(decodePage(ascii("<!-- c --><html>"), "application/octet-stream").kind).toBe("html");
  expect(decodePage(ascii("<p>x"), "text/html; charset=utf-8").kind).toBe("html");
  expect(decodePage(ascii('{"a":1}'), "application/json")).toEqual({
    kind: "text",
    mime: "application/json",
    text: '{"a":1}',
  });
  expect(decodePage(ascii("hello"), "application/octet-stream").kind).toBe("text");
  expect(decodePage(bytes(0x7f, 0x45, 0x4c, 0x46, 0, 0, 1), "application/octet-stream").kind).toBe("binary");
  expect(decodePage(bytes(0x89, 0x50, 0x4e, 0x47, 0), "text/html").kind).toBe("binary");
  expect(decodePage(bytes(1, 2, 3, 4, 5, 6, 7, 8), "text/plain").kind).toBe("binary");
  expect(decodePage(ascii("%PDF-1.7"), "application/pdf")).toEqual({ kind: "binary", mime: "application/pdf" });
  expect(decodePage(new Uint8Array(), "text/plain")).toEqual({ kind: "text", mime: "text/plain", text: "" });
  for (const type of ["image/png", "video/mp4", "application/zip", "font/woff2", " Application/PDF"])
    expect(mayBeText(type)).toBe(false);
  for (const type of ["", "text/html", "image/svg+xml", "application/javascript", "application/octet-stream"])
    expect(mayBeText(type)).toBe(true);
});
