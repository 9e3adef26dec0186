/** The session of a run, and the stored ones it can change to. */
import type { AgentEvent } from "../agent/events.ts";
import { printable } from "../lib/printable.ts";
import { newSessionId } from "../session/ids.ts";
import type { ResumedSession, ResumeOptions, SessionStore } from "../session/store.ts";
import { SessionRecorder } from "./session-recorder.ts";

export interface RunSessionsOptions {
  readonly cwd: string;
  readonly stateDirectory: string | undefined;
  /** False: nothing is written to a session log. */
  readonly record: boolean;
  readonly redact: (text: string) => string;
  readonly problem: (message: string) => void;
}

export class RunSessions {
  readonly #options: RunSessionsOptions;
  #directory: Promise<string> | undefined;
  #store: Promise<SessionStore> | undefined;
  #recorder: SessionRecorder;

  constructor(options: RunSessionsOptions) {
    this.#options = options;
    this.#recorder = this.#record(undefined);
  }

  get id(): string {
    return this.#recorder.id;
  }

  append(event: AgentEvent): void {
    if (this.#options.record) this.#recorder.append(event);
  }

  /** Resolves when the log has every event so far. */
  stored(): Promise<void> {
    return this.#recorder.stored();
  }

  store(): Promise<SessionStore> {
    return (this.#store ??= Promise.all([import("../session/store.ts"), this.#newDirectory()]).then(
      ([{ SessionStore }]) => new SessionStore(this.#options),
    ));
  }

  /** The session to begin with; a foreign one only after a yes on the terminal. */
  async resume(name: string, fork: boolean): Promise<ResumedSession> {
    const store = await this.store();
    const { ForeignSession } = await import("../session/store.ts");
    const open = async (how?: ResumeOptions) => (fork ? store.fork(name, how) : store.resume(name, how));
    const resumed = await open().catch(async (error: unknown) => {
      if (!(error instanceof ForeignSession)) throw error;
      const { yesOnTerminal } = await import("./confirm-on-terminal.ts");
      const question = `${printable(error.lines.join("\n"))}\nContinue this session? [y/N] `;
      if ((await yesOnTerminal(question)) !== true) throw error;
      return open({ foreign: true });
    });
    this.#recorder = this.#record(resumed);
    return resumed;
  }

  /** Leaves the session for another, or for a new one. */
  async change(next?: ResumedSession): Promise<void> {
    await this.#recorder.close();
    this.#recorder = this.#record(next);
  }

  close(): Promise<void> {
    return this.#recorder.close();
  }

  #record(resumed: ResumedSession | undefined): SessionRecorder {
    const { redact, problem, stateDirectory } = this.#options;
    const id = resumed?.log.id ?? newSessionId();
    return new SessionRecorder({ id, resumed, redact, problem, stateDirectory, directory: () => this.#newDirectory() });
  }

  /** Where new sessions go; an unusual place is reported once. The store knows it too, but a new session needs no store. */
  #newDirectory(): Promise<string> {
    return (this.#directory ??= import("../session/session-directory.ts").then(({ sessionDirectory }) => {
      const { cwd, stateDirectory, record, problem } = this.#options;
      const { directory, notice } = sessionDirectory(cwd, stateDirectory);
      if (notice !== undefined && record) problem(notice);
      return directory;
    }));
  }
}
