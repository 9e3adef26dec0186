import { describe, expect, test } from "bun:test";
import { key, KeyDecoder, PASTE_LIMIT, type TerminalInput } from "../../../src/ui/terminal/keys.ts";

/** Decodes the text whole and cut at every place; both must agree. */
function decode(text: string): TerminalInput[] {
  const whole = new KeyDecoder();
  const inputs = [...whole.push(text), ...whole.flush()];
  const pieces = new KeyDecoder();
  const cut: TerminalInput[] = [];
  for (const byte of Buffer.from(text)) cut.push(...pieces.push(Uint8Array.of(byte)));
  cut.push(...pieces.flush());
  expect(cut).toEqual(inputs);
  return inputs;
}

describe("keys", () => {
  const cases: Record<string, readonly TerminalInput[]> = {
    a: [key("a")],
    "+é漢😀": [key("+"), key("é"), key("漢"), key("😀")],
    "\r": [key("enter")],
    "\n": [key("enter")],
    "\t": [key("tab")],
    "\x7f": [key("backspace")],
    "\x08": [key("backspace")],
    "\x01\x05\x02\x06": ["a", "e", "b", "f"].map((name) => key(name, { ctrl: true })),
    "\x1f": [key("_", { ctrl: true })],
    "\x00": [key("space", { ctrl: true })],
    "\x1b": [key("escape")],
    "\x1b\r": [key("enter", { alt: true })],
    "\x1bb": [key("b", { alt: true })],
    "\x1b\x7f": [key("backspace", { alt: true })],
    "\x1b[A\x1bOA": [key("up"), key("up")],
    "\x1b\x1b[D": [key("left", { alt: true })],
    "\x1b[H\x1bOH\x1b[1~\x1b[7~": Array.from({ length: 4 }, () => key("home")),
    "\x1b[F\x1bOF\x1b[4~\x1b[8~": Array.from({ length: 4 }, () => key("end")),
    "\x1b[3~": [key("delete")],
    "\x1b[3;5~": [key("delete", { ctrl: true })],
    "\x1b[1;5C\x1b[1;3C": [key("right", { ctrl: true }), key("right", { alt: true })],
    "\x1b[Z": [key("tab", { shift: true })],
    "\x1b[13;3u\x1b[13;2u": [key("enter", { alt: true }), key("enter", { shift: true })],
    "\x1b[27;3;13~": [key("enter", { alt: true })],
    "\x1b[97;5u": [key("a", { ctrl: true })],
    "\x1b[27u": [key("escape")],
    "\x1bOM": [key("enter")],
    "\x1b[I\x1b[O": [
      { kind: "focus", focused: true },
      { kind: "focus", focused: false },
    ],
    "\x1b[12;40R": [{ kind: "cursor", row: 12, col: 40 }],
    // Answers and keys that mean nothing here leave no trace.
    "\x1b[?62;c\x1b[=1;2c\x1b]11;rgb:0/0/0\x07\x1bP1+r\x1b\\x": [{ kind: "background", light: false }, key("x")],
    "\x1b[>84;0;0c": [{ kind: "terminal", version: "84;0;0" }],
    "\x1b]11;rgb:ffff/ffff/eeee\x1b\\": [{ kind: "background", light: true }],
    "\x1b[[A\x1b[15~\x1b[57441uy": [key("y")],
    "\x1b[200~one\r\ntwo\x1b[201~z": [{ kind: "paste", text: "one\r\ntwo", cut: false }, key("z")],
    "\x1b[200~\x1b[A\x03\x1b[201~": [{ kind: "paste", text: "\x1b[A\x03", cut: false }],
  };
  for (const [text, inputs] of Object.entries(cases)) {
    test(JSON.stringify(text), () => expect(decode(text)).toEqual([...inputs]));
  }

  test("a paste is bounded, and says that it was cut", () => {
    const decoder = new KeyDecoder();
    expect(decoder.push("\x1b[200~")).toEqual([]);
    for (let size = 0; size <= PASTE_LIMIT; size += 1024 * 1024) decoder.push("x".repeat(1024 * 1024));
    const [paste] = decoder.push("\x1b[201~");
    expect(paste).toMatchObject({ kind: "paste", cut: true });
    expect(paste?.kind === "paste" && paste.text.length).toBe(PASTE_LIMIT);
  });

  test("an answer that a slow link had cut in two was typed into the line", () => {
    const answer = "\x1b]11;rgb:ffff/ffff/eeee\x1b\\";
    for (let at = 5; at < answer.length; at++) {
      const decoder = new KeyDecoder();
      expect([...decoder.push(answer.slice(0, at)), ...decoder.flush()]).toEqual([]);
      expect(decoder.push(`${answer.slice(at)}x`)).toEqual([{ kind: "background", light: true }, key("x")]);
    }
    const decoder = new KeyDecoder();
    for (const next of ["x", "\r", "\x1b[A"]) {
      decoder.push("\x1b]11;rgb:ff");
      decoder.flush();
      expect(decoder.push(next)).toHaveLength(1);
    }
  });

  test.each(["\x1b]11;rgb:ffff/ffff/eeee\x1b\\", "\x1b]11;rgb:ff/ff/ee\x07", "\x1b[12;40R"])(
    "an answer that came byte by byte was typed into the line: %j",
    (answer) => {
      const decoder = new KeyDecoder();
      decoder.expectAnswer();
      const inputs = [...answer].flatMap((byte) => [...decoder.push(byte), ...decoder.flush()]);
      expect(inputs.map((input) => (input.kind === "key" ? input.name : input.kind))).toEqual([
        "escape",
        answer.endsWith("R") ? "cursor" : "background",
      ]);
      const typed = ["\x1b", "[", "\x1b", "]", "x"].flatMap((byte) => [...decoder.push(byte), ...decoder.flush()]);
      expect(typed.map((input) => input.kind === "key" && input.name)).toEqual(["escape", "[", "escape", "]", "x"]);
    },
  );

  test("noise never stops the keys behind it", () => {
    const decoder = new KeyDecoder();
    for (const noise of ["\x1b[999999999999", "\x1b[\x80", "\x1b]" + "x".repeat(5000), "\x1bO\x01"]) {
      decoder.push(noise);
      decoder.flush();
      expect(decoder.push("k")).toEqual([key("k")]);
    }
  });
});
