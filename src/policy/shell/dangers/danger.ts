/** The findings of the [safety] checks, in words. */
import type { ShellRules } from "../../verdict.ts";

export type SafetyCheck = keyof ShellRules["safety"];

export interface Danger {
  readonly check: SafetyCheck;
  /** For the model. */
  readonly why: string;
  readonly instead: string;
  /** For people, if `why` is written for the model. */
  readonly brief?: string;
}

export const BLIND_ADD: Danger = {
  check: "gitAdd",
  why: "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, specify files explicitly",
  instead: "Name the files to add: git add path/to/file. git status shows what has changed.",
  brief: "it adds every changed file, including those that no one reviewed",
};

export const FORCED_PUSH: Danger = {
  check: "forcePush",
  why: "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force",
  instead: "Use git push --force-with-lease, or push without force; to delete a remote branch, name it.",
  brief: "a forced push overwrites what others have pushed",
};

export function dangerousRm(what: string): Danger {
  return {
    check: "dangerousRm",
    why: `permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the full path explicitly (no wildcards, ~, or $HOME): it would delete ${what}`,
    instead: "List what is there, then delete it by name, as in rm -r /srv/app/cache.",
    brief: `it would delete ${what}`,
  };
}

export function dangerousTree(check: SafetyCheck, program: string, what: string): Danger {
  return {
    check,
    why: `permission denied: ${program} on ${what} could make the system unusable`,
    instead: "Name the full path of the files or the directory that is meant.",
  };
}

export function diskWrite(what: string): Danger {
  return {
    check: "disk",
    why: `permission denied: ${what} would overwrite or destroy a disk or file system`,
    instead: "Write to a regular file, or let the operator do this by hand.",
  };
}

export const FORK_BOMB: Danger = {
  check: "forkBomb",
  why: "permission denied: a command that keeps starting processes (a fork bomb) would bring the machine down",
  instead: "Use a loop with an end, and wait for what it starts.",
};
