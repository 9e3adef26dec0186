/** Exported variables are read with their real values, as each shell prints them in any locale. */
import { expect } from "bun:test";
import { parseExports } from "../../../src/agent/permit/shell-environment.ts";
import { needs } from "../../support/needs.ts";

const VALUES = [
  "",
  "'",
  "a b",
  "a\\b",
  "it's $HOME é",
  '$`"\\',
  "tab\there",
  "\u001B[1m é",
  "\u00012\u00033",
  "\u007F",
];
VALUES.push("a\nb", 'x?y"z\n', "ÜçÜ \u001C q", "à ă 日本語", "M-\\M-x \\C-a");

for (const name of ["bash", "zsh", "mksh", "dash"] as const) {
  const { test } = await needs(name);
  test.each(["C", "C.UTF-8"])(`${name} in %s`, (locale) => {
    const env: Record<string, string> = { LC_ALL: locale, PATH: process.env["PATH"] ?? "" };
    for (const [at, value] of VALUES.entries()) env[`VALUE_${at}`] = value;
    const { stdout } = Bun.spawnSync([name, "-c", "export -p"], { env });
    const read = parseExports(stdout.toString("latin1"));
    for (const [at, value] of VALUES.entries()) {
      const found = read.get(`VALUE_${at}`);
      // dash does not escape line breaks: such a value is only known to have some.
      if (name === "dash" && value.includes("\n")) expect(found).toContain("\n");
      else expect(found).toBe(value);
    }
  });
}
