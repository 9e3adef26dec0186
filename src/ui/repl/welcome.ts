/** The first screen: what buddy is connected to, how to watch it, what to type. At most six short lines. */
import { clip } from "../../lib/text.ts";
import { approvalWords, rulesWords, targetWords } from "../commands/status.ts";
import type { ReplHost } from "./host.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";

export function welcome(host: ReplHost, columns: number, style: Theme): string[] {
  const facts = host.facts();
  const row = (label: string, value: string): string => clip(`${style.grey(label.padEnd(8))} ${value}`, columns);
  const { mode } = host.approvals;
  const lines = [
    clip(`${style.prompt("buddy")} ${style.grey(host.version)}`, columns),
    row("model", `${oneLine(facts.model)} ${style.grey(`(${oneLine(facts.profile)})`)}`),
    row("target", oneLine(targetWords(facts))),
  ];
  const rules = rulesWords(facts);
  if (rules !== undefined) lines.push(clip(`${style.grey("rules".padEnd(8))} ${style.warning(rules)}`, columns));
  if (facts.target.notes !== undefined) lines.push(...facts.target.notes.map((note) => row("notes", oneLine(note))));
  if (facts.target.attach !== undefined) lines.push(...attachLines(facts.target.attach, columns, style));
  if (facts.resumed) lines.push(row("session", `${facts.session}, resumed${lastWords(facts.lastPrompt, style)}`));
  if (facts.dryRun) lines.push(row("dry run", "nothing will be changed"));
  else if (mode.kind !== "ask")
    lines.push(clip(style.warning(`approvals: ${approvalWords(mode, Date.now())}`), columns));
  lines.push(clip(style.grey("Type a request. /help lists commands."), columns));
  return lines;
}

function lastWords(prompt: string | undefined, style: Theme): string {
  return prompt === undefined ? "" : style.grey(` after “${clip(oneLine(prompt), LAST_WORDS)}”`);
}

const LAST_WORDS = 60;

/** How to watch the shared pane: in one piece, to be copied. */
export function attachLines(attach: string, columns: number, style: Theme): string[] {
  const command = oneLine(attach);
  const label = "watch".padEnd(8);
  if (label.length + 1 + Bun.stringWidth(command) <= columns) return [`${style.grey(label)} ${command}`];
  return [style.grey("watch"), command];
}

// What to do about an error, with the commands of the REPL.

/** Hints are written for the command line; inside the REPL its own commands do the same. */
export function replHint(hint: string, profile: string): string {
  return (
    hint
      .replace(/\bbuddy login(?= [\w.-]+)/g, "/login")
      .replace(/\bbuddy login\b/g, `/login ${profile}`)
      .replace(/\bbuddy models( [\w.-]+)?/g, (_, name = ` ${profile}`) => `/model${name}:`)
      .replace(/\bbuddy sessions\b(?! --| (?:export|output|rm)\b)/g, "/session")
      .replace(/\bbuddy resume\b/g, "/resume")
      .replace(/`?\bbuddy (targets|skills|changes|logout|mcp)\b(?! --| (?:check|add|remove|login|logout)\b)`?/g, "/$1")
      // Its argument is taken as it is, without a shell.
      .replace(/\/targets '([^']*)'/g, "/targets $1")
      .replace(/(?<![\w-])--on(?= \S)/g, "/on")
      .replace(/(?:, )?(?<![\w-])--model(?: \S+)?(?=[\s,.;)]|$)/g, (flag) => (flag.startsWith(",") ? "" : "/model"))
  );
}
