/** What is set after, inside or twice within other constructs: whatever the real bash would delete is blocked. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cases, LONG, Seeded } from "../../support/seeded.ts";
import { verdictOf } from "./rules.ts";

const BASH = Bun.which("bash") ?? "/bin/bash";
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "buddy-policy-"));
  symlinkSync(BASH, join(dir, "sh"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What a shell keeps from one command to the next, and what deletes with it. */
const KEPT = [
  "x=/ ¦ x=/tmp/a ¦ rm -rf $x",
  'x=/ ¦ x=/tmp/a ¦ y=$x ¦ x=$y ¦ printf -v x %s / ¦ unset x ¦ rm -rf $y ¦ sh -c "rm -rf $x" ¦ rm -rf ${x:-/}',
  'read x <<< / ¦ read -r x <<< a ¦ rm -rf $x ¦ eval "rm -rf $x"',
  'set -- / ¦ set -- a ¦ rm -rf $1 ¦ sh -c "rm -rf $1"',
  "cd / ¦ cd /tmp ¦ rm -rf ./etc",
  "alias r='rm -rf' ¦ r /tmp/a ¦ r /",
  "alias r='rm -rf' ¦ alias r=echo ¦ alias e='r -v' ¦ r / ¦ e /",
  "f() { rm -rf $1; } ¦ f() { ls $1; } ¦ f /tmp/a ¦ f /",
  "f() { rm -rf $x; } ¦ x=/ ¦ x=/tmp/a ¦ f",
  "f() { x=/; } ¦ f ¦ x=/tmp/a ¦ rm -rf $x",
  "sh ¦ cat | sh ¦ cat",
].map((one) => one.split(" ¦ "));
const INPUTS = [" <<< 'rm -rf /'", " <<< 'rm -rf /tmp/a'", ' <<< "rm -rf $x"', " <<'E'\nrm -rf /\nE", " < /dev/null"];

/** `c` succeeds or not, which nobody can know beforehand. */
function text(random: Seeded): string {
  return list(random, [...random.of(KEPT), ...(random.below(3) === 0 ? random.of(KEPT) : [])], 2);
}

function list(random: Seeded, simple: readonly string[], depth: number): string {
  return Array.from({ length: 1 + random.below(4) }, () => statement(random, simple, depth)).join("\n");
}

function statement(random: Seeded, simple: readonly string[], depth: number): string {
  if (depth === 0 || random.below(3) === 0) return random.of(simple);
  const inner = () => list(random, simple, depth - 1);
  const input = () => (random.below(2) === 0 ? "" : random.of(INPUTS));
  switch (random.below(12)) {
    case 0:
      return `if c; then ${inner()}\nfi${input()}`;
    case 1:
      return `if c; then ${inner()}\nelif c; then ${inner()}\nelse ${inner()}\nfi`;
    case 2:
      return `while c; do ${inner()}\ndone${input()}`;
    case 3:
      return `for v in a b; do ${inner()}\ndone`;
    case 4:
      return `case $v in a) ${inner()}\n;; *) ${inner()}\n;; esac${input()}`;
    case 5:
    case 6:
      return `{ ${inner()}\n}${input()}`;
    case 7:
      return `( ${inner()}\n)${input()}`;
    case 8:
      return `c && { ${inner()}\n}`;
    case 9:
      return `c || { ${inner()}\n} | cat`;
    case 10:
      return `h() { ${inner()}\n}\nh${input()}\nh /`;
    default:
      return `until ! c; do ${inner()}\ndone`;
  }
}

test(
  "a text with which bash deletes / or /etc, however its conditions turn out, is blocked",
  () => {
    const random = new Seeded(3907);
    const texts = Array.from({ length: cases(240) }, () => text(random));
    let deleted = 0;
    for (let at = 0; at < texts.length; at += 80) {
      const some = deleting(texts.slice(at, at + 80));
      expect(some.filter((text) => verdictOf(text) !== "deny")).toEqual([]);
      deleted += some.length;
    }
    expect(deleted).toBeGreaterThan(texts.length / 5);
    // Nothing is blocked because of the constructs alone.
    const harmless = texts.map((text) => text.replaceAll("rm -rf", "ls"));
    expect(harmless.filter((text) => verdictOf(text) === "deny")).toEqual([]);
  },
  LONG,
);

/** Those of the texts with which bash calls rm for / or /etc in one of the courses that they can take. */
function deleting(texts: readonly string[]): string[] {
  const log = join(dir, "log");
  writeFileSync(log, "");
  const env = {
    PATH: dir,
    LOG: log,
    HOME: dir,
    FUNCNEST: "20",
    // No rm can be found but these functions, which the shells below inherit.
    "BASH_FUNC_rm%%": '() { for one in "$@"; do printf "%s\\n" "$INDEX $PWD $one" >> "$LOG"; done; }',
    "BASH_FUNC_ls%%": "() { :; }",
    "BASH_FUNC_cat%%": '() { while IFS= read -r line; do printf "%s\\n" "$line"; done; }',
    "BASH_FUNC_c%%": "() { (( STEP++, STEP < 12 && (BITS >> STEP) & 1 )); }",
  };
  const script =
    'INDEX=0; export INDEX BITS STEP; for text; do for BITS in 0 65535 43690 52428; do STEP=-1; (cd /tmp; set --; eval "$text") < /dev/null; done; ((INDEX++)); done';
  Bun.spawnSync([BASH, "-O", "expand_aliases", "-c", script, "bash", ...texts], {
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: 60_000,
  });
  const found = new Set<string>();
  for (const line of readFileSync(log, "utf8").split("\n")) {
    const [, index = "", cwd = "", path = ""] = /^(\d+) (\S+) (.*)$/.exec(line) ?? [];
    if (/^(?:\/|\/etc)$/.test(path) || (cwd === "/" && path === "./etc")) found.add(texts[Number(index)] as string);
  }
  return [...found];
}
