import { expect, test } from "bun:test";
import { noted, withNotes } from "../../src/tools/notes.ts";
import { NO_OUTPUT } from "../../src/tools/tool.ts";

test("a remark on a command without output was shown below an empty line", () => {
  const result = { ok: true, outcome: "exited", result: NO_OUTPUT };
  expect(withNotes(noted(result, "not kept"))).toMatchObject({ result: "[not kept]", display: "[not kept]" });
  expect(withNotes(noted({ ...result, display: "" }, "not kept")).display).toBe("[not kept]");
  expect(withNotes(noted({ ...result, result: "a" }, "not kept"))).toMatchObject({ display: "a\n[not kept]" });
});
