/** Folding names into ranges, and that nothing gets lost on the way. */
import { expect, test } from "bun:test";
import { foldNames, matchNames } from "../../src/lib/names.ts";

const web = (from: number, to: number, width = 2): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `web${String(from + i).padStart(width, "0")}`);

test.each([
  [["db1"], "db1"],
  [[], ""],
  [["web01", "web02", "web03"], "web[01-03]"],
  [web(1, 12), "web[01-12]"],
  [["web1", "web2", "web10"], "web[1-2,10]"],
  [["web3", "web1", "web2"], "web[1-3]"],
  [["web01", "web02", "web07", "db1"], "web[01-02,07],db1"],
  [["web1.example.com", "web2.example.com"], "web[1-2].example.com"],
  [["10.0.0.1", "10.0.0.2", "10.0.0.3"], "10.0.0.[1-3]"],
  [["web1.dc1", "web1.dc2", "web1.dc3", "web2.dc1"], "web1.dc[1-3],web2.dc1"],
  [["api", "web", "db"], "api,web,db"],
  [["web1", "web01"], "web1,web01"],
  [["deploy@web1:2222", "deploy@web2:2222"], "deploy@web[1-2]:2222"],
])("%j is %s", (names, text) => {
  expect(foldNames(names as string[])).toBe(text);
});

test("the order of first appearance stays", () => {
  expect(foldNames(["db1", "web1", "db2", "web2"])).toBe("db[1-2],web[1-2]");
});

test.each([
  [["web01"], ["web01"]],
  [["web[01-03]"], ["web01", "web02", "web03"]],
  [["web[01-02,12]"], ["web01", "web02", "web12"]],
  [["web*"], web(1, 12)],
  [["web1?"], ["web10", "web11", "web12"]],
  [["web01,db[1-2]"], ["web01", "db1", "db2"]],
  [["web[1-3]"], []],
  [["db.*"], []],
  [["nothing"], []],
])("%j names %j", (patterns, expected) => {
  expect(matchNames(patterns, [...web(1, 12), "db1", "db2"])).toEqual(expected);
});

test("what was folded can be read again", () => {
  for (const names of [web(1, 120, 3), ["a1", "a3", "b7", "10.0.0.9", "10.0.0.10"], ["x", "y1", "y01", "y2", "y02"]])
    expect(matchNames([foldNames(names)], names)).toEqual(names);
});

test("a pattern made to take for ever is answered at once", () => {
  const names = Array.from({ length: 100 }, () => "a".repeat(60));
  const started = process.cpuUsage();
  expect(matchNames([`${"a*".repeat(30)}b`, `[${"1,".repeat(9_000)}1]b`], names)).toEqual([]);
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(2_000);
});
