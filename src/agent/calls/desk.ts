/**
 * Who is shown what, who is asked, and whose answer counts: every front gets every event, a question goes to each that
 * can ask, and the first answer counts, once.
 */
import { unlessAborted } from "../../lib/waiting.ts";
import {
  type ApprovalAnswer,
  type ApprovalMode,
  type ApprovalRequest,
  Approvals,
  type Asker,
  isOffered,
} from "../../policy/approvals.ts";
import type { ApproveMode } from "../../lib/durations.ts";
import type { AskPassword, Target } from "../../targets/target.ts";
import { EventQueue } from "../event-queue.ts";
import { type AgentEvent, AnsweredElsewhere } from "../events.ts";

/** What a person or a program looks at. */
export interface Front {
  /** Who the others are told has answered: "the terminal". */
  readonly name: string;
  /** The model's text waits until this front has shown what it has. */
  readonly setsPace?: boolean;
  show(event: AgentEvent): void | Promise<void>;
  /** Absent: nobody can answer here. The signal aborts with an AnsweredElsewhere when another front was first. */
  ask?(question: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer>;
  /** Undefined: not given, or the signal came first. The receiver overwrites the bytes with zeros. */
  password?(question: PasswordQuestion, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Somebody answered that the whole task is to stop. */
  stop?(): void;
}

export interface PasswordQuestion {
  /** user@host. */
  readonly where: string;
  readonly program: string;
  /** In the program's own words, not yet safe for a terminal. */
  readonly prompt: string;
  readonly into: "pane" | "shell";
}

/** The place of a front at the desk. */
export interface Seat {
  /** All that was published is shown; rejects with the error of a front that failed. */
  caughtUp(): Promise<void>;
  /** It is shown and asked nothing more, and an answer of it counts no longer. */
  leave(): void;
}

export class Desk {
  /** The mode, durations, and what `always` remembered. */
  readonly approvals: Approvals;
  readonly #seats = new Set<OpenSeat>();
  readonly #hide: (password: string) => void;
  /** What a front that comes later has to see of the calls that are not over. */
  readonly #calls = new Map<string, AgentEvent[]>();
  #question: OpenQuestion | undefined;
  #passwords: Promise<unknown> = Promise.resolve();

  /** `hide` keeps a password out of what the program prints: some repeat what they were given. */
  constructor({ mode, hide }: { mode?: ApprovalMode | ApproveMode | undefined; hide?(password: string): void } = {}) {
    const asker: Asker = { ask: (request, signal, behind) => this.#ask(request, signal, behind) };
    this.approvals = new Approvals({ mode, asker });
    this.#hide = hide ?? (() => {});
  }

  /** Open calls are shown first; an open question is put to it, too. */
  attach(front: Front): Seat {
    const seat = new OpenSeat(front, () => this.#seats.delete(seat));
    for (const events of this.#calls.values()) for (const event of events) seat.push(event);
    this.#seats.add(seat);
    this.#question?.putTo(seat);
    return seat;
  }

  publish(event: AgentEvent): void {
    this.#follow(event);
    for (const seat of this.#seats) seat.push(event);
  }

  /** Resolves when the fronts that set the pace have shown enough; undefined: they have. */
  room(signal: AbortSignal): Promise<void> | undefined {
    for (const seat of this.#seats) {
      const room = seat.front.setsPace === true ? seat.room(signal) : undefined;
      if (room !== undefined) return room;
    }
    return undefined;
  }

  /**
   * For programs on that target; `machine`: its name, if there are several. Undefined: nobody can be asked. One
   * question at a time: two lines on one terminal would share the keys.
   */
  passwords(target: () => Promise<Pick<Target, "identity">>, machine?: string): AskPassword | undefined {
    if (![...this.#seats].some(({ front }) => front.password !== undefined)) return undefined;
    return async ({ program, prompt, into, signal }) => {
      const { user, host } = (await target()).identity;
      const question = { where: `${user}@${machine ?? host}`, program, prompt, into };
      const turn = this.#passwords.then(() => this.#password(question, signal));
      this.#passwords = turn.catch(() => undefined);
      return turn;
    };
  }

  async #password(question: PasswordQuestion, signal: AbortSignal): Promise<Uint8Array | undefined> {
    if (signal.aborted) return undefined;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const given = [...this.#seats].flatMap((seat) => {
      const ask = seat.front.password?.bind(seat.front);
      if (ask === undefined) return [];
      const answer = async () => {
        const bytes = await unlessAborted(seat.gone, ask(question, AbortSignal.any([either, seat.gone])));
        return bytes ?? Promise.reject(new Error("not given"));
      };
      return [answer()];
    });
    try {
      const bytes = await unlessAborted(signal, Promise.any(given)).catch(() => undefined);
      if (bytes !== undefined) this.#hide(new TextDecoder().decode(bytes));
      return bytes;
    } finally {
      over.abort(new AnsweredElsewhere("another front"));
    }
  }

  async #ask(request: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer> {
    if (signal.aborted) return { kind: "cancelled" };
    const question = new OpenQuestion(request, signal, behind);
    this.#question = question;
    try {
      for (const seat of this.#seats) question.putTo(seat);
      const answer = await question.answer();
      // Before the answer is acted upon: the next call of the same model answer must not begin.
      if (answer.kind === "no" && answer.stop === true)
        for (const { front } of this.#seats) if (front !== question.answeredAt) front.stop?.();
      return answer;
    } finally {
      this.#question = undefined;
    }
  }

  #follow(event: AgentEvent): void {
    switch (event.type) {
      case "tool_started":
        this.#calls.set(event.call, [event]);
        return;
      case "approval_asked":
      case "approval_answered":
        this.#calls.get(event.call)?.push(event);
        return;
      case "tool_finished":
        this.#calls.delete(event.call);
        return;
      case "done":
        this.#calls.clear();
        return;
      default:
        return;
    }
  }
}

/** A front, what it has still to show, and whether it is still there. */
class OpenSeat implements Seat {
  readonly front: Front;
  readonly #left = new AbortController();
  readonly #onLeave: () => void;
  readonly #queue = new EventQueue();
  #failure: { readonly error: unknown } | undefined;
  /** While it shows an event; resolves when nothing waits any more. */
  #busy: PromiseWithResolvers<void> | undefined;

  constructor(front: Front, onLeave: () => void) {
    this.front = front;
    this.#onLeave = onLeave;
  }

  get gone(): AbortSignal {
    return this.#left.signal;
  }

  push(event: AgentEvent): void {
    if (this.gone.aborted) return;
    if (this.#busy === undefined) return this.#show(event);
    this.#queue.push(event);
    // It reads the session again when it comes back.
    if (this.#queue.length > MAX_BEHIND && this.front.setsPace !== true) this.#fail(new Error("it fell behind"));
  }

  room(signal: AbortSignal): Promise<void> | undefined {
    return this.#busy === undefined ? undefined : this.#queue.room(signal);
  }

  async caughtUp(): Promise<void> {
    await this.#busy?.promise;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  leave(): void {
    if (this.gone.aborted) return;
    this.#left.abort(new Error("the front has left"));
    this.#onLeave();
    this.#busy?.resolve();
  }

  /** At once where it can be: nothing waits, and nothing is left out. */
  #show(event: AgentEvent): void {
    try {
      const shown = this.front.show(event);
      if (shown === undefined) return;
      this.#busy ??= Promise.withResolvers();
      shown.then(
        () => this.#next(),
        (error: unknown) => this.#fail(error),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  #next(): void {
    for (let event = this.#queue.take(); event !== undefined; event = this.#queue.take()) {
      if (this.gone.aborted) return;
      const { front } = this;
      try {
        const shown = front.show(event);
        if (shown === undefined) continue;
        shown.then(
          () => this.#next(),
          (error: unknown) => this.#fail(error),
        );
        return;
      } catch (error) {
        return this.#fail(error);
      }
    }
    const busy = this.#busy;
    this.#busy = undefined;
    busy?.resolve();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.leave();
  }
}

/** One question at all fronts that can ask. */
class OpenQuestion {
  readonly #request: ApprovalRequest;
  readonly #behind: () => number;
  readonly #over = new AbortController();
  readonly #decided = Promise.withResolvers<ApprovalAnswer>();
  /** It stops by itself what is to stop. */
  answeredAt: Front | undefined;
  /** Fronts that have not answered. */
  #waiting = 0;
  #none: ApprovalAnswer = { kind: "no-terminal" };

  constructor(request: ApprovalRequest, signal: AbortSignal, behind: () => number) {
    this.#request = request;
    this.#behind = behind;
    signal.addEventListener("abort", () => this.#decide({ kind: "cancelled" }, signal.reason), {
      once: true,
      signal: this.#over.signal,
    });
  }

  /** Once all fronts that are there have been asked. */
  answer(): Promise<ApprovalAnswer> {
    if (this.#waiting === 0) this.#decide(this.#none, new Error("nobody could be asked"));
    return this.#decided.promise;
  }

  putTo(seat: OpenSeat): void {
    if (seat.front.ask === undefined || this.#over.signal.aborted) return;
    this.#waiting++;
    void this.#askAt(seat).then((answer) => {
      this.#waiting--;
      // An answer that was not offered is an error of the front, and nobody's decision.
      if (answer.kind !== "cancelled" && answer.kind !== "no-terminal" && isOffered(this.#request, answer)) {
        this.answeredAt ??= seat.front;
        return this.#decide(answer, new AnsweredElsewhere(seat.front.name, answer));
      }
      if (answer.kind === "cancelled") this.#none = answer;
      if (this.#waiting === 0) this.#decide(this.#none, new Error("nobody could be asked"));
    });
  }

  /** What a front answers that has seen everything before the question; one that has left or failed answers nothing. */
  async #askAt(seat: OpenSeat): Promise<ApprovalAnswer> {
    const signal = AbortSignal.any([this.#over.signal, seat.gone]);
    try {
      await seat.caughtUp();
      signal.throwIfAborted();
      const given = seat.front.ask!(this.#request, signal, this.#behind);
      return await unlessAborted(seat.gone, given);
    } catch {
      return { kind: "no-terminal" };
    }
  }

  #decide(answer: ApprovalAnswer, reason: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#decided.resolve(answer);
    this.#over.abort(reason);
  }
}

/** Events that a front may have still to show. */
const MAX_BEHIND = 10_000;
