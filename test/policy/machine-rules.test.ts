/** The rules of machines: which match, and what the strictest of them come to. */
import { describe, expect, test } from "bun:test";
import { effectiveRules, type MachineRule, matchesName } from "../../src/policy/machine-rules.ts";
import { alsoNamed } from "../../src/policy/shell/named-machines.ts";

const modeOf = (rules: readonly MachineRule[], ...names: string[]) => effectiveRules(rules, names).mode;

describe("which rules match", () => {
  const rule: MachineRule = { pattern: "db*", mode: "read-only" };
  test.each([
    ["db1", "read-only"],
    ["DB1", "read-only"],
    ["deploy@db1", "read-only"],
    ["deploy@db1:2222", "read-only"],
    ["ssh://deploy@db1:2222", "read-only"],
    ["db1.example.com", "read-only"],
    ["db1.example.com.", "read-only"],
    ["web1", "normal"],
    ["mydb1", "normal"],
    ["10.0.0.7", "normal"],
  ] as const)("db* and %s", (name, mode) => {
    expect(modeOf([rule], name)).toBe(mode);
  });

  test("any name of the machine is enough: a second name does not go around a rule", () => {
    expect(modeOf([rule], "harmless", "10.0.0.7", "db1.internal")).toBe("read-only");
  });

  test("a pattern with the whole host name matches the short name's machine only by that name", () => {
    expect(modeOf([{ pattern: "db1.example.com", mode: "guarded" }], "db1.example.com")).toBe("guarded");
    expect(modeOf([{ pattern: "db1.example.com", mode: "guarded" }], "db1.example.org")).toBe("normal");
  });

  test("the first label of an address is not a name", () => {
    expect(matchesName("10", "10.0.0.7")).toBe(false);
    expect(modeOf([{ pattern: "10", mode: "guarded" }], "10.0.0.7")).toBe("normal");
    expect(modeOf([{ pattern: "10.0.0.*", mode: "guarded" }], "root@10.0.0.7:22")).toBe("guarded");
    expect(modeOf([{ pattern: "fe80::1", mode: "guarded" }], "root@[fe80::1]:22")).toBe("guarded");
  });

  test.each([
    ["2001:db8::1", "root@[2001:DB8:0:0::0:1]:22", true],
    ["2001:db8::1", "2001:db8:0:0:0:0:0:1", true],
    ["[fe80::1]", "fe80::1%eth0", true],
    ["10.0.0.7", "::ffff:10.0.0.7", true],
    ["10.0.0.7", "10.7", true],
    ["10.0.0.7", "root@0x0a000007", true],
    ["db1.example.com.", "db1.example.com", true],
    ["2001:db8::1", "2001:db8::2", false],
    ["10.0.0.7", "10.0.0.70", false],
    ["7", "10.0.0.7", false],
  ])("an address in any spelling: %s and %s", (pattern, name, match) => {
    expect(modeOf([{ pattern, mode: "guarded" }], name)).toBe(match ? "guarded" : "normal");
  });

  test("machine and container ids: with hyphens, and cut as engines cut them", () => {
    const id = "b08dfa6083e7567a1921a715000001fb";
    expect(matchesName(id, id.toUpperCase())).toBe(true);
    expect(matchesName("b08dfa60-83e7-567a-1921-a715000001fb", id)).toBe(true);
    expect(matchesName("4f5e6d7c8b9a", "4f5e6d7c8b9a0011223344556677889900aabbccddeeff001122334455667788")).toBe(true);
    expect(matchesName("b08d", id)).toBe(false);
  });

  test("characters of regular expressions are only themselves", () => {
    expect(matchesName("a.b", "axb")).toBe(false);
    expect(matchesName("web(1)", "web1")).toBe(false);
    expect(matchesName("we?1", "web1")).toBe(true);
  });

  test.each([
    ["web[1]", "web1", true],
    ["web[01-12]", "web07", true],
    ["WEB[01-12]", "root@web07", true],
    ["web[01-12]", "web7", false],
    ["web[01-12].example.com", "web03.example.com", true],
    ["web[12-01]", "web13", false],
    ["rack[a-c]-*", "rackb-2", true],
    ["rack[a-c]", "rackd", false],
    ["[fe80::1]", "fe80::1", true],
    ["web1, db[1,3]", "db3", true],
    ["web1, db[1,3]", "db2", false],
    ["web1,", "web1", true],
    [" , ", "web1", false],
    ["web1,10.0.0.7", "10.7", true],
  ])("ranges and lists, as everywhere: %s and %s", (pattern, name, match) => {
    expect(matchesName(pattern, name)).toBe(match);
  });

  test("no rule, no effect", () => {
    expect(effectiveRules([rule], ["web1"])).toEqual({ mode: "normal", deny: [], notes: [], patterns: [] });
  });
});

describe("the strictest of all holds, in any order", () => {
  const rules: MachineRule[] = [
    {
      pattern: "*",
      mode: "normal",
      autoApprove: "developer",
      allow: ["make", "systemctl status", "npm run"],
      approveMaxMs: 60_000,
      deny: ["reboot"],
      label: "ALL",
    },
    {
      pattern: "db*",
      mode: "read-only",
      autoApprove: "none",
      allow: ["systemctl", "make --eval=x"],
      approveMaxMs: 600_000,
      deny: ["rm"],
      notes: "ask Ann",
      label: "PROD",
    },
    { pattern: "*1", mode: "guarded", autoApprove: "read-only", notes: "ask Bob" },
  ];
  test.each([
    ["as written", rules],
    ["reversed", rules.toReversed()],
  ])("%s", (_, given) => {
    const { mode, autoApprove, allow, approveMaxMs, deny, notes, label } = effectiveRules(given, ["db1"]);
    expect([mode, autoApprove, approveMaxMs]).toEqual(["read-only", "none", 60_000]);
    // What both lists cover; an entry that names an option is not covered by one that does not.
    expect(allow).toEqual(["systemctl status"]);
    expect(deny.toSorted()).toEqual(["reboot", "rm"]);
    expect(notes.toSorted()).toEqual(["ask Ann", "ask Bob"]);
    expect(label?.split(" ").toSorted()).toEqual(["ALL", "PROD"]);
  });

  test("operator and developer have only the reads in common", () => {
    const preset = (...presets: ("none" | "operator" | "developer")[]) =>
      effectiveRules(
        presets.map((autoApprove) => ({ pattern: "*", autoApprove })),
        ["x"],
      ).autoApprove;
    expect([preset("operator", "developer"), preset("developer", "developer")]).toEqual(["read-only", "developer"]);
    expect(preset("developer", "none", "operator")).toBe("none");
  });

  test("an empty list allows nothing; a rule without one leaves shell_allow as it is", () => {
    expect(effectiveRules([{ pattern: "*", allow: [] }], ["x"]).allow).toEqual([]);
    expect(
      effectiveRules(
        [
          { pattern: "*", allow: ["make"] },
          { pattern: "*", allow: [] },
        ],
        ["x"],
      ).allow,
    ).toEqual([]);
    expect(effectiveRules([{ pattern: "*" }], ["x"]).allow).toBeUndefined();
  });

  test("a window of nothing is the shortest", () => {
    expect(
      effectiveRules(
        [
          { pattern: "*", approveMaxMs: 0 },
          { pattern: "*", approveMaxMs: 5 },
        ],
        ["x"],
      ),
    ).toMatchObject({
      approveMaxMs: 0,
    });
  });
});

test("a machine that a command names had the label of the other one twice", () => {
  const rules = [
    { pattern: "db*", label: "DB" },
    { pattern: "prod", label: "PROD" },
  ];
  const here = effectiveRules(rules, ["db1"]);
  const named = effectiveRules(rules, ["db2", "prod"]);
  expect(alsoNamed(here, named, "db2").label).toBe("DB PROD");
});
