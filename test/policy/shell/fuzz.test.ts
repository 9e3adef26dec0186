/**
 * Properties that hold for any text: no crash, no hang, the same verdict however it is written, no wrapper that lowers
 * it.
 */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { cases, LONG, Seeded } from "../../support/seeded.ts";
import { list, otherwise, plainly, shellQuoted } from "./generate.ts";
import { RULES } from "./rules.ts";

const TOKENS = [
  "ls",
  "rm",
  "-rf",
  "/",
  "git",
  "add",
  "a",
  "x=1",
  "$x",
  "${x",
  "}",
  "$(",
  ")",
  "`",
  "'",
  '"',
  "$'",
  "((",
  "))",
  "[[",
  "]]",
  "{",
  "|",
  "||",
  "&&",
  "&",
  ";",
  ";;",
  "<",
  ">",
  "<<E",
  "\nE\n",
  "<<<",
  "<(",
  "\n",
  "\\",
  "\\\n",
  "#",
  "!",
  "if",
  "then",
  "fi",
  "for",
  "in",
  "do",
  "done",
  "case",
  "esac",
  "while",
  "function",
  "f()",
  "eval",
  "bash",
  "-c",
  "sudo",
  "env",
  "xargs",
  "find",
  "-exec",
  "{}",
  "*",
  "?",
  "[",
  "~",
  "=",
  "@(",
  "{a,b}",
  "{1..3}",
  "$[",
  "\0",
  "\u{fdd0}",
  "é",
  "\u{1f600}",
  "\r",
  "\t",
  "2>&1",
  "coproc",
  "select",
  "time",
  "alias",
  "trap",
  "read",
  "declare",
  "export",
  "${x:-",
  "${!",
  "$((",
  "a[",
  "]=",
  "-delete",
  "--",
  "%s",
  "\x1b",
];
const RANK = { allow: 0, ask: 1, deny: 2 } as const;

test(
  "no text makes the judge fail",
  () => {
    const random = new Seeded(1);
    for (let count = cases(35_000); count > 0; count--) {
      const text = Array.from(
        { length: 1 + random.below(14) },
        () => random.of(TOKENS) + (random.below(3) === 0 ? "" : " "),
      ).join("");
      const judged = judgeShell(text, RULES);
      if (judged.verdict.kind === "allow" && (judged.uncertain.length > 0 || !judged.readOnly))
        expect(text).toBe("not allowed");
    }
  },
  LONG,
);

test(
  "blanks, quotes and comments do not change a verdict",
  () => {
    const random = new Seeded(2);
    for (let count = cases(9_000); count > 0; count--) {
      const pieces = list(random);
      const [one, other] = [plainly(pieces), otherwise(pieces, random)];
      const [a, b] = [judgeShell(one, RULES), judgeShell(other, RULES)];
      if (a.verdict.kind !== b.verdict.kind || a.readOnly !== b.readOnly)
        expect([other, b.verdict]).toEqual([one, a.verdict]);
    }
  },
  LONG,
);

test(
  "nothing around a text makes its verdict milder",
  () => {
    const random = new Seeded(3);
    const frames: ((text: string) => string)[] = [
      (text) => `( ${text}\n)`,
      (text) => `{ ${text}\n}`,
      (text) => `if true; then ${text}\nfi`,
      (text) => `while true; do ${text}\ndone`,
      (text) => `for i in 1 2; do ${text}\ndone`,
      (text) => `case x in x) ${text}\n;; esac`,
      (text) => `echo "$(${text}\n)"`,
      (text) => `f() { ${text}\n}`,
      (text) => `true && { ${text}\n}`,
      (text) => `ls; ${text}`,
      (text) => `${text}\nls`,
      (text) => `bash -c ${shellQuoted(text)}`,
      (text) => `sudo sh -c ${shellQuoted(text)}`,
      (text) => `eval ${shellQuoted(text)}`,
      (text) => `ssh host ${shellQuoted(text)}`,
      (text) => `timeout 5 bash -c ${shellQuoted(text)}`,
      (text) => `env A=b nice bash -c ${shellQuoted(text)}`,
      (text) => `docker exec web sh -c ${shellQuoted(text)}`,
      (text) => `find . -name x -exec sh -c ${shellQuoted(text)} \\;`,
      (text) => `echo x | xargs sh -c ${shellQuoted(text)}`,
      (text) => `bash <<'END_OF_TEXT'\n${text}\nEND_OF_TEXT`,
      (text) => `cat <<'END_OF_TEXT' | sh\n${text}\nEND_OF_TEXT`,
      (text) => `trap ${shellQuoted(text)} EXIT`,
    ];
    for (let count = cases(7_000); count > 0; count--) {
      const text = plainly(list(random, 1));
      let framed = text;
      for (let depth = 1 + random.below(3); depth > 0; depth--) framed = random.of(frames)(framed);
      const [inner, outer] = [judgeShell(text, RULES), judgeShell(framed, RULES)];
      if (RANK[outer.verdict.kind] < RANK[inner.verdict.kind])
        expect([framed, outer.verdict]).toEqual([text, inner.verdict]);
    }
  },
  LONG,
);

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
