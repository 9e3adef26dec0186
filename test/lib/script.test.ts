/** Scripts for targets: what is sent has the same meaning as the files of templates/target. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { available } from "../support/needs.ts";
import { onOneLine, script } from "../../src/lib/script.ts";

const SHELLS = ["sh", ...(await available("bash", "dash", "mksh"))];
const TEMPLATES = join(import.meta.dir, "../../templates");
const files = [...new Bun.Glob("{target,shell-init}/*.sh").scanSync(TEMPLATES)].sort();
const parts = Object.fromEntries(
  [...new Bun.Glob("target/*.sh").scanSync(TEMPLATES)].map((file) => [
    file.replace(/^.*\/|\.sh$/g, "").replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    readFileSync(join(TEMPLATES, file), "utf8"),
  ]),
);

describe("script", () => {
  test("comments, indents and empty lines are not sent", () => {
    expect(script("# What it is.\n\nif true; then\n  # Why.\n  echo a # b\nfi\n")).toBe(
      "if true; then\necho a # b\nfi\n",
    );
    expect(script("cat <<'END'\n#!/bin/sh\nEND\n")).toBe("cat <<'END'\n#!/bin/sh\nEND\n");
  });

  test("a line that sources a file is replaced by it, and its own ones, too; values stand for their names", () => {
    const given = { ownPlace: ". ./deep.sh\necho @word@\n", deep: "# Deep.\necho $&\n", word: "'$1 @x@'" };
    expect(script(". ./own-place.sh\necho @word@ @pid@\n", given)).toBe(
      "echo $&\necho '$1 @x@'\necho '$1 @x@' @pid@\n",
    );
    expect(() => script(". ./missing.sh\n")).toThrow(TypeError);
  });

  test("on one line, statements are separated where a shell needs it", () => {
    const text = "f() {\n  case $1 in\n  a) b ;;\n  esac\n}\nif f &&\n  g; then\n  h\nelse\n  { i |\n j; }\nfi\n";
    expect(onOneLine(script(text))).toBe("f() { case $1 in a) b ;; esac; }; if f && g; then h; else { i | j; }; fi");
  });

  test.each(files)("%s can be read by a shell, as it is and as it is sent", async (file) => {
    const text = readFileSync(join(TEMPLATES, file), "utf8");
    // The name of a function in the hooks of an adopted shell is a value, which only bash can read.
    const isBash = text.includes("shellcheck shell=bash") || file.includes("adopted-");
    for (const shell of isBash ? ["bash"] : SHELLS) {
      for (const read of [text, script(text, parts)]) {
        const child = Bun.spawn([...shell.split(" "), "-n"], { stdin: Buffer.from(read), stderr: "pipe" });
        expect([await child.stderr.text(), await child.exited]).toEqual(["", 0]);
      }
    }
  });
});
