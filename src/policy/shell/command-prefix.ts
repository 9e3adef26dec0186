/** What "always" remembers of a command: a word prefix narrow enough that the operator knows what was allowed. */
import type { ShellJudgement } from "../verdict.ts";

export interface CommandPrefix {
  readonly words: readonly string[];
  /** False: exactly these words; true: these words and any that follow. */
  readonly open: boolean;
}

/**
 * The prefixes that would have to be allowed for this text to run unasked, or undefined where "always" must not be
 * offered: uncertain, dangerous, privileged, or anything beside plain commands (redirections, expansions, groups).
 */
export function prefixesOf(text: string, judgement: ShellJudgement): readonly CommandPrefix[] | undefined {
  const { verdict, risk, privesc, uncertain, commands } = judgement;
  if (verdict.kind !== "ask" || risk === "high" || privesc || uncertain.length > 0) return undefined;
  // Words do not show redirections or assignments; a remembered `make` must not cover `make > ~/.profile`.
  if (/[<>`$(){}]/.test(text) || /(^|[\s;&|])[A-Za-z_]\w*=/.test(text)) return undefined;
  const asking = commands.filter((command) => command.verdict !== "allow");
  if (asking.length === 0 || asking.some((command) => command.verdict === "deny" || command.words.length === 0))
    return undefined;
  return asking.map((command) => prefixOf(command.words));
}

/** Both were derived by the same rule, so covering is being the same. */
export function samePrefix(a: CommandPrefix, b: CommandPrefix): boolean {
  return a.open === b.open && a.words.length === b.words.length && a.words.every((word, i) => word === b.words[i]);
}

export function describePrefix(prefix: CommandPrefix): string {
  return prefix.words.join(" ") + (prefix.open ? " …" : "");
}

function prefixOf(words: readonly string[]): CommandPrefix {
  const [program = "", second, third] = words;
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (OPEN.has(name)) return { words: [program], open: true };
  const nested = SUBCOMMANDS[name];
  if (nested === undefined || second === undefined || !isSubcommand(second) || RUNNERS.has(second))
    return { words, open: false };
  if (!nested.includes(second)) return { words: [program, second], open: true };
  return third !== undefined && isSubcommand(third)
    ? { words: [program, second, third], open: true }
    : { words, open: false };
}

const isSubcommand = (word: string) => /^[a-z][a-z0-9:_-]*$/i.test(word);

/** Programs whose every use is of one kind: the name alone is the prefix. */
const OPEN = new Set(["mkdir", "touch", "make", "ninja", "pytest", "tsc", "eslint", "prettier", "jest", "vitest"]);

/** Subcommands that run or set whatever comes after them: only the very same words again. */
const RUNNERS = new Set(["exec", "dlx", "x", "config", "debug", "attach", "cp", "filter-branch", "rebase"]);

/** Programs with subcommands, and those of their subcommands that have subcommands again. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  git: ["remote", "stash", "worktree", "submodule", "notes", "bisect"],
  docker: ["compose", "container", "image", "network", "volume"],
  podman: ["compose", "container", "image", "network", "volume", "pod"],
  "docker-compose": [],
  npm: ["run"],
  pnpm: ["run"],
  yarn: ["run"],
  bun: ["run"],
  cargo: [],
  go: ["mod"],
  systemctl: [],
  apt: [],
  "apt-get": [],
  dnf: [],
  yum: [],
  apk: [],
  brew: [],
  pip: [],
  pip3: [],
  kubectl: ["rollout", "config", "set"],
  helm: ["repo"],
  terraform: ["state", "workspace"],
  gh: ["pr", "issue", "repo", "run", "release"],
  mvn: [],
  gradle: [],
  gradlew: [],
};
