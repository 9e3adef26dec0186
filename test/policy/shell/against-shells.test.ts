/**
 * The judge for machines without bash, against real shells: what it allows starts the same commands in each of them.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { cases, LONG, Seeded } from "../../support/seeded.ts";
import { RULES } from "./rules.ts";
import { needs } from "../../support/needs.ts";

const inEveryShell = await needs("bash", "dash", "busybox", "mksh", "zsh", "fish");

const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: ["bash", "-p", "-c"],
  dash: ["dash", "-c"],
  ash: ["busybox", "ash", "-c"],
  mksh: ["mksh", "-c"],
  zsh: ["zsh", "-f", "-c"],
  fish: ["fish", "--no-config", "-c"],
};
/** Programs of the read-only table; each is replaced by a script that notes its name and arguments. */
const STUBS = ["wc", "head", "nl", "tac", "cut", "cat", "more", "rm", "touch"];

let dir = "";
let runs = 0;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "buddy-shells-"));
  for (const place of ["bin", "work/a", "work/sub", "home"]) mkdirSync(join(dir, place), { recursive: true });
  // One write for each: commands that run at the same time must not mix their words.
  const stub = '#!/bin/sh\ne=\nfor w in "${0##*/}" "$@"; do e="$e$w\u001f"; done\nprintf \'%s\\036\' "$e" >> "$LOG"\n';
  for (const file of [...STUBS.map((name) => `bin/${name}`), "work/a/b", "work/x", "work/rm"]) {
    writeFileSync(join(dir, file), stub);
    chmodSync(join(dir, file), 0o755);
  }
  writeFileSync(join(dir, "work/sub/f.txt"), "text\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The commands that a shell starts for the text. */
function started(shell: string, text: string): string[][] {
  // A file of its own: what runs on in the background must not be taken for a part of the next text.
  const log = join(dir, `log-${runs++}`);
  writeFileSync(log, "");
  const [program = "", ...args] = SHELLS[shell] as readonly string[];
  Bun.spawnSync([Bun.which(program) ?? program, ...args, text], {
    cwd: join(dir, "work"),
    env: { PATH: join(dir, "bin"), HOME: join(dir, "home"), LOG: log, LC_ALL: "C" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: 10_000,
  });
  return readFileSync(log, "utf8")
    .split("\x1e")
    .filter((entry) => entry !== "")
    .map((entry) => entry.split("\x1f").slice(0, -1));
}

/** Pieces of text, two blanks apart. */
const FRAGMENTS = [
  ..."\n\r\v\f\u0085\u00A0\u2028\u3000\uFEFF",
  ...String.raw`
  wc  head  nl  tac  cut  -l  -n  -c  1  f  ./sub/f.txt  sub  ~  ~/x  ~root  ~+
  'a b'  "a b"  'it\'  'a\\b'  '\n'  "$x"  "a\"b"  "a${"`"}id${"`"}"  "!x"  ''  "'"  '"'
  $x  ${"$"}{x}  $(nl)  ${"`"}nl${"`"}  (nl)  <(nl)  $'x'  $"x"  $((1))  ((a/b))  [[ x ]]  [  ]
  \x2dl  \n  \  \'  \-  =nl  =  %1  %self  ^x  #x  x#  !  !!  {a,b}  {  }
  *  ./sub/*  ./*/f.txt  ?x  ./s?b  [ab]  *(N)  <1-9>  a=b  LANG=C  LANG=(nl)  x=(1)nl
  |  ||  &&  ;  &  |&  ;;  &!  2>&1  2>/dev/null  </dev/null  >f  2>f  <f  >&2
  if  then  fi  end  begin  and  or  not  time  repeat  2  for  in  do  done  case
  command  builtin  exec  eval  noglob  -  a/b  ./x  test  -f  echo  printf  '%s'  '%d'
  ;and  ;or  (nl|psub)  ${"$"}{|nl;}  ${"$"}{ nl;}  =(nl)  >!f  >|f  &>f  &>>f  |&nl  <>f  ./**  ~-  a=~/x  --x=~  a:~  +(x)  @(x)  !(x)
  *(e:nl:)  ./*(+nl)  ${"$"}{x@P}  ${"$"}[1]  ^x^y  {1..3}  a;nl  a|nl  a&nl  a(nl)  a'b'  'a'"b"  $'\x3bnl'  \x3bnl  \u002dl
  cd  pwd  true  false  :  type  read  -p  '-pnl'  set  history  r  string  math  nl`
    .trim()
    .split(/ {2,}|\n\s*/),
];

function randomText(random: Seeded): string {
  let text = random.of(STUBS.slice(0, 5));
  for (let count = 1 + random.below(6); count > 0; count--)
    text += (random.below(5) === 0 ? "" : " ") + random.of(FRAGMENTS);
  return text;
}

/** The same words, where a pattern stands for the names it matches. */
function isExpected(ran: readonly string[], judged: readonly (readonly string[])[]): boolean {
  return judged.some((words) => {
    const own = words.slice(words[0] === "command" ? 1 : 0);
    if (own.some((word) => /[*?~]/.test(word))) return own[0] === ran[0];
    return own.length === ran.length && own.every((word, index) => word === ran[index]);
  });
}

describe("what is allowed without bash", () => {
  inEveryShell.test("the stubs notice what other shells start", () => {
    expect(started("fish", "LANG=(nl) wc")).toContainEqual(["nl"]);
    expect(started("fish", "wc \\x2dl")).toEqual([["wc", "-l"]]);
    expect(started("dash", "((a/b))")).toEqual([["b"]]);
    expect(started("zsh", "x=(1)nl")).toEqual([["nl"]]);
  });

  inEveryShell.test(
    "starts the same commands in every shell, and nothing else",
    () => {
      const random = new Seeded(18);
      let allowed = 0;
      for (let count = cases(1_200); count > 0; count--) {
        const text = randomText(random);
        const judged = judgeShell(text, RULES, { shell: "sh" });
        if (judged.verdict.kind !== "allow") continue;
        allowed++;
        const words = judged.commands.map((command) => command.words);
        for (const shell of Object.keys(SHELLS)) {
          const wrong = started(shell, text).filter((ran) => !isExpected(ran, words));
          if (wrong.length > 0) expect([shell, text, wrong]).toEqual([shell, text, []]);
        }
        expect(readdirSync(join(dir, "work")).toSorted()).toEqual(["a", "rm", "sub", "x"]);
      }
      expect(allowed).toBeGreaterThan(100);
    },
    LONG,
  );

  test(
    "bash itself starts no more than was judged",
    () => {
      const random = new Seeded(19);
      let allowed = 0;
      for (let count = cases(1_200); count > 0; count--) {
        const text = randomText(random);
        const judged = judgeShell(text, RULES);
        if (judged.verdict.kind !== "allow") continue;
        allowed++;
        const names = new Set(judged.commands.map((command) => command.words[0]));
        const wrong = started("bash", text).filter(([name]) => !names.has(name ?? ""));
        if (wrong.length > 0) expect([text, wrong]).toEqual([text, []]);
      }
      expect(allowed).toBeGreaterThan(100);
    },
    LONG,
  );
});
