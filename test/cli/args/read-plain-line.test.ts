/** The reader that the build gives to citty reads a plain line as node:util's does, which citty has in these tests. */
import { expect, test } from "bun:test";
import { parseArgs } from "node:util";
import { readPlainLine } from "../../../src/cli/args/read-plain-line.ts";

const options = { json: { type: "boolean" }, resume: { type: "string" }, "last-message": { type: "string" } } as const;

test.each([
  [[]],
  [["--", "a prompt"]],
  [["--json", "--resume=last", "--"]],
  [["--last-message=/tmp/a=b c", "--", "-", "--json", "--", "-q", ""]],
  [["--resume=", "--", "--resume=x"]],
  [["--resume=--json", "--", "two\nlines"]],
])("%j", (args) => {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: false });
  expect(readPlainLine({ args })).toEqual({ values: { ...values }, positionals } as never);
});
