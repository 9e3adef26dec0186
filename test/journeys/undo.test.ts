/** /changes, /diff and /undo in the compiled REPL, after a resume, and `buddy changes` beside it. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call } from "../support/calls.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { QUESTION } from "../support/wording.ts";

test("a change is listed, shown and undone; in the resumed session, too, and at 40 columns", async () => {
  await using repl = new ReplBinary([
    call("write_file", { path: "app.conf", content: "port = 2\n" }),
    { text: "written" },
  ]);
  const path = repl.box.write("cwd/app.conf", "port = 1\n");
  const pty = await repl.start({ args: ["--no-tmux", "--approve", "all"] });
  await pty.until(/> *$/);
  pty.type("change it\r");
  await pty.until("written");
  pty.type("/quit\r");
  await pty.exited;
  expect(readFileSync(path, "utf8")).toBe("port = 2\n");

  const listed = await repl.box.run(["changes", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { number: 1, path, tool: "write_file", before: { kind: "file" }, after: { kind: "file" }, undone: null },
  ]);
  const shown = await repl.box.run(["changes", "--diff"]);
  expect(shown.stdout).toContain("-port = 1\n+port = 2");

  const again = await repl.start({ args: ["resume", "--last", "--no-tmux"], cols: 40, rows: 24 });
  await again.until(/> *$/);
  again.type("/changes\r");
  await again.until(/1 {2}\d\d:\d\d:\d\d/);
  again.type("/undo\r");
  await again.until(QUESTION.asked);
  again.type("y");
  await again.until(/restored/);
  expect(readFileSync(path, "utf8")).toBe("port = 1\n");
  again.type("/undo\r");
  await again.until(/every change of this session/);
  again.type("/undo 7\r");
  // Nothing runs for it, so no task fails.
  expect(await again.until(/no change 7[^>]*> *$/)).not.toContain("failed after");
});

test("/diff and /undo where nothing was changed are notices, not errors", async () => {
  await using repl = new ReplBinary([]);
  const pty = await repl.start();
  await pty.until(/> *$/);
  for (const [at, line] of ["/changes", "/diff", "/undo", "/undo all"].entries()) {
    pty.type(`${line}\r`);
    await pty.until((screen) => screen.split("no file was changed in this session").length === at + 2);
  }
  expect(pty.screen()).not.toContain("error");
});

test("buddy changes of a session that changed nothing, and of none", async () => {
  await using repl = new ReplBinary([{ text: "hello" }]);
  repl.configure();
  const none = await repl.box.run(["changes"]);
  expect(none.code).toBe(2);
  await repl.box.run(["exec", "--no-tmux", "hello"]);
  const nothing = await repl.box.run(["changes"]);
  expect([nothing.code, nothing.stderr]).toEqual([0, ""]);
  expect(existsSync(join(repl.box.home, ".local/state/buddy/changes"))).toBe(false);
});
