/** The dangers `data` and `lockout`: every example of their tables, and what the verdict makes of them. */
import { describe, expect, test } from "bun:test";
import type { Example } from "../../../src/policy/shell/dangers/danger-table.ts";
import { dataTable } from "../../../src/policy/shell/dangers/data.ts";
import { lockoutsIn, lockoutTable } from "../../../src/policy/shell/dangers/lockout.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { walkText } from "../../../src/policy/shell/syntax/walk.ts";
import { RULES } from "./rules.ts";

const cases = (examples: readonly Example[], counts: boolean) =>
  examples.filter((one) => one.counts === counts).map(({ section, text }) => [section, text] as const);

const lockoutOf = (command: string, cwd?: string) => lockoutsIn(walkText(command), cwd);

const found = (text: string) => judgeShell(text, RULES).dangers;

describe("data", () => {
  test.each(cases(dataTable().examples, true))("%s: %s", (_, text) => {
    const { verdict, dangers, risk } = judgeShell(text, { ...RULES, safety: { ...RULES.safety, disk: "off" } });
    expect(dangers).toContain("data");
    expect([verdict.kind, risk, "answer" in verdict && verdict.answer]).toEqual(["ask", "high", "in-person"]);
  });
  test.each(cases(dataTable().examples, false))("%s: not %s", (_, text) => {
    expect(found(text)).not.toContain("data");
  });
});

describe("lockout", () => {
  test.each(cases(lockoutTable().examples, true))("%s: %s", (section, text) => {
    const { verdict, dangers, risk } = judgeShell(text, RULES);
    expect(dangers).toContain("lockout");
    expect([verdict.kind, risk, "answer" in verdict && verdict.answer]).toEqual(["ask", "high", "in-person"]);
    expect(lockoutOf(text).map(({ kind }) => kind as string)).toContain(section);
  });
  test.each(cases(lockoutTable().examples, false))("%s: not %s", (_, text) => {
    expect(found(text)).not.toContain("lockout");
  });
});

describe("what a level does", () => {
  const at = (text: string, safety: Partial<typeof RULES.safety>) =>
    judgeShell(text, { ...RULES, allow: ["terraform", "nft"], safety: { ...RULES.safety, ...safety } });

  test.each([
    ["terraform destroy", "data"],
    ["nft flush ruleset", "lockout"],
  ] as const)("%s: block, ask and off", (text, check) => {
    expect(at(text, { [check]: "block" }).verdict.kind).toBe("deny");
    const asked = at(text, { [check]: "ask" }).verdict;
    expect([asked.kind, "answer" in asked && asked.answer]).toEqual(["ask", "in-person"]);
    expect(at(text, { [check]: "off" }).verdict.kind).toBe("allow");
  });

  test("guard asks as ask does", () => {
    const { verdict } = at("nft flush ruleset", { lockout: "guard" });
    expect([verdict.kind, "answer" in verdict && verdict.answer]).toEqual(["ask", "in-person"]);
  });

  test("a danger that asks does not hide one that is blocked, in another shell's reading either", () => {
    expect(judgeShell("terraform destroy; rm -rf /", RULES).verdict.kind).toBe("deny");
    expect(judgeShell("terraform destroy; echo (rm -rf /)", RULES).verdict.kind).toBe("deny");
  });

  test("other shells' readings are looked at for these dangers, too", () => {
    expect(judgeShell("echo (docker volume rm x)", RULES).dangers).toEqual(["data"]);
    expect(judgeShell("begin; nft flush ruleset; end", RULES).dangers).toEqual(["lockout"]);
  });

  test("always is not offered", async () => {
    const { prefixesOf } = await import("../../../src/policy/shell/command-prefix.ts");
    for (const text of ["terraform destroy", "systemctl restart sshd"])
      expect(prefixesOf(text, judgeShell(text, RULES))).toBeUndefined();
  });
});

describe("lockoutsIn", () => {
  test("names the program, its words and the files behind wrappers", () => {
    expect(lockoutOf("sudo sh -c 'nft add rule inet filter input drop'")).toEqual([
      {
        kind: "firewall",
        does: "changes firewall rules",
        program: "nft",
        words: ["nft", "add", "rule", "inet", "filter", "input", "drop"],
      },
    ]);
    expect(lockoutOf("cd /etc/ssh && sudo sed -i s/a/b/ sshd_config")).toMatchObject([
      { kind: "ssh", program: "sed", file: "/etc/ssh/sshd_config" },
    ]);
    expect(lockoutOf("cp x sshd_config", "/etc/ssh")).toMatchObject([{ file: "/etc/ssh/sshd_config" }]);
    expect(lockoutOf("echo x > /etc/ssh/sshd_config && systemctl reload sshd").map(({ kind }) => kind)).toEqual([
      "ssh",
      "ssh",
    ]);
    expect(lockoutOf("cp nftables.conf /etc").map(({ file }) => file)).toEqual(["/etc/nftables.conf"]);
    expect(lockoutOf("ls")).toEqual([]);
  });

  test("a program in another network namespace is found", () => {
    expect(lockoutOf("ip netns exec lab nft flush ruleset").map(({ kind }) => kind)).toEqual(["firewall"]);
    expect(judgeShell("ip netns exec lab rm -rf /", RULES).verdict.kind).toBe("deny");
  });

  test("files by their path, for the file tools", async () => {
    const { lockoutFile } = await import("../../../src/policy/shell/dangers/lockout.ts");
    expect(lockoutFile("/etc/ssh/sshd_config.d/10.conf", "/data/ann")?.kind).toBe("ssh");
    expect(lockoutFile("/etc/sudoers", "/data/ann")?.kind).toBe("sudoers");
    expect(lockoutFile("/data/ann/.ssh/authorized_keys", "/data/ann/")?.kind).toBe("ssh");
    expect(lockoutFile("/home/bob/.ssh/authorized_keys", "/data/ann")?.kind).toBe("ssh");
    expect(lockoutFile("/etc/hosts", "/data/ann")).toBeUndefined();
  });
});
