/** Words of buddy's own on screens of any width. */
import { expect, test } from "bun:test";
import type { NoticeEvent } from "../../src/agent/events.ts";
import { commandLine, type MachineNotice, MachineNotices, wrapped } from "../../src/ui/words.ts";
import { until } from "../support/until.ts";

test("rows break between words, below their own beginning; a path stays in one piece", () => {
  const path = "/a/very/long/path/that/is/to/be/copied";
  const rows = wrapped(["fits", "  two words and some more of them", `saved ${path}`], 20);
  expect(rows).toEqual(["fits", "  two words and some", "  more of them", "saved", path]);
});

test("what many machines say at the same time is one line with all their names; what differs is not", async () => {
  const shown: string[] = [];
  const notices = new MachineNotices((one: MachineNotice) =>
    shown.push(`${one.machine}: ${one.type === "notice" ? one.message : one.text}`),
  );
  const lost = (machine: string): NoticeEvent => ({
    type: "notice",
    kind: "lost",
    message: "connection lost",
    machine,
  });
  for (const machine of ["web01", "web02", "web03"]) expect(notices.add(lost(machine))).toBe(true);
  notices.add({ ...lost("db1"), message: "no tmux" });
  notices.add({ type: "tool_output", call: "1", stream: "info", text: "connection lost", machine: "web01" });
  expect(notices.add({ type: "notice", kind: "lost", message: "connection lost" })).toBe(false);
  expect(shown).toEqual([]);
  await notices.flush();
  expect(shown).toEqual(["web[01-03] (3 machines): connection lost", "db1: no tmux", "web01: connection lost"]);
  // Without anything after it, too.
  notices.add(lost("web09"));
  await until(() => shown.length === 4, "it is shown");
});

test.each([
  ["echo a \x1b]0;rm x \x07", "echo a \\u{1b}]0;rm x \\u{7}"],
  ["ls #\nrm x\n", "ls # ⏎ rm x"],
  ["touch a\rb", "touch a\\rb"],
  ["ls\t\t-l", "ls -l"],
])("the line of a command that runs shows all of it: %j", (command, shown) => {
  expect(commandLine(command)).toBe(shown);
});

test("what is said while a question has the terminal comes after it", async () => {
  const shown: string[] = [];
  const notices = new MachineNotices((one) => shown.push(one.machine ?? "the machine"));
  const lost: NoticeEvent = { type: "notice", kind: "lost", message: "connection lost" };
  notices.add({ ...lost, machine: "web01" });
  void notices.pause();
  expect(shown).toEqual(["web01"]);
  expect([notices.add({ ...lost, machine: "web02" }), notices.add({ ...lost, message: "here" })]).toEqual([true, true]);
  await notices.flush();
  expect(shown).toEqual(["web01"]);
  await notices.resume();
  expect(shown).toEqual(["web01", "web02", "the machine"]);
});
