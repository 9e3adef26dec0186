/** How long a verdict takes: everyday commands, long ones, and texts built to be slow to parse. */
import { judgeShell } from "../src/policy/shell/judge.ts";
import reads from "../test/policy/shell/everyday-reads.txt" with { type: "text" };
import { RULES } from "../test/policy/shell/rules.ts";
import { figure } from "./support/figures.ts";

const READS = reads.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

const EVERYDAY = [
  'ls -la | grep foo && echo "$x"',
  "find . -name '*.ts' -print0 | xargs -0 wc -l | sort -n | tail -5",
  'for f in *.log; do echo "$f"; grep -c error "$f"; done',
  "git -C /srv/app log --oneline -20 && git status",
  'sudo -u x env A=b nice -n 5 nohup sh -c "rm -rf /"',
  "awk -F: '{print $1, $3}' /etc/passwd | sort | uniq -c",
  "cat > x.sh <<'E'\nset -e\nmake\nE",
  'x=$(ls | wc -l); if [ "$x" -gt 3 ]; then echo many; fi',
];

const SLOW: Readonly<Record<string, string>> = {
  commands: 'ls -la /tmp | grep foo && echo "$x"; ',
  lines: "a\n",
  pipes: "a|",
  and: "a&&",
  assignments: "a=b ",
  "assigned lines": "a1=b\n",
  arguments: "echo aaa bbb ",
  "words of echo": "word ",
  substitutions: "$(a) ",
  "nested substitutions": "$(",
  "nested in quotes": '"$(',
  "nested arithmetic": "$((",
  "old arithmetic": "$[",
  parameters: "${a:-",
  "process substitutions": "<(",
  "here-documents": "<<E ",
  "here-document bodies": "cat <<A\nx\nA\n",
  braces: "{a,",
  "closed braces": "{a,b}",
  "brace ranges": "{1..9}",
  globs: "*?[",
  backticks: "`",
  functions: "f(){ ",
  "function calls": "f(){ f; f; }; f; ",
  groups: "{ ",
  subshells: "( ",
  ifs: "if ",
  loops: "for i in a b; do x=$i; ",
  case: "case a in a) ",
  quotes: "'a'",
  "one long word": "a",
  data: "some text here and there, with more of it\n",
  wrappers: "env ",
  evals: "eval ",
  "shells in shells": "bash -c ",
  aliases: "alias a='b c'; a; ",
  negations: "! ",
  tests: "[[ a && ( ",
  continuations: "\\\n",
  variables: "a=$a$a; ",
  "values times values": "for a in 1 2 3 4 5 6 7 8; do echo $a$a$a$a; done; ",
  sed: "sed 's/a/b/' f; ",
  awk: "awk '{print $1}' f; ",
  find: "find . -name x -exec ls {} + ; ",
};

function times(texts: readonly string[], rounds: number): number[] {
  const out: number[] = [];
  for (let round = 0; round < rounds; round++)
    for (const text of texts) {
      const start = performance.now();
      judgeShell(text, RULES);
      out.push(performance.now() - start);
    }
  return out.toSorted((a, b) => a - b);
}

const row = (name: string, list: readonly number[]) => {
  const at = (share: number) =>
    (list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0).toFixed(2).padStart(9);
  console.log(`${name.padEnd(26)}${at(0.5)}${at(0.99)}${at(1)}`);
};

const [first = 0] = times(["ls"], 1);
times(EVERYDAY, 300);
figure("the first verdict, with the table", first, "ms");
summary("everyday commands", times(EVERYDAY, 300));
summary(
  "400 everyday reads",
  // The median of each: other work on the machine does not count.
  READS.map((text) => times([text], 15)[7] ?? 0).toSorted((a, b) => a - b),
);
const all: number[] = [];
for (const size of [1024, 4096, 16_384, 65_536]) {
  console.log(`-- ${size} characters`);
  for (const [name, piece] of Object.entries(SLOW)) {
    const text = piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
    const list = times([text], 9);
    all.push(...list);
    row(name, list);
  }
}
summary(
  "texts built to be slow, up to 64 KB",
  all.toSorted((a, b) => a - b),
  "≤ 5",
);

function summary(name: string, sorted: readonly number[], goal?: string): void {
  figure(name, sorted, "ms");
  figure("… 99 of 100 within", sorted[Math.floor(sorted.length * 0.99)] ?? 0, "ms", goal);
}
