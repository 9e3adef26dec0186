/**
 * Commands that hide in callbacks, key bindings, subscripts, prompts, IFS and directories, and prefixes that must stay
 * narrow.
 */
import { expect, test } from "bun:test";
import { prefixesOf } from "../../../src/policy/shell/allow-deny-lists.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES } from "./rules.ts";

const kind = (text: string) => judgeShell(text, RULES).verdict.kind;

for (const text of [
  "mapfile -C 'rm -rf /' a",
  "readarray -tC 'rm -rf /' a < f",
  "compgen -C 'git push --force'",
  "complete -C 'rm -rf ~' ls",
  `bind -x '"a": rm -rf /'`,
  "declare -i n='a[$(rm -rf /)]'",
  "let 'a[`rm -rf /`]=1'",
  "test -v 'a[$(rm -rf /)]'",
  "printf -v 'a[$(rm -rf /)]' x",
  "unset 'a[$(rm -rf /)]'",
  "x='$(rm -rf /)'; echo ${x@P}",
  // oxlint-disable-next-line no-template-curly-in-string
  "rm${IFS}-rf${IFS}/",
  "rm$IFS-rf$IFS/",
  'unset x; rm -rf "$x"/',
  "printf -v x 'rm -rf /'; $x",
  "printf -v x '%s -rf %s' rm /; eval $x",
  "unset HOME; rm -rf ~",
  "cd / && chmod -R 777 .",
  "cd ~ && chown -R kim .",
])
  test(`denied: ${text}`, () => expect(kind(text)).toBe("deny"));

for (const text of [
  "printf -v PATH x",
  "printf -v 'a[$(id)]' x",
  "mapfile -C id a",
  "bind -x '\"a\": id'",
  "compgen -C id",
])
  test(`asked: ${text}`, () => expect(kind(text)).toBe("ask"));

for (const text of [
  "chmod -R u+w .",
  "cd build && chown -R kim .",
  "[ \"$x\" = 'a[$(rm -rf /)]' ]",
  "mapfile -t a < f",
])
  test(`not denied: ${text}`, () => expect(kind(text)).not.toBe("deny"));

test("what runs whatever follows it is remembered word for word", () => {
  for (const text of ["git config user.name x", "npm exec tsc", "git rebase main"])
    expect(prefixesOf(text, judgeShell(text, RULES))?.map((prefix) => prefix.open)).toEqual([false]);
  const push = judgeShell("git push origin main", RULES);
  expect(prefixesOf("git push origin main", push)).toEqual([
    { words: ["git", "push", "origin"], open: true, options: [] },
  ]);
  for (const text of ["git push --force", "npm test; rm -rf /", "git push > f", "sudo git push", "git push $x"])
    expect(prefixesOf(text, judgeShell(text, RULES))).toBeUndefined();
});
