/** What the REPL shows of the rules of a machine. */
import { describe, expect, test } from "bun:test";
import { rulesWords } from "../../../src/ui/commands/status.ts";
import type { ReplFacts } from "../../../src/ui/repl/host.ts";
import { promptText } from "../../../src/ui/repl/status-line.ts";

const facts = (target: Partial<ReplFacts["target"]>): ReplFacts => ({
  target: { kind: "ssh", name: "web1", user: "deploy", host: "web1", cwd: "/", state: "open", ...target },
  profile: "p",
  model: "m",
  session: "s",
  resumed: false,
  contextUsed: 0,
  contextLimit: 100,
  contextState: "ok",
  dryRun: false,
});

describe("the prompt", () => {
  test.each([
    [{ label: "PROD" }, "(ssh deploy@web1 PROD)> "],
    [{}, "(ssh deploy@web1)> "],
    [{ kind: "local", label: "LAPTOP" }, "(local LAPTOP)> "],
    [{ kind: "local" }, "> "],
    [{ kind: "container", name: "api", label: "PROD" }, "(container api PROD)> "],
    [{ label: "PR\u001b[2JOD" }, "(ssh deploy@web1 PR\\u{1b}[2JOD)> "],
  ] as const)("%j", (target, text) => {
    expect(promptText(facts(target), 80)).toBe(text);
  });

  test("a narrow terminal cuts the name and keeps the label", () => {
    const text = promptText(facts({ name: "a-very-long-host-name.example.com", label: "PROD" }), 40);
    expect(text).toContain("PROD)> ");
    expect(Bun.stringWidth(text)).toBeLessThanOrEqual(24);
    expect(promptText(facts({ name: "a-long-host-name", label: "PRODUCTION" }), 20)).toContain("PROD");
  });
});

test("the words for label and mode", () => {
  expect(rulesWords(facts({ label: "PROD", modes: [{ mode: "guarded" }] }))).toStartWith("PROD, guarded");
  expect(rulesWords(facts({ modes: [{ mode: "read-only" }] }))).toStartWith("read-only");
  const some = [
    { mode: "guarded", machines: "web01" },
    { mode: "read-only", machines: "db[1-2]" },
  ] as const;
  expect(rulesWords(facts({ modes: some }))).toMatch(/^web01 guarded: .*, db\[1-2\] read-only: /);
  expect(rulesWords(facts({}))).toBeUndefined();
});
