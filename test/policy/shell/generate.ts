/** Random shell text: words, commands, compounds, wrappers; and the same text written differently. */
import type { Seeded } from "../../support/seeded.ts";

/** A piece of text that may be written in several ways, or not. */
export type Piece =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "as-is"; readonly text: string }
  | { readonly kind: "blank" };

const word = (text: string): Piece => ({ kind: "word", text });
const asIs = (text: string): Piece => ({ kind: "as-is", text });
const blank: Piece = { kind: "blank" };

const PROGRAMS = [
  "ls",
  "cat",
  "grep",
  "rm",
  "git",
  "sort",
  "find",
  "echo",
  "sed",
  "awk",
  "dd",
  "sudo",
  "env",
  "xargs",
  "bash",
  "tee",
  "docker",
  "curl",
  "chmod",
  "unknown",
  "systemctl",
  "uniq",
  "date",
  "cp",
  "cd",
  "timeout",
  "ssh",
  "tar",
  "journalctl",
];
const WORDS = [
  "-rf",
  "-r",
  "-f",
  "-la",
  "-o",
  "-n",
  "-c",
  "-i",
  "-A",
  "-exec",
  "-delete",
  "-name",
  "--force",
  "--all",
  "--output=x",
  "--",
  "/",
  "/etc",
  "/tmp/x",
  ".git",
  "src",
  "a.txt",
  "status",
  "push",
  "add",
  "log",
  "diff",
  "branch",
  "origin",
  "main",
  "+main",
  "ps",
  "logs",
  "restart",
  "of=/dev/sda",
  "if=x",
  "5",
  "root",
  "host",
  "A=b",
  "p",
  "s/a/b/",
  "w",
  "e",
  "sh",
  "rm",
  "{}",
  "+",
  "-tf",
  "-s",
  "--vacuum-size=1",
];
const SPECIAL = [
  "~",
  "$HOME",
  '"$HOME"',
  "*",
  "./*",
  "$x",
  '"$x"',
  "${x:-/}",
  "$(ls)",
  '"$(rm -rf /)"',
  "`pwd`",
  "/{bin,etc}",
  "'rm -rf /'",
  '"git add ."',
  "$'\\x72m'",
  "<(ls)",
  "$((1+2))",
  "{a,b}",
  "?",
  "[a-z]*",
  "\\;",
  "'{print $1}'",
  "'1,5p'",
];
const REDIRECTIONS = [
  "> out",
  ">> out",
  "2>/dev/null",
  "2>&1",
  "< in",
  "> /dev/null",
  "&> out",
  "<<< text",
  "> /dev/sda",
  ">&2",
];

export function command(random: Seeded): Piece[] {
  const pieces: Piece[] = [];
  if (random.below(12) === 0)
    pieces.push(asIs(random.of(["x=/", "x=1", "PATH=/tmp", "LC_ALL=C", "x=$(ls)", "a='rm -rf /'"])), blank);
  if (random.below(16) === 0) pieces.push(asIs("$a"));
  else pieces.push(word(random.of(PROGRAMS)));
  for (let count = random.below(6); count > 0; count--)
    pieces.push(blank, random.below(4) === 0 ? asIs(random.of(SPECIAL)) : word(random.of(WORDS)));
  if (random.below(6) === 0) pieces.push(blank, asIs(random.of(REDIRECTIONS)));
  return pieces;
}

export function list(random: Seeded, depth = 2): Piece[] {
  const pieces = node(random, depth);
  for (let count = random.below(3); count > 0; count--)
    pieces.push(blank, asIs(random.of(["|", "&&", "||", ";"])), blank, ...node(random, depth));
  return pieces;
}

function node(random: Seeded, depth: number): Piece[] {
  if (depth === 0) return command(random);
  const inner = () => list(random, depth - 1);
  switch (random.below(12)) {
    case 0:
      return [asIs("("), blank, ...inner(), blank, asIs(")")];
    case 1:
      return [asIs("{"), blank, ...inner(), asIs(";"), blank, asIs("}")];
    case 2:
      return [
        asIs("if"),
        blank,
        ...inner(),
        asIs(";"),
        blank,
        asIs("then"),
        blank,
        ...inner(),
        asIs(";"),
        blank,
        asIs("fi"),
      ];
    case 3:
      return [
        asIs("for"),
        blank,
        asIs("x"),
        blank,
        asIs("in"),
        blank,
        word(random.of(WORDS)),
        asIs(";"),
        blank,
        asIs("do"),
        blank,
        ...inner(),
        asIs(";"),
        blank,
        asIs("done"),
      ];
    case 4:
      return [word("echo"), blank, asIs("$("), ...command(random), asIs(")")];
    case 5:
      return [asIs("!"), blank, ...command(random)];
    default:
      return command(random);
  }
}

/** As plain as possible: single blanks, no quotes. */
export function plainly(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (piece.kind === "blank" ? " " : piece.text)).join("");
}

/** The same with other blanks, quotes around plain words, a comment at the end. */
export function otherwise(pieces: readonly Piece[], random: Seeded): string {
  const text = pieces
    .map((piece) =>
      piece.kind === "blank"
        ? random.of([" ", "  ", "\t", " \t ", " \\\n "])
        : piece.kind === "as-is"
          ? piece.text
          : requoted(piece.text, random),
    )
    .join("");
  return random.of(["", " ", "\n"]) + text + random.of(["", " ", "\n", " # note", "  \n\n", "\t# rm -rf /\n"]);
}

function requoted(text: string, random: Seeded): string {
  // Words that are patterns or assignments mean something else in quotes.
  if (!/^[\w./:+={}-]+$/.test(text)) return text;
  const middle = 1 + random.below(Math.max(1, text.length - 1));
  switch (random.below(7)) {
    case 0:
      return `'${text}'`;
    case 1:
      return `"${text}"`;
    case 2:
      return `${text.slice(0, middle)}''${text.slice(middle)}`;
    case 3:
      // Not the letters that stand for another character behind a backslash in fish.
      return /^[dghijklmopqswyz.-]/i.test(text.slice(middle))
        ? `${text.slice(0, middle)}\\${text.slice(middle)}`
        : text;
    case 4:
      return `${text.slice(0, middle)}"${text.slice(middle)}"`;
    case 5:
      return `$'${text}'`;
    default:
      return text;
  }
}

export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
