/** Values put into commands, run by real shells: each must arrive as it is, wherever it stands. */
import { describe, expect, test } from "bun:test";
import { insertLiterals } from "../../../src/policy/privacy/shell-literal.ts";
import { available } from "../../support/needs.ts";

const VALUES = [
  "plain-1",
  "two words",
  "single'quote",
  'double"quote',
  "$HOME `id` $(id) \\",
  "line\nbreak",
  "!history !! *?[a] ~ # ;&|<>",
  "-n",
  "'\"'\"'",
  "\\\\'\\\"",
];
/** Each prints the value and nothing else. */
const PLACES = {
  plain: "printf '%s' X",
  double: "printf '%s' \"X\"",
  single: "printf '%s' 'X'",
  "inside a word": "printf '%s' X",
  substitution: "printf '%s' \"$(printf '%s' X)\"",
  "substitution in quotes": "printf '%s' \"$(printf '%s' \"X\")\"",
  "after a comment": "# it's a \"comment\nprintf '%s' X",
  "after an escaped quote": "printf '%s' \\\"X | cut -c2-",
};
const POSIX_ONLY = {
  "quoted here-document": "cat <<'END'\nX\nEND",
  "here-document": "cat <<END\nX\nEND",
  "after a here-document": "cat <<E >/dev/null\nit's\nE\nprintf '%s' X",
};
const run = (shell: string, command: string): string =>
  Bun.spawnSync([shell, ...(shell === "bash" ? ["--norc"] : []), "-c", command]).stdout.toString();

describe.each(await available("bash", "dash", "zsh", "fish"))("%s", (shell) => {
  const places = Object.entries(shell === "fish" ? PLACES : { ...PLACES, ...POSIX_ONLY });
  test.each(places)("%s", (name, command) => {
    for (const value of VALUES) {
      if (value === "-n" && /plain|word|comment/.test(name)) continue;
      if (name.includes("escaped") && value.includes("\n")) continue;
      const text = insertLiterals(command, /X/, () => value, shell === "fish" ? "fish" : "posix");
      const out = run(shell, text);
      // Substitutions and here-documents drop or add an end of line; none of these values has one.
      expect([value, out.replace(/\n$/, "")]).toEqual([value, value]);
    }
  });
});

test("$'…' of bash", () => {
  for (const value of VALUES)
    expect(
      run(
        "bash",
        insertLiterals("printf '%s' $'X'", /X/, () => value),
      ),
    ).toBe(value);
});
