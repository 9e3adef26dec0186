/** What containers and `via` share: processes started by a client (docker exec, kubectl exec) on another transport. */
import type { Hop } from "../place.ts";
import { labelOfHop } from "../place.ts";
import type { MachineFacts, ScriptOptions, ScriptResult, Transport } from "../target.ts";
import { RemoteTransport } from "./remote-transport.ts";
import type { RemoteSession } from "./remote-session.ts";
import { messageOf } from "../../lib/errors.ts";
import { pause } from "../../lib/waiting.ts";
import { PermanentRefusal } from "../errors.ts";

/** How often `gone` checks for an answer, and how long that may take. */
const LOOK_MS = 3000;

export interface InnerOptions {
  /** Where the client runs; closed with this transport. */
  readonly base: Transport;
  readonly cwd?: string | undefined;
  /** A process follows at once. */
  readonly ahead?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export abstract class InnerTransport extends RemoteTransport {
  readonly base: Transport;

  protected constructor(label: string, base: Transport, session: RemoteSession, facts: MachineFacts) {
    super(label, session, facts);
    this.base = base;
  }

  /** Enters once more; throws MachineChanged if the same name leads to another machine. */
  protected abstract enterAgain(signal: AbortSignal): Promise<RemoteSession>;

  override async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    const over = new AbortController();
    this.gone(over.signal).catch(() => {});
    try {
      return await super.run(script, options);
    } finally {
      over.abort();
    }
  }

  /**
   * A client may stay silent for ever after its container was restarted. One of a paused container is silent, too, but
   * continues later: so the session is given up only if the container can be entered again, or never can be.
   */
  async gone(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(LOOK_MS, signal);
      const { session } = this;
      if (this.isReconnecting || (await session.answers(LOOK_MS, signal))) continue;
      const entered = await this.#enteredOnceMore(signal);
      if (!entered || session !== this.session || (await session.answers(LOOK_MS, signal))) continue;
      session.abandon(`${this.label} was restarted, or is gone`);
      return;
    }
  }

  /** Also true if no further attempt can succeed. */
  async #enteredOnceMore(signal: AbortSignal): Promise<boolean> {
    try {
      await (await this.enterAgain(signal)).close();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof PermanentRefusal;
    }
  }

  async connectAnew(signal: AbortSignal): Promise<string | undefined> {
    const outer = await this.base.connectAnew(signal);
    if (outer !== undefined) return outer;
    try {
      await (await this.enterAgain(signal)).close();
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  override async abandon(): Promise<void> {
    await Promise.all([super.abandon(), this.base.abandon()]);
  }

  protected override async closeOuter(): Promise<void> {
    await this.base[Symbol.asyncDispose]();
  }

  protected override async openAgain(signal: AbortSignal, mayAsk: boolean): Promise<RemoteSession> {
    await (mayAsk ? this.base.reconnect(signal) : this.base.ensure(signal));
    return await this.enterAgain(signal);
  }
}

/** The whole path, the innermost first. */
export function innerLabel(hop: Hop, base: Transport): string {
  return base.kind === "local" ? labelOfHop(hop) : `${labelOfHop(hop)} on ${base.label}`;
}
