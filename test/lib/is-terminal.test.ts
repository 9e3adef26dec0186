import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { isTerminal } from "../../src/lib/terminal.ts";

test.each(["/dev/null", import.meta.path])("%s is not a terminal", (path) => {
  const fd = openSync(path, "r");
  expect(isTerminal(fd)).toBe(false);
  closeSync(fd);
  expect(isTerminal(fd)).toBe(false);
});

test("a terminal is one, and a pipe is not", async () => {
  const program = `import { isTerminal } from ${JSON.stringify(join(import.meta.dir, "../../src/lib/terminal.ts"))};
    process.exit(isTerminal(0) ? 3 : 4);`;
  const argv = [process.execPath, "-e", program];
  expect(await Bun.spawn(argv, { terminal: { cols: 80, rows: 24, data: () => {} } }).exited).toBe(3);
  expect(await Bun.spawn(argv, { stdin: "pipe" }).exited).toBe(4);
});
