/** The judge against the real bash: what runs was seen, and what is allowed leaves the files as they were. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { LONG, Seeded } from "../../support/seeded.ts";
import { shellQuoted } from "./generate.ts";
import { RULES } from "./rules.ts";

const BASH = Bun.which("bash") ?? "/bin/bash";
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "buddy-policy-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function bash(text: string, cwd: string, path: string): string {
  const ran = Bun.spawnSync([BASH, "-c", text], {
    cwd,
    env: { PATH: path, HOME: cwd, LC_ALL: "C" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    timeout: 5_000,
  });
  return ran.stdout.toString();
}

/** Scripts whose every command is a stub of its own name; each that runs reports itself. */
class Stubs {
  #count = 0;
  constructor(readonly random: Seeded) {}

  name(): string {
    const name = `k${this.#count++}x`;
    switch (this.random.below(9)) {
      case 0:
        return `'${name}'`;
      case 1:
        return `k\\${name.slice(1)}`.replace(/\\(\d)/, "\\$1");
      case 2:
        return `$'\\x6b${name.slice(1)}'`;
      case 3:
        return `${name.slice(0, 2)}""${name.slice(2)}`;
      default:
        return name;
    }
  }

  word(depth: number): string {
    if (depth <= 0) return this.random.of(["a", "$v", '"$v"', "-x", "'; k99x'", "~", "*"]);
    const inner = () => this.list(depth - 1);
    switch (this.random.below(12)) {
      case 0:
        return `$(${inner()})`;
      case 1:
        return `"$(${inner()})"`;
      case 2:
        return `\${v:-$(${inner()})}`;
      case 3:
        return `<(${inner()})`;
      case 4:
        return `{a,$(${inner()})}`;
      case 5:
        return `\`${this.simple(0)}\``;
      case 6:
        return `$((1+$(${inner()})))`;
      case 7:
        return `\${a[$(${inner()})]}`;
      default:
        return this.word(0);
    }
  }

  simple(depth: number): string {
    const words = [this.name()];
    for (let count = this.random.below(3); count > 0; count--) words.push(this.word(depth - 1));
    return words.join(" ");
  }

  list(depth: number): string {
    const parts = [this.node(depth)];
    for (let count = this.random.below(3); count > 0; count--) parts.push(this.node(depth));
    return parts.join(this.random.of(["; ", " && ", " || ", " | ", "\n"]));
  }

  node(depth: number): string {
    if (depth <= 0) return this.simple(0);
    const { random } = this;
    const inner = () => this.list(depth - 1);
    switch (random.below(24)) {
      case 0:
        return `if ${inner()}\nthen ${inner()}\nelse ${inner()}\nfi`;
      case 1:
        return `for v in a ${this.word(depth - 1)}; do ${inner()}\ndone`;
      case 2:
        return `case a in a) ${inner()}\n;; *) ${inner()}\n;; esac`;
      case 3:
        return `( ${inner()}\n)`;
      case 4:
        return `{ ${inner()}\n}`;
      case 5: {
        const name = `fn${this.#count++}`;
        return `${name}() { ${inner()}\n}; ${name} ${this.word(0)}`;
      }
      case 6:
        return `eval ${shellQuoted(inner())}`;
      case 7:
        return `${BASH} -c ${shellQuoted(`command_not_found_handle() { echo "ran $1" >&9; }; ${inner()}`)}`;
      case 8:
        return `w=${this.name()}; $w`;
      case 9:
        return `w='${`k${this.#count++}x`} a'; $w`;
      case 10:
        return `command ${this.simple(depth - 1)}`;
      case 11:
        return `v=$(${inner()})`;
      case 12:
        return `[[ -n $(${inner()}) ]]`;
      case 13:
        return `cat0x <<E\n$(${inner()})\nE\n`;
      case 14:
        return `eval "$(echo ${shellQuoted(this.simple(0))})"`;
      case 15:
        return `a=(${this.name()} x); "\${a[@]}"`;
      case 16:
        return `builtin command ${this.simple(0)}`;
      case 17:
        return `! ${this.simple(depth - 1)}`;
      case 18:
        return `source /dev/stdin <<'E'\n${this.simple(0)}\nE\n`;
      case 19:
        return `f() { "$@"; }; f ${this.simple(0)}`;
      case 20:
        return `n=${this.name()}; m=n; \${!m} a`;
      case 21:
        return `trap ${shellQuoted(this.simple(0))} EXIT`;
      case 22:
        return `set -- ${this.name()} b; $1 $2; "$@"`;
      default:
        return this.simple(depth);
    }
  }
}

test(
  "whatever bash runs, the judge has seen or called uncertain",
  () => {
    const random = new Seeded(4);
    let ran = 0;
    for (let count = 250; count > 0; count--) {
      const text = `${new Stubs(random).list(1 + random.below(3))}\n`;
      const judged = judgeShell(text, RULES);
      // What cannot be known is never allowed; what is claimed to be known must be complete.
      if (judged.uncertain.length > 0) {
        expect(judged.verdict.kind).not.toBe("allow");
        continue;
      }
      const seen = new Set(judged.commands.map((command) => command.words[0]));
      const names =
        bash(
          `exec 9>&1 >/dev/null; command_not_found_handle() { echo "ran $1" >&9; return 0; }\n${text}\nwait`,
          dir,
          "/nonexistent",
        ).match(/(?<=^ran ).*$/gm) ?? [];
      ran += names.length;
      const missed = names.filter((name) => !seen.has(name));
      if (missed.length > 0) expect([text, missed]).toEqual([text, []]);
    }
    expect(ran).toBeGreaterThan(100);
  },
  LONG,
);

const PROGRAMS: readonly (readonly [string, readonly string[]])[] = [
  ["ls", ["-la", "-R", "--color=auto", "sub", "*"]],
  ["cat", ["a.txt", "b.txt", "-n", "sub/c.txt", "*"]],
  ["head", ["-n", "2", "-c", "5", "a.txt"]],
  [
    "sort",
    [
      "-u",
      "-r",
      "-k1",
      "-o",
      "out",
      "-oout",
      "--output=out",
      "-uoout",
      "a.txt",
      "--compress-program=./evil",
      "-T",
      ".",
      "--outp=x",
    ],
  ],
  ["uniq", ["-c", "-d", "a.txt", "b.txt", "out", "--", "-f", "1"]],
  [
    "sed",
    [
      "-n",
      "-e",
      "p",
      "s/a/b/",
      "w out",
      "s/a/b/w out",
      "1e touch out",
      "-i",
      "-i.bak",
      "--in-place",
      "a.txt",
      "s/l/touch out/e",
      "-E",
      "/a/,/b/p",
      "$!N;p",
      "y/a/b/",
      "r b.txt",
      "R b.txt",
      "a\\\nw out",
      "s/[/]/x/",
      "-s",
      "\\,a,w out",
      "{p;w out\n}",
      "-f",
      "script.sed",
    ],
  ],
  [
    "awk",
    [
      "{print}",
      '{print > "out"}',
      '{print $1 | "cat > out"}',
      'BEGIN{system("touch out")}',
      "/a|b/",
      "$1 > 3",
      "{ if ($1 > 1) print }",
      "-F:",
      "-v",
      "x=1",
      "a.txt",
      "-f",
      "prog.awk",
      'BEGIN{"touch out" | getline}',
      '{printf "%s", $1 >> "out"}',
      "END{print NR/2}",
      "-i",
      "inplace",
      "{print (1>2)}",
    ],
  ],
  [
    "find",
    [
      ".",
      "-name",
      "*.txt",
      "'*.txt'",
      "-type",
      "f",
      "-delete",
      "-exec",
      "cat",
      "touch",
      "rm",
      "{}",
      "\\;",
      "+",
      "-fprint",
      "out",
      "-print",
      "-o",
      "\\(",
      "\\)",
      "!",
      "-newer",
      "a.txt",
      "-fprintf",
      "-fls",
      "-execdir",
      "-maxdepth",
      "1",
      "-quit",
      "-printf",
      "%p",
    ],
  ],
  ["grep", ["-r", "-n", "a", "a.txt", ".", "-f", "b.txt", "--include=*.txt", "-c"]],
  [
    "xargs",
    ["ls", "cat", "touch", "rm", "-n1", "-I{}", "{}", "sort", "-o", "-a", "a.txt", "echo", "-0", "sh", "-c", "tee"],
  ],
  [
    "tar",
    [
      "-tf",
      "x.tar",
      "tf",
      "-xf",
      "-cf",
      "new.tar",
      "a.txt",
      "--to-command=tee",
      "-I",
      "gzip",
      "--list",
      "--delete",
      "-v",
      "-C",
      "sub",
    ],
  ],
  ["tee", ["out", "-a"]],
  ["touch", ["out", "a.txt"]],
  [
    "git",
    [
      "status",
      "log",
      "diff",
      "branch",
      "new",
      "--list",
      "-a",
      "tag",
      "v1",
      "-l",
      "config",
      "user.name",
      "x",
      "--get",
      "stash",
      "list",
      "init",
      "--output=out",
      "show",
      "-C",
      "sub",
      "remote",
      "-v",
      "--no-index",
      "a.txt",
      "b.txt",
      "hash-object",
      "-w",
    ],
  ],
  ["date", ["+%s", "-u", "-r", "a.txt", "-d", "now", "-f", "b.txt"]],
  ["diff", ["a.txt", "b.txt", "-u", "-l", "--paginate"]],
  ["env", ["LC_ALL=C", "PATH=.", "ls", "touch", "out", "-i", "-S", "touch out", "-C", "sub", "FOO=1"]],
  ["timeout", ["5", "ls", "touch", "out", "-s", "KILL"]],
  ["nice", ["-n", "5", "ls", "touch", "out"]],
  ["bash", ["-c", "'ls'", "'touch out'", "'echo x > out'", "-x", "script.sh", "-s"]],
  ["test", ["-f", "a.txt", "-n", "x", "=", "y"]],
  ["printf", ["%s", "x", "-v", "name"]],
  ["read", ["-r", "line", "name"]],
  ["xxd", ["a.txt", "out", "-r", "-p", "-l", "-s", "4", "./*.txt"]],
  ["git", ["branch", "--list", "-l", "--format", "--sort", "foo", "--", "-v"]],
  ["git", ["config", "user.name", "list", "get", "--get", "--list", "--default", "x"]],
  ["sed", ["-n", "b x w out", "{b}# w out", "s/[[:alpha:]/]/p;s/w ./p", "a.txt", "-e", "p"]],
  ["awk", ['{print 1,\n2 > "out"}', '/[]/"]/ {system("touch out")} /"/', "{print 1,\n2}", "a.txt"]],
  ["tree", ["-o", "out", "sub"]],
  ["file", ["a.txt", "-C", "-m", "b.txt"]],
  ["gzip", ["-c", "a.txt", "-k", "-d", "-l", "--"]],
  ["split", ["a.txt"]],
  ["cp", ["a.txt", "out"]],
  ["comm", ["a.txt", "b.txt", "-12"]],
  ["shuf", ["a.txt", "-o", "out", "-n", "1"]],
  ["dd", ["if=a.txt", "of=out"]],
  ["mapfile", ["-t", "lines", "-C", "'touch out;'", "-c", "1"]],
];
const FRAMES = [
  "X",
  "X",
  "X",
  "X | Y",
  "X && Y",
  "X; Y",
  "echo $(X)",
  "X 2>/dev/null",
  "X 2>&1",
  "X > out",
  "X < a.txt",
  "X <<< a",
  "for f in *.txt; do X; done",
  "if X; then Y; fi",
  'v=$(X); echo "$v"',
  "(X)",
  "{ X; }",
  "X | xargs ls",
  "diff <(X) <(Y)",
  "while read -r l; do X; done < a.txt",
  "X >/dev/null",
  "case a in a) X;; esac",
  "! X",
  "X || Y",
  "cat <<E\n$(X)\nE",
  "X > /dev/stderr",
  "time X",
  "[[ -n $(X) ]] && Y",
  "X &>> out",
  'ls | while read -r f; do cat "$f"; X; done',
  "command X",
  "eval 'X'",
  "PATH=. X",
  "v=out; X > $v",
  "X | cat > /dev/null",
];

test(
  "what is allowed leaves every file as it was",
  () => {
    const random = new Seeded(5);
    const make = () => {
      const [program, words] = random.of(PROGRAMS);
      const chosen = Array.from({ length: random.below(5) }, () => random.of(words));
      return [
        program,
        ...chosen.map((word) => (/^[\w./:=+-]+$|^\*|^\\|^'/.test(word) ? word : shellQuoted(word))),
      ].join(" ");
    };
    const cwd = join(dir, "files");
    mkdirSync(join(cwd, "sub"), { recursive: true });
    for (const [name, text] of Object.entries({
      "a.txt": "a\nb 2\nc:d 3\n",
      "b.txt": "b\n1\n",
      "sub/c.txt": "c\n",
      "script.sh": "touch out\n",
      "script.sed": "w out\n",
      "prog.awk": '{print > "out"}\n',
      evil: "#!/bin/sh\ntouch out\n",
      ls: "#!/bin/sh\ntouch out\n",
      cat: "#!/bin/sh\ntouch out\n",
    }))
      writeFileSync(join(cwd, name), text, { mode: 0o755 });
    bash("tar -cf x.tar a.txt && git init -q . 2>/dev/null", cwd, "/usr/bin:/bin");
    const before = snapshot(cwd);
    const tried = new Set<string>();
    let candidates = 0;
    while (tried.size < 300 && candidates++ < 200_000) {
      const text = random
        .of(FRAMES)
        .replace("X", () => make())
        .replace("Y", () => make());
      if (tried.has(text) || judgeShell(text, RULES).verdict.kind !== "allow") continue;
      tried.add(text);
      bash(text, cwd, "/usr/bin:/bin");
      const after = snapshot(cwd);
      if (after !== before) expect([text, after]).toEqual([text, before]);
    }
    expect(tried.size).toBe(300);
  },
  LONG,
);

/** Names, modes and contents; git's own index may be refreshed by looking. */
function snapshot(root: string): string {
  const lines: string[] = [];
  const visit = (path: string, shown: string) => {
    for (const entry of readdirSync(path).toSorted()) {
      const full = join(path, entry);
      const stat = statSync(full);
      lines.push(`${shown}${entry} ${stat.mode.toString(8)} ${stat.isFile() ? Bun.hash(readFileSync(full)) : ""}`);
      if (stat.isDirectory()) visit(full, `${shown}${entry}/`);
    }
  };
  visit(root, "");
  return lines.join("\n");
}
