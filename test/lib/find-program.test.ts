import { afterEach, expect, test } from "bun:test";
import { unusableProgram } from "../../src/lib/start-child.ts";

const PATH = process.env["PATH"];
afterEach(() => void (process.env["PATH"] = PATH));

test("a directory in PATH that cannot be looked into ended buddy doctor with an internal error", () => {
  process.env["PATH"] = `/${"x".repeat(5000)}:/etc/passwd:/nowhere`;
  expect(unusableProgram("tmux")).toEqual({ text: "tmux is not installed" });
});
