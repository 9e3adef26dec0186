/** The shell policy: no crash, the same verdict however a text is written, no wrapper that lowers it. */
import { judgeShell } from "../../src/policy/shell/judge.ts";
import { list, otherwise, plainly, shellQuoted } from "../policy/shell/generate.ts";
import { RULES } from "../policy/shell/rules.ts";
import { Seeded } from "../support/seeded.ts";
import type { Property } from "./property.ts";

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

const FRAMES: readonly ((text: string) => string)[] = [
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

/** Pieces cannot be had back from a text: what is tried is made from a number, which stands in for it. */
function listOf(text: string, size?: number): ReturnType<typeof list> {
  return list(new Seeded(Number(text)), size);
}

export const POLICY: readonly Property[] = [
  {
    name: "no text makes the judge fail, and nothing uncertain or changing is allowed",
    usual: 35_000,
    make: (random) =>
      Array.from({ length: 1 + random.below(14) }, () => random.of(TOKENS) + (random.below(3) === 0 ? "" : " ")).join(
        "",
      ),
    wrong(text) {
      const { verdict, uncertain, readOnly } = judgeShell(text, RULES);
      const bad = verdict.kind === "allow" && (uncertain.length > 0 || !readOnly);
      return bad
        ? `allowed, though ${readOnly ? `uncertain: ${uncertain.join(", ")}` : "it changes something"}`
        : undefined;
    },
  },
  {
    name: "blanks, quotes and comments do not change a verdict",
    usual: 9_000,
    make: (random) => String(random.below(2 ** 32)),
    wrong(text, random) {
      if (!/^\d+$/.test(text)) return undefined;
      const pieces = listOf(text);
      const [one, other] = [plainly(pieces), otherwise(pieces, random)];
      const [a, b] = [judgeShell(one, RULES), judgeShell(other, RULES)];
      if (a.verdict.kind === b.verdict.kind && a.readOnly === b.readOnly) return undefined;
      return `${JSON.stringify(one)} is ${a.verdict.kind}, ${JSON.stringify(other)} is ${b.verdict.kind}`;
    },
  },
  {
    name: "nothing around a text makes its verdict milder",
    usual: 7_000,
    make: (random) => plainly(list(random, 1)),
    wrong(text, random) {
      let framed = text;
      for (let depth = 1 + random.below(3); depth > 0; depth--) framed = random.of(FRAMES)(framed);
      const [inner, outer] = [judgeShell(text, RULES).verdict.kind, judgeShell(framed, RULES).verdict.kind];
      return RANK[outer] < RANK[inner] ? `${inner}, but ${JSON.stringify(framed)} is ${outer}` : undefined;
    },
  },
];
