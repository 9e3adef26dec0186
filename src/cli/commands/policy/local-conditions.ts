/** Whether the conditions of a verdict hold on this machine, each looked up once. */
import { askProgram } from "../../../lib/start-child.ts";
import { gitRepositoryScript, readGitRepository } from "../../../policy/shell/read-only/git-repository.ts";
import type { Condition } from "../../../policy/verdict.ts";

export class LocalConditions {
  readonly #doubts = new Map<string, string | undefined>();

  /** Why one of them does not hold in this directory; undefined: all do. */
  doubt(conditions: readonly Condition[], cwd: string): string | undefined {
    for (const condition of conditions) {
      const key = JSON.stringify([cwd, condition]);
      if (!this.#doubts.has(key)) this.#doubts.set(key, doubtAbout(condition, cwd));
      const doubt = this.#doubts.get(key);
      if (doubt !== undefined) return doubt;
    }
    return undefined;
  }
}

function doubtAbout(condition: Condition, cwd: string): string | undefined {
  const script = `cd -- "$1" 2>/dev/null || { echo none; echo end; exit; }\n${gitRepositoryScript(condition)}`;
  const { stdout } = askProgram(["sh", "-c", script, "sh", cwd], { timeoutMs: 10_000 });
  return readGitRepository(stdout).doubt;
}
