/**
 * shell_roots: commands run only in directories below the configured roots, and change only to such directories. It
 * limits the working directory, not the files that a command opens.
 */
import { posix } from "node:path";
import type { ShellJudgement, Verdict } from "../verdict.ts";

export function outsideRoots(
  judged: ShellJudgement,
  cwd: string,
  roots: readonly string[],
): (Verdict & { kind: "deny" }) | undefined {
  if (!isBelow(cwd, roots) && !isMove(judged.commands[0]?.words)) {
    return refuse(`the shell is in ${cwd}, outside shell_roots`, roots);
  }
  let at = cwd;
  for (const { words } of judged.commands) {
    if (!isMove(words)) continue;
    const to = words.slice(1).find((word) => !/^-[LPe@]+$/.test(word) && word !== "--");
    if (to === undefined || /^[-~+]|[$`*?]/.test(to)) {
      return refuse("it changes to a directory outside shell_roots, or to one that is only known when it runs", roots);
    }
    at = posix.resolve(at, to);
    if (!isBelow(at, roots)) return refuse(`it changes to ${at}, outside shell_roots`, roots);
  }
  return undefined;
}

export function isBelow(path: string, roots: readonly string[]): boolean {
  const clean = posix.resolve(path);
  return roots.some((root) => {
    const top = posix.resolve(root);
    return clean === top || clean.startsWith(top === "/" ? "/" : `${top}/`);
  });
}

function refuse(why: string, roots: readonly string[]): Verdict & { kind: "deny" } {
  return { kind: "deny", why, instead: `Work below ${roots.join(" or ")}: start with cd ${roots[0]}.` };
}

function isMove(words: readonly string[] | undefined): boolean {
  return words !== undefined && MOVES.has(words[0] ?? "");
}

const MOVES = new Set(["cd", "pushd", "chdir"]);
