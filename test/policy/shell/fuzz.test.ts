/** No length or depth is allowed through or makes the judge slow; other properties of any text are in test/fuzz. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES } from "./rules.ts";

test("no length or depth is allowed through or lets the judge hang", () => {
  const pieces = [
    "$(",
    "`",
    "(",
    "{ ",
    "((",
    "$((",
    "$[",
    "${a:-",
    "<(",
    '"$(',
    "<<E ",
    "{a,",
    "if ",
    "case a in a) ",
    "f(){ ",
    "a=$a$a; ",
    "! ",
    "\\\n",
    "env ",
    "sudo ",
    "eval ",
    "bash -c ",
    "[[ ( ",
    "a[",
    "@(",
    "ls;",
    "ls\n",
    "ls|",
    "$a",
    "{1..9}",
    "'",
    '"',
    "coproc ",
    "time ",
    "alias a=b;",
    "for i in a; do ",
    "while a; do ",
  ];
  for (const piece of pieces)
    for (const size of [200, 5_000, 70_000]) {
      const text = `touch x; ${piece.repeat(Math.ceil(size / piece.length))}`;
      expect([piece, judgeShell(text, RULES).verdict.kind]).toEqual([piece, "ask"]);
    }
  for (const size of [100, 10_000, 70_000]) {
    expect(judgeShell(`rm -rf / ${"x ".repeat(size / 2)}`, RULES).verdict.kind).toBe("deny");
    expect(judgeShell(`echo '${"x".repeat(size)}'; rm -rf /`, RULES).verdict.kind).toBe("deny");
    expect(judgeShell(`cat > f <<'E'\n${"some text\n".repeat(size / 10)}E\nrm -rf /`, RULES).verdict.kind).toBe("deny");
    expect(judgeShell(`cat > f <<'E'\n${"rm -rf /\n".repeat(size / 10)}E\n`, RULES).verdict.kind).toBe("ask");
  }
  expect(judgeShell(`ls ${"a".repeat(70_000)}`, RULES).verdict.kind).toBe("ask");
});
