/** Writes the events of a run to its session log, off the path of the first answer. */
import type { AgentEvent } from "../agent/events.ts";
import type { SessionLog } from "../session/log.ts";
import type { ResumedSession, SessionStore } from "../session/store.ts";

export interface RecorderOptions {
  readonly redact: (text: string) => string;
  readonly problem: (message: string) => void;
  store(): Promise<SessionStore>;
  /** Of a session that is gone on with. */
  readonly resumed?: ResumedSession | undefined;
  readonly id: string;
}

/**
 * Directory, lock and file take longer than a short answer needs. What happens in the first moments is kept and
 * written when they have passed or when a tool runs; a run that is over by then is written at once, without a lock,
 * since nobody else can know its id yet.
 */
export class SessionRecorder {
  readonly id: string;
  readonly #options: RecorderOptions;
  #log: SessionLog | undefined;
  #opening: Promise<void> | undefined;
  #waiting: AgentEvent[] = [];
  #parts: Promise<[typeof import("../session/log.ts"), SessionStore]> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.id = options.id;
    this.#log = options.resumed?.log;
  }

  append(event: AgentEvent): void {
    if (this.#log !== undefined) return this.#log.append(event);
    this.#waiting.push(event);
    if (event.type === "tool_started") this.#goLive();
    else this.#timer ??= setTimeout(() => this.#goLive(), FIRST_MOMENTS_MS);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#opening;
    if (this.#log === undefined && this.#waiting.length > 0) await this.#open({ release: () => undefined });
    await this.#log?.close();
  }

  #goLive(): void {
    clearTimeout(this.#timer);
    this.#opening ??= this.#open(undefined);
  }

  /** Loads what writing needs, for the time while a model thinks. */
  warm(): Promise<[typeof import("../session/log.ts"), SessionStore]> {
    return (this.#parts ??= Promise.all([import("../session/log.ts"), this.#options.store()]));
  }

  async #open(hold: { release(): void } | undefined): Promise<void> {
    const { id, redact, problem } = this.#options;
    const [{ SessionLog }, { directory }] = await this.warm();
    const log = new SessionLog({ id, directory, redact, problem, hold, durable: hold === undefined });
    for (const event of this.#waiting.splice(0)) log.append(event);
    this.#log = log;
  }
}

const FIRST_MOMENTS_MS = 300;
