/** The other machines that commands reach, and their rules. */
import { type EffectiveRules, strictest } from "../machine-rules.ts";
import type { JudgedCommand } from "../verdict.ts";

/** As written, with or without user and port; names of groups and patterns such as `web[01-12]`, too. */
export function namedMachines(commands: readonly Pick<JudgedCommand, "effects">[]): string[] {
  const effects = commands.flatMap((command) => command.effects ?? []);
  return [...new Set(effects.flatMap(({ does, what }) => (does === "reaches" ? what : [])))];
}

/** The rules for a text on one machine that names another one: the strictest of both. */
export function alsoNamed(rules: EffectiveRules, named: EffectiveRules, name: string): EffectiveRules {
  if (named.patterns.length === 0) return rules;
  const both = strictest([rules, named].map((one) => ({ ...one, pattern: "", notes: undefined })));
  // A name to type is one that the command shows.
  const because =
    name === "*" ? { because: "one of the machines that this may reach" } : { because: name, named: name };
  const stricter = both.mode === rules.mode ? {} : because;
  return { ...rules, ...both, notes: rules.notes, patterns: [...rules.patterns, ...named.patterns], ...stricter };
}
