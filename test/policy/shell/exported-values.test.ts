/** Exported variables that hold commands, against the real bash: no text that is allowed evaluates one of them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { cases, LONG, Seeded } from "../../support/seeded.ts";
import { RULES } from "./rules.ts";

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "buddy-exported-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const NAMES = "x f n i a RANDOM SECONDS UID EUID PPID REPLY OPTIND COLUMNS LINES SHLVL LINENO _".split(" ");

/** What of the exported values ran. */
function evaluated(text: string): string[] {
  const env = Object.fromEntries(NAMES.map((name) => [name, `zz[$(echo >>${join(dir, name)})]`]));
  Bun.spawnSync([Bun.which("bash") ?? "bash", "-p", "-c", text], {
    cwd: dir,
    env: { ...env, PATH: process.env["PATH"] ?? "", LC_ALL: "C" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: 5_000,
  });
  const found = readdirSync(dir);
  for (const name of found) rmSync(join(dir, name));
  return found;
}

const BEFORE = [
  "",
  "",
  "x=1; ",
  "x=5; f=2; ",
  "x=f; ",
  "x='f'; f=1; ",
  "a=(1 2); ",
  "x=$(cat /dev/null); ",
  "x=$(echo 1); ",
];

/** Expressions, two blanks apart. */
const EXPRESSIONS = String.raw`
  1  x  $x  ${"$"}{x}  f  n+1  i++  --i  i+=1  x=1  x=f  a[0]  a[x]  x[0]  ${"$"}{a[x]}  $((x))  x?1:2  -x  !x  0x1f  16#f
  RANDOM  UID  EUID  PPID  SHLVL  LINENO  OPTIND  COLUMNS  _  $#  $?  $1  $@  ${"$"}{#x}  ${"$"}{#a[@]}  10#$x  (x)  'x'
  "x"  $(echo x)  $(echo 1)  ${"$"}{x:-1}  ${"$"}{x:-f}  ${"$"}{y:=f}  ${"$"}{!x}  ${"$"}{x%1}`
  .trim()
  .split(/ {2,}|\n\s*/);

/** Places where bash evaluates a text, `E` stands for an expression; one a line. */
const PLACES = String.raw`
echo $((E))
((E))
(( q=E )) && echo $((q))
[[ E -eq 1 ]]
[[ 1 -lt E ]]
[ E -eq 1 ]
echo ${"$"}{x:E}
echo ${"$"}{x:0:E}
echo ${"$"}{@:E}
echo ${"$"}{a[E]}
echo ${"$"}{#a[E]}
echo ${"$"}{!a[E]}
echo ${"$"}{a[@]:E}
echo ${"$"}{x/${"$"}{a[E]}/}
a[E]=1
a=([E]=1)
a+=([E]=1)
[[ -v E ]]
[ -v E ]
test -v a[E]
printf '%d\n' E
printf -v E 1
read E <<< 1
for ((q=E;q<1;q++)); do echo; done
for ((;E;)); do break; done
case $((E)) in 1) echo;; esac
cat <<< $((E))
echo {1..$((E))}
seq $((E))
head -$((E)) /dev/null
q=E; echo $((q))
q=(1 E); echo $((q[1]))
for q in E; do echo $((q)); done
read q <<< E; echo $((q))
q=${"$"}{x:-E}; echo $((q))
: ${"$"}{q:=E}; echo $((q))
printf -v q %s E; echo $((q))
q=1; q+=E; echo $((q))
q=1; true || q=E; echo $((q))
q=1; (q=E); echo $((q))
while read q; do echo $((q)); done <<< E
IFS=, read q t <<< 1,E; echo $((t))
a[1]=E; echo $((a[1]))
bash -c 'echo $(($1))' _ E
bash -c 'for i; do echo $((i)); done' _ E
${"$"}{x:+echo $((E))}`
  .trim()
  .split("\n");

test("the exported values run where bash evaluates them", () => {
  expect(evaluated("echo $((x))")).toContain("x");
  expect(evaluated("echo ${z:f}")).toEqual([]);
  expect(evaluated("z=1; echo ${z:f}")).toContain("f");
});

test(
  "no text that is allowed evaluates an exported variable",
  () => {
    const random = new Seeded(5);
    let allowed = 0;
    for (let count = cases(900); count > 0; count--) {
      const text = random.of(BEFORE) + random.of(PLACES).replaceAll("E", () => random.of(EXPRESSIONS));
      if (judgeShell(text, RULES).verdict.kind !== "allow") continue;
      allowed++;
      const ran = evaluated(text);
      if (ran.length > 0) expect([text, ran]).toEqual([text, []]);
    }
    expect(allowed).toBeGreaterThan(60);
  },
  LONG,
);
