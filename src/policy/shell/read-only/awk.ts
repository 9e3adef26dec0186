/** awk: reads its program token by token and proves that it neither writes, pipes nor runs anything. */
import { isFixed } from "../syntax/field.ts";
import { bracketEnd } from "./bracket-end.ts";
import type { Proof, ReadOnlyRow } from "./proof.ts";

const awk: Proof = (args) => {
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] as string;
    if (word === "--") {
      at++;
      break;
    }
    if (!word.startsWith("-") || word === "-") break;
    if (word === "-F" || word === "-v" || word === "--assign" || word === "--field-separator") at++;
    else if (
      !/^(?:-[Fv][^]+|--(?:assign|field-separator)=[^]*|--re-interval|--posix|--traditional|--version|--lint|-[cPrSt])$/.test(
        word,
      )
    )
      return `with ${word}`;
  }
  const program = args[at];
  if (program === undefined) return args.length === 1 && args[0] === "--version" ? undefined : "without a program";
  if (
    args.some(
      (word, index) =>
        index < at && !isFixed(word) && !/^-v|^\w+=/.test(word) && args[index - 1] !== "-v" && args[index - 1] !== "-F",
    )
  )
    return "with an option that cannot be known";
  if (args.slice(at + 1).some((word) => word.startsWith("/inet"))) return "uses the network";
  // An assignment among the operands is no option; a file whose name starts with a dash is.
  return isHarmlessProgram(program) ? undefined : "with a program that may write or run something";
};

/** Words after which a slash starts a regular expression. */
const BEFORE_REGEXP = /^(?:print|printf|return|case|in|exit|else|do|getline)$/;

export function isHarmlessProgram(program: string): boolean {
  if (!isFixed(program)) return false;
  let at = 0;
  /** What stands before: an operand (so `/` divides) or not. */
  let operand = false;
  let printing = false;
  /** The last character that is neither blank nor comment: after some of them a line goes on. */
  let last = "";
  while (at < program.length) {
    const character = program[at] as string;
    if (character === "\n") {
      operand = false;
      if (!/[,&|?:]/.test(last)) printing = false;
      at++;
      continue;
    }
    if (!/[\s#]/.test(character)) last = character;
    if (character === ";" || character === "}" || character === "{") {
      operand = false;
      printing = false;
      at++;
    } else if (/\s/.test(character)) at++;
    else if (character === "\\" && program[at + 1] === "\n") at += 2;
    else if (character === "#") {
      while (at < program.length && program[at] !== "\n") at++;
    } else if (character === '"') {
      at = closing(program, at + 1, '"');
      if (at < 0) return false;
      operand = true;
    } else if (character === "/" && !operand) {
      at = closingRegExp(program, at + 1);
      if (at < 0) return false;
      operand = true;
    } else if (/[A-Za-z_]/.test(character)) {
      const word = /^\w+/.exec(program.slice(at, at + 256))?.[0] ?? "";
      if (/^(?:system|getline|extension|nextfile_unused|close_unused)$/.test(word)) return false;
      if (word === "print" || word === "printf") printing = true;
      operand = !BEFORE_REGEXP.test(word);
      at += word.length;
    } else if (/[0-9.]/.test(character)) {
      operand = true;
      at++;
    } else if (character === "@" || character === "`" || character === "'") return false;
    else if (character === "|") {
      if (program[at + 1] !== "|") return false;
      operand = false;
      at += 2;
    } else if (character === ">") {
      if (printing) return false;
      operand = false;
      at++;
    } else if (character === ")" || character === "]") {
      operand = true;
      at++;
    } else if ((character === "+" || character === "-") && program[at + 1] === character) at += 2;
    else {
      operand = false;
      at++;
    }
  }
  return true;
}

function closing(text: string, from: number, end: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "\n") return -1;
    else if (text[at] === end) return at + 1;
  }
  return -1;
}

/** awks differ on a slash inside brackets: not proven then. */
function closingRegExp(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === "\\") at++;
    else if (character === "\n") return -1;
    else if (character === "/") return at + 1;
    else if (character === "[") {
      const end = bracketEnd(text, at);
      if (end < 0 || /[/\n]/.test(text.slice(at, end))) return -1;
      at = end;
    }
  }
  return -1;
}

export const AWK: readonly ReadOnlyRow[] = [
  {
    programs: ["awk", "gawk", "mawk", "nawk", "original-awk"],
    proof: awk,
    yes: [
      "awk '{print $1}' f",
      "awk -F: '{print $1, $3}' /etc/passwd",
      "awk '$3 > 100' f",
      "awk '/foo|bar/ {n++} END {print n}' f",
      "awk -v x=1 '$1 == x {print}' f",
      "awk 'NR>=10 && NR<=20' f",
      "awk '{s+=$1} END {printf \"%d\\n\", s}' f",
      "awk '!seen[$0]++' f",
      "awk 'length > 80' f",
      "awk -F',' 'NR > 1 { print $2 }' f",
      "awk '{ if ($1 > 3) n++ } END { print n/2 }' f",
      "awk '$1 ~ /^a\\/b/' f",
      "awk 'BEGIN { print \"a > b | c\" }'",
      "awk -v x=\"$X\" '{print x}' f",
      "awk '{ print $1,\n $2 }' f",
      "awk '{ x = $1\n if (x > 5) print x }' f",
      "awk '/[[:space:]]+[\"]/ {n++} END {print n}' f",
    ],
    no: [
      "awk '{print > \"f\"}' x",
      "awk '{print $1 > $2}' f",
      "awk '{print | \"sh\"}' f",
      "awk 'BEGIN{system(\"id\")}'",
      "awk 'BEGIN{\"date\" | getline x}'",
      "awk '{print >> \"f\"}' x",
      "awk -f prog f",
      "awk -i inplace '{print}' f",
      'awk "$X" f',
      'awk \'{ printf "x" > "/dev/sda" }\'',
      "awk 'BEGIN { @f() }'",
      "awk --exec f",
      "awk -o f '{}'",
      "awk -l ext '{}'",
      "awk 'BEGIN { print 1 |& \"cat\" }'",
      "awk '{ print ($1) > \"f\" }'",
      'awk \'BEGIN { print "a",\n"b" > "f" }\'',
      "awk '{ print $1, # both\n $2 > \"f\" }' x",
      "awk '{ print 1 &&\n 1 > \"f\" }' x",
      'awk \'/[]/"]/ {system("id")} /"/\' f',
      'awk \'/[[:alpha:]/"]/ {system("id")} /"/\' f',
      "awk '{print}' /inet/tcp/0/host/80",
    ],
  },
];
