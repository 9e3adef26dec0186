/** What a target does with a text that nobody was asked about: a clean child, in the read-only room where there is one. */
import type { Locks, RoomState, SecondLock, Transport } from "../target.ts";
import { type CleanScript, type CleanShell, cleanScript, cleanShell } from "./clean-script.ts";
import { ReadOnlyRoom } from "./read-only-room.ts";

export class CleanChildren implements Locks {
  readonly #shell: CleanShell;
  readonly #room: ReadOnlyRoom;

  constructor(transport: Transport, lock: SecondLock = "auto") {
    this.#shell = cleanShell(transport.facts);
    this.#room = new ReadOnlyRoom(transport, lock);
  }

  /** Makes the room in the background. */
  start(): void {
    this.#room.make();
  }

  async end(): Promise<void> {
    await this.#room[Symbol.asyncDispose]();
  }

  get shell(): CleanShell["kind"] {
    return this.#shell.kind;
  }

  get room(): RoomState {
    return this.#room.state;
  }

  get settled(): Promise<RoomState> {
    return this.#room.settled;
  }

  readonly script: CleanScript = (text, { inRoom }, to) =>
    cleanScript(text, this.#shell, inRoom ? this.#room.entry : undefined, to);
}
