/** One result of many machines: who is grouped, what is shown of the others, and that a budget holds for the whole. */
import { describe, expect, test } from "bun:test";
import { groupedResult, groupResults, type MachineResult } from "../../src/tools/group-results.ts";
import type { ToolResult } from "../../src/tools/tool.ts";

function exited(machine: string, text: string, more: Partial<ToolResult> = {}): MachineResult {
  const exitCode = more.exitCode ?? 0;
  const result = { ok: exitCode === 0, outcome: "exited", exitCode, result: text, printed: text, ...more };
  return { machine, ms: 1, result };
}

const many = (count: number, text: (at: number) => string): MachineResult[] =>
  Array.from({ length: count }, (_, at) => exited(`web${String(at + 1).padStart(2, "0")}`, text(at + 1)));

const unreachable = (machine: string): MachineResult => ({
  machine,
  ms: 1,
  result: { ok: false, outcome: "unreachable", result: `${machine} refused the connection` },
});

describe("groups", () => {
  test("the same text with another exit code is another answer", () => {
    const groups = groupResults([exited("a", "x"), exited("b", "x", { exitCode: 1 }), exited("c", "x")]);
    expect(groups.map(({ machines }) => machines)).toEqual([["a", "c"], ["b"]]);
  });

  test("ids of stored outputs are no difference", () => {
    const cut = (machine: string, id: string) =>
      exited(machine, `head\n[9 bytes left out; output_id="${id}"]\ntail`, { outputs: [id], outputId: id });
    expect(groupResults([cut("a", "out-1"), cut("b", "out-2")])).toHaveLength(1);
  });

  test("the end of the last line of a command is not a difference; of a file it is", () => {
    const file = (machine: string, text: string): MachineResult => ({
      machine,
      ms: 1,
      result: { ok: true, outcome: "done", result: text },
    });
    expect(groupResults([exited("a", "x"), exited("b", "x\n")])).toHaveLength(1);
    expect(groupResults([exited("a", ""), exited("b", "\n")])).toHaveLength(1);
    expect(groupResults([exited("a", "x\n"), exited("b", "x\n\n")])).toHaveLength(2);
    expect(groupResults([file("a", "x"), file("b", "x\n")])).toHaveLength(2);
  });

  test("outputs that differ only in the part that was left out are not one group", () => {
    const one = { ...exited("a", "head…tail"), digest: "1" };
    expect(groupResults([one, { ...exited("b", "head…tail"), digest: "2" }])).toHaveLength(2);
  });

  test("another picture is another answer, and each of them is attached once", () => {
    const seen = (machine: string, data: string) =>
      exited(machine, "attached", { images: [{ type: "image/png", data }] });
    const results = [seen("a", "AA"), seen("b", "BB"), seen("c", "BB")];
    expect(groupResults(results).map(({ machines }) => machines)).toEqual([["b", "c"], ["a"]]);
    expect(groupedResult(results, 4000).images?.map(({ data }) => data)).toEqual(["BB", "AA"]);
  });

  test("a machine's name in the reason why it is unreachable is not a difference; in an output it is", () => {
    expect(groupResults([unreachable("web01"), unreachable("web02")])).toHaveLength(1);
    // A name that is also a part of the words around it.
    expect(groupResults([unreachable("n"), unreachable("con"), unreachable("db.a")])).toHaveLength(1);
    expect(groupResults([exited("web01", "web01"), exited("web02", "web02")])).toHaveLength(2);
  });

  test("words about a group of machines name the group, not one of them; what a machine printed stays", () => {
    const lost = (machine: string, printed = ""): MachineResult => ({
      machine,
      ms: 1,
      result: {
        ok: false,
        outcome: "lost",
        result: `[lost: the connection to ssh root@${machine} was lost]${printed}`,
      },
    });
    const texts = (...results: MachineResult[]) => groupResults(results).map(({ text }) => text);
    expect(texts(unreachable("web01"), unreachable("web02"))).toEqual(["web[01-02] refused the connection"]);
    expect(texts(lost("web01"), lost("web03"))).toEqual(["[lost: the connection to ssh root@web[01,03] was lost]"]);
    expect(texts(lost("web01", "\nI am web01"), lost("web02", "\nI am web02"))).toHaveLength(2);
  });

  test("machines without an answer come last, however many they are", () => {
    const groups = groupResults([unreachable("a"), unreachable("b"), exited("c", "x")]);
    expect(groups.map(({ machines }) => machines)).toEqual([["c"], ["a", "b"]]);
  });
});

describe("the result", () => {
  test("eighteen equal answers are shown once, with their names as a range", () => {
    const { ok, result, exitCode } = groupedResult(
      many(18, () => "nginx is running"),
      4_000,
    );
    expect({ ok, exitCode }).toEqual({ ok: true, exitCode: 0 });
    expect(String(result).match(/nginx is running/g)).toHaveLength(1);
    expect(result).toContain("web[01-18]");
  });

  test("a small difference in a long text is shown as a difference", () => {
    const lines = Array.from({ length: 60 }, (_, at) => `setting_${at} = ${at}`);
    const odd = lines.with(30, "setting_30 = 99");
    const { result } = groupedResult(
      many(12, (at) => (at === 7 ? odd : lines).join("\n")),
      8_000,
    );
    expect(String(result).match(/setting_0 = 0/g)).toHaveLength(1);
    expect(result).toContain("-setting_30 = 30\n+setting_30 = 99");
  });

  test("who failed, who was not reached and who still runs is named", () => {
    const running: MachineResult = {
      machine: "web09",
      ms: 1,
      result: { ok: false, outcome: "still-running", result: "still running after 10s" },
    };
    const all = [
      ...many(7, () => "ok"),
      exited("web08", "no such unit", { exitCode: 5 }),
      running,
      unreachable("web10"),
    ];
    const { ok, outcome, result } = groupedResult(all, 4_000);
    expect({ ok, outcome }).toEqual({ ok: false, outcome: "mixed" });
    const [summary = ""] = String(result).split("\n");
    for (const name of ["web08", "web09", "web10"]) expect(summary).toContain(name);
    expect(result).toContain("exit code 5");
  });

  test("a command that runs on or waits for an answer has not failed", () => {
    const not = (machine: string, outcome: string): MachineResult => ({
      machine,
      ms: 1,
      result: { ok: false, outcome, result: "x" },
    });
    const all = [
      not("a", "running"),
      not("b", "waiting"),
      not("c", "still-running"),
      not("d", "lost"),
      not("e", "failed"),
    ];
    expect(String(groupedResult(all, 4_000).result).split("\n")[0]).toStartWith(
      "5 machines: 1 failed (e), 2 still running (a,c), 1 waiting for input (b), 1 lost (d)",
    );
  });

  test("a machine that was left out is counted once, and not as one that did it", () => {
    const left: MachineResult = {
      machine: "db",
      ms: 0,
      result: { ok: true, outcome: "left-out", result: "not chosen" },
    };
    expect(String(groupedResult([...many(2, () => "ok"), left], 4_000).result)).toStartWith(
      "3 machines: 2 ok, 1 left out (db)",
    );
  });

  test("files of the same size and another content are not shown as equal", () => {
    const file = (machine: string, text: string): MachineResult => ({
      machine,
      ms: 1,
      result: { ok: true, outcome: "done", result: text, display: "1 lines, 6 bytes" },
    });
    const { display } = groupedResult([file("web01", "web01"), file("web02", "web02"), file("web03", "web02")], 4_000);
    expect(display).toContain("2 different answers");
    expect(display).toContain("web[02-03] (2 machines): 1 lines");
  });

  test.each([200, 1_000, 4_000])(
    "two hundred different answers stay within %i characters and their notices",
    (budget) => {
      const all = many(200, (at) => Array.from({ length: 50 }, (_, line) => `${at} ${line}`).join("\n"));
      const { result, display } = groupedResult(all, budget);
      expect(String(result).length).toBeLessThan(budget + 4_000);
      expect(display!.length).toBeLessThan(8_000 + 4_000);
      expect(result).toContain("200 machines");
    },
  );

  test("a fifty times repeated one-line answer takes one line each", () => {
    const { result } = groupedResult(
      many(50, (at) => `host-${at}`),
      4_000,
    );
    expect(
      String(result)
        .split("\n")
        .filter((line) => /^web\d+: host-\d+$/.test(line)),
    ).toHaveLength(50);
  });
});
