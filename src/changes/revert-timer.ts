/**
 * A revert that waits on the target, in a process that outlives the connection and buddy: it runs after a time, unless
 * the operator keeps the change before that.
 */
import revertWait from "../../templates/target/revert-wait.sh" with { type: "text" };
import revertArm from "../../templates/target/revert-arm.sh" with { type: "text" };
import revertDecided from "../../templates/target/revert-decided.sh" with { type: "text" };
import revertKeep from "../../templates/target/revert-keep.sh" with { type: "text" };
import revertExtend from "../../templates/target/revert-extend.sh" with { type: "text" };
import revertFire from "../../templates/target/revert-fire.sh" with { type: "text" };
import { script } from "../lib/script.ts";
import { BuddyError } from "../lib/errors.ts";

export interface RevertPlan {
  /** sh that saves what is about to change, in its own directory; fails if that is impossible. */
  readonly save: string;
  /** sh that restores it. */
  readonly back: string;
  readonly seconds: number;
  /** False when only files of the user are restored. */
  readonly asRoot: boolean;
}

/** Runs sh on the target. The script may run twice: the connection may drop. */
export type ScriptOnTarget = (
  script: string,
  options: { readonly args: readonly string[]; readonly slow?: boolean; readonly signal?: AbortSignal },
) => Promise<{ readonly code: number; readonly stdout: Uint8Array; readonly stderr: string }>;

export type RevertState = "armed" | "kept" | "reverting" | "reverted" | "failed" | "gone";

export class RevertTimer {
  readonly #run: ScriptOnTarget;
  readonly #directory: string;
  readonly #ms: number;
  #firesAt: number;

  private constructor(run: ScriptOnTarget, directory: string, ms: number) {
    this.#run = run;
    this.#directory = directory;
    this.#ms = ms;
    this.#firesAt = Date.now() + ms;
  }

  /** The time at which it fires, by the clock of this process. */
  get firesAt(): number {
    return this.#firesAt;
  }

  /**
   * Saves what is about to change and starts the clock; throws if it cannot. `root` runs scripts as root, `run` as the
   * user; only arming needs root.
   */
  static async arm(
    { run, root }: { readonly run: ScriptOnTarget; readonly root: ScriptOnTarget },
    id: string,
    { seconds, save, back, asRoot }: RevertPlan,
  ): Promise<RevertTimer> {
    const args = [id, String(seconds), save, back, asRoot ? "root" : "user"];
    const { code, stdout, stderr } = await (asRoot ? root : run)(ARM, { args });
    const said = Buffer.from(stdout).toString().trim();
    if (code === 0) return new RevertTimer(run, said, seconds * 1000);
    const why = `${said}\n${stderr}`.trim().split("\n").at(-1) ?? "";
    throw new BuddyError("target", `the revert cannot be prepared on the target: ${why || `exit code ${code}`}`, {
      hint: "Nothing was changed.",
    });
  }

  /** Keeps the change; `reverted` when the revert was faster. */
  keep(): Promise<RevertState> {
    return this.#ask(KEEP);
  }

  /** Starts its time anew; false: it has fired, or does not answer. */
  async extend(signal: AbortSignal): Promise<boolean> {
    const asked = Date.now();
    if ((await this.#ask(EXTEND, signal)) !== "armed") return false;
    this.#firesAt = asked + this.#ms;
    return true;
  }

  /** Reverts now, and waits until that is done; once more, if it has reverted before. */
  fire(signal?: AbortSignal): Promise<RevertState> {
    return this.#ask(FIRE, signal);
  }

  state(signal?: AbortSignal): Promise<RevertState> {
    return this.#ask(STATE, signal);
  }

  /** What the revert printed. */
  async log(): Promise<string> {
    const { stdout } = await this.#run('tail -n 20 "$1/log" 2>/dev/null; :', { args: [this.#directory] });
    return Buffer.from(stdout).toString().trim();
  }

  /** Removes its files on the target. */
  async clean(): Promise<void> {
    await this.#run('if [ -d "$1/answer" ]; then : >"$1/answer/done"; fi', { args: [this.#directory] });
  }

  async #ask(script: string, signal?: AbortSignal): Promise<RevertState> {
    const { stdout } = await this.#run(script, {
      args: [this.#directory],
      slow: true,
      ...(signal === undefined ? {} : { signal }),
    });
    const [word = ""] = Buffer.from(stdout).toString().trim().split(/\s+/);
    return STATES.has(word) ? (word as RevertState) : "gone";
  }
}

const STATES: ReadonlySet<string> = new Set(["armed", "kept", "reverting", "reverted", "failed"]);

const ARM = script(revertArm, { revertWait });

const KEEP = script(revertKeep, { revertDecided });

const FIRE = script(revertFire, { revertDecided });

const EXTEND = script(revertExtend);

const STATE = `cat "$1/state" 2>/dev/null || echo gone`;
