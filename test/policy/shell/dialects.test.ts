/** What may run unasked on a machine without bash: only what every shell reads alike. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES } from "./rules.ts";

const OTHER_SHELLS = ["sh", "dash", "ash", "mksh", "zsh", "fish", "ksh"];
const verdict = (text: string, shell: string) => judgeShell(text, RULES, { shell }).verdict.kind;

const COMMON = [
  "ls",
  "ls -la /etc",
  "cat /etc/hostname 2>/dev/null",
  "cat /etc/hostname 2> /dev/null | wc -l",
  "ls /nowhere 2>&1 | head -5",
  "df -h; free -m",
  "uname -a\nid",
  "test -f /etc/passwd && echo yes || echo no",
  "[ -d /srv ] && ls /srv",
  "[ 1 -lt 2 ]",
  "grep -c 'a b' /etc/passwd",
  'grep "needle in" /etc/services',
  "ls /etc/*.conf",
  "cat </dev/null",
  "ls > /dev/null",
  "ls /etc 1>/dev/null 2>> /dev/null",
  "find /srv -name '*.log'",
  "cd /srv && ls",
  "ls ~/src",
  "printf '%s\\n' a",
  "sed -n '1,5p' /etc/passwd",
  "awk '{print $1}' /etc/passwd",
];
for (const text of COMMON)
  test(`read alike by every shell, so it runs unasked: ${text}`, () => {
    expect(OTHER_SHELLS.filter((shell) => verdict(text, shell) !== "allow")).toEqual([]);
    expect(verdict(text, "bash")).toBe("allow");
  });

const DIFFERENT = [
  // fish: substitutions, escapes, assignments
  "LANG=(touch P) ls",
  "ls (id)",
  "find sub \\x2dexec touch P \\;",
  "sort f \\x2doP",
  "read '-pid>P' v",
  "echo 'a\\'; touch P; echo '",
  "ls %self",
  "echo a ^P",
  "string escape x",
  // zsh: names of programs, named directories, qualifiers, arrays, arithmetic
  "ls =ls",
  "x=(1)prog",
  "ls ~root/x",
  "ls /etc/*(e:'touch P':)",
  "COLUMNS='path[$(id>P)1]' ls",
  "LINES='path[$(id>P)1]' ls",
  "printf '%d' 'path[$(id>P)1]'",
  "[ 'path[$(id>P)1]' -eq 1 ]",
  "test -t 'path[$(id>P)1]'",
  "</dev/null",
  "r ls",
  // dash: (( and [[ are commands and subshells
  "((a/b))",
  "[[ x || rm == y ]]",
  "[[ -f x ]]",
  // anything that is expanded, quoted with a backslash, grouped or redirected
  "echo $HOME",
  'echo "$HOME"',
  "echo `id`",
  'echo "a\\nb"',
  "echo a\\ b",
  "ls {a,b}",
  "{ ls; }",
  "(ls)",
  "! ls",
  "if true; then ls; fi",
  "for f in a; do ls; done",
  "time ls",
  "ls >| /dev/null",
  "ls >& /dev/null",
  "ls > ~/x",
  "ls > x*",
  "ls > =ls",
  "ls > %1",
  "ls 3> x",
  "ls &> /dev/null",
  "ls |& cat",
  "cat <<E\nx\nE",
  "cat <<<x",
  "ls -*",
  "sort *",
  "2>&1 ls",
  "LC_ALL=C ls",
  "not ls",
  "ls # comment",
  "eval ls",
  "ls;; ls",
];
for (const text of DIFFERENT)
  test(`read differently by shells, so it asks without bash: ${text}`, () => {
    expect(OTHER_SHELLS.filter((shell) => verdict(text, shell) === "allow")).toEqual([]);
  });

test("a plain redirection into a file was called syntax that shells read differently", () => {
  const why = (text: string, shell: string) => judgeShell(text, RULES, { shell }).verdict;
  for (const text of ["echo x > /tmp/f", "echo x >>/tmp/f", "ls 2>/tmp/f", "echo x > '/tmp/f'"])
    for (const shell of OTHER_SHELLS) expect(why(text, shell)).toEqual(why(text, "bash"));
});
