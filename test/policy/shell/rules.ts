/** The rules a fresh configuration has, and short words for what the judge says. */
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import type { ShellRules } from "../../../src/policy/verdict.ts";

export const RULES: ShellRules = {
  autoApprove: "read-only",
  allow: [],
  denylist: [],
  safety: {
    gitAdd: "block",
    forcePush: "block",
    dangerousRm: "block",
    disk: "block",
    forkBomb: "block",
    lockout: "guard",
    data: "ask",
  },
};

export function verdictOf(text: string, rules: Partial<ShellRules> = {}): "allow" | "ask" | "deny" {
  return judgeShell(text, { ...RULES, ...rules }).verdict.kind;
}
