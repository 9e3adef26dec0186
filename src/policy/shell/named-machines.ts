/** The other machines that a text names: destinations of ssh, scp and the like, and URLs such as `sftp://host`. */
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import { type EffectiveRules, strictest } from "../machine-rules.ts";
import type { JudgedCommand } from "../verdict.ts";

/** As written, with or without user, port and path. */
export function namedMachines(commands: readonly Pick<JudgedCommand, "words">[]): string[] {
  const names = commands.flatMap(({ words: [program = "", ...rest] }) => {
    const name = program.slice(program.lastIndexOf("/") + 1);
    const urls = rest.flatMap((word) =>
      [...word.matchAll(/\b(?:ssh|sftp|scp|rsync):\/\/([^\s/,]+)/g)].map(([, host = ""]) => host),
    );
    return [
      ...urls,
      ...(CONNECTS.test(name) ? destinations(name, rest) : COPIES.test(name) ? rest.flatMap(placeOf) : []),
    ];
  });
  return [...new Set(names)];
}

/** The rules for a text on one machine that names another one: the strictest of both. */
export function alsoNamed(rules: EffectiveRules, named: EffectiveRules, name: string): EffectiveRules {
  if (named.patterns.length === 0) return rules;
  const both = strictest([rules, named].map((one) => ({ ...one, pattern: "", notes: undefined })));
  const stricter = both.mode === rules.mode ? {} : { because: name, named: name };
  return { ...rules, ...both, notes: rules.notes, patterns: [...rules.patterns, ...named.patterns], ...stricter };
}

/** A quick check: most texts name none. */
export function mayNameMachines(text: string): boolean {
  return /ssh|scp|sftp|rsync|mosh/.test(text);
}

const CONNECTS = /^(?:auto)?ssh$|^(?:sftp|mosh|sshfs|ssh-copy-id)$/;
const COPIES = /^(?:scp|rsync|sftp|sshfs)$/;

/** The first operand, the jump hosts, and the host name given in options. */
function destinations(program: string, args: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (!word.startsWith("-") || word === "-") return [...found, ...placeOf(`${word}:`)];
    const [option = "", value = word.slice(2) || (args[at + 1] ?? "")] = [word[1]];
    if (option === "J") found.push(...value.split(","));
    const named = /^(?:hostname|proxyjump)\s*[= ]\s*(\S+)$/i.exec(value)?.[1];
    if (option === "o" && named !== undefined) found.push(...named.split(","));
    // For ssh itself -M has no value: what follows it may be the machine.
    const hasValue = withValue().has(option) || (option === "M" && program === "autossh");
    if (hasValue && word.length === 2) at++;
  }
  return found;
}

const withValue = once(() => new Set(words("B b c D E e F I i J L l m O o p P Q R S W w s X")));

/** `user@host:path` */
function placeOf(word: string): string[] {
  const [, host] = /^((?:[^@/:\s]+@)?(?:\[[^\]]+\]|[^:/\s[\]]+)):/.exec(word) ?? [];
  return host === undefined || host.startsWith("-") ? [] : [host];
}
