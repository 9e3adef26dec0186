/** `buddy policy shell`: what the judge says of a command, with the rules of the configuration. */
import { BuddyError } from "../../../lib/errors.ts";
import { homeDirectory } from "../../../lib/home-directory.ts";
import { printable } from "../../../lib/printable.ts";
import { judgeShell } from "../../../policy/shell/judge.ts";
import type { Verdict } from "../../../policy/verdict.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import type { Explainer } from "./explainer.ts";
import { shellRules } from "../../../app/shell-rules.ts";
import type { GlobalOptions } from "../../args/options.ts";

interface ShellAnswer {
  readonly verdict: "allow" | "ask" | "block";
  readonly why: string;
  readonly instead: string | null;
  readonly read_only: boolean;
  readonly risk: string;
  readonly mutation: boolean;
  readonly privesc: boolean;
  readonly commands: readonly { words: readonly string[]; verdict: string; why: string; read_only: boolean }[];
  readonly uncertain: readonly string[];
}

export async function explainer(globals: GlobalOptions): Promise<Explainer> {
  const { config } = await loadConfiguration(globals, { create: false });
  const rules = shellRules(config);
  const home = homeDirectory();
  const user = process.env.USER || process.env.LOGNAME || (process.getuid?.() === 0 ? "root" : undefined);
  return {
    explain(value): ShellAnswer {
      if (typeof value !== "string") throw new BuddyError("usage", "a command is a JSON string");
      const judged = judgeShell(value, rules, { home, ...(user === undefined ? {} : { user }) });
      const { verdict } = judged;
      return {
        verdict: said(verdict.kind),
        why: verdict.why,
        instead: verdict.kind === "deny" ? (verdict.instead ?? null) : null,
        read_only: judged.readOnly,
        risk: judged.risk,
        mutation: judged.mutation,
        privesc: judged.privesc,
        commands: judged.commands.map((command) => ({
          words: command.words,
          verdict: said(command.verdict),
          why: command.why,
          read_only: command.readOnly,
        })),
        uncertain: judged.uncertain,
      };
    },
    words: (answer) => inWords(answer as ShellAnswer),
  };
}

function said(kind: Verdict["kind"]): "allow" | "ask" | "block" {
  return kind === "deny" ? "block" : kind;
}

function inWords(answer: ShellAnswer): string {
  const lines = [`${answer.verdict}: ${answer.why}`];
  if (answer.instead !== null) lines.push(`instead: ${answer.instead}`);
  for (const command of answer.commands)
    lines.push(`  ${command.verdict.padEnd(5)}  ${command.words.join(" ").replace(/\s+/g, " ").slice(0, 200)}`);
  for (const why of answer.uncertain) lines.push(`  unknown: ${why}`);
  lines.push(
    `risk ${answer.risk}, ${answer.mutation ? "may change something" : "changes nothing"}${answer.privesc ? ", with other rights" : ""}`,
  );
  return printable(lines.join("\n"));
}
