/**
 * Processes inside a container, on this machine or on a host over ssh: `exec -i` of docker or podman on another
 * transport.
 */
import { BuddyError } from "../../lib/errors.ts";
import { MachineChanged, PermanentRefusal } from "../errors.ts";
import { RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";
import { LOADER } from "../quote.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions, Transport } from "../target.ts";
import { ContainerMissing, findContainer, type FoundContainer } from "./container-engine.ts";
import { Reconnector } from "./reconnector.ts";

const OPEN_MS = 30_000;
const CHECK_MS = 5000;

export interface ContainerOptions {
  readonly name: string;
  /** Where the engine is; closed with this transport. */
  readonly base: Transport;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export class ContainerTransport implements Transport {
  readonly kind = "container";
  readonly label: string;
  readonly facts: MachineFacts;
  readonly container: FoundContainer;
  readonly base: Transport;
  readonly #name: string;
  #remoteSession: RemoteSession;
  readonly #reconnector: Reconnector;
  #closing: Promise<void> | undefined;

  private constructor(options: ContainerOptions, container: FoundContainer, remoteSession: RemoteSession) {
    this.#name = options.name;
    this.base = options.base;
    this.container = container;
    this.label = labelOf(options);
    this.#remoteSession = remoteSession;
    this.#reconnector = new Reconnector(this.label, (signal, mayAsk) => this.#reconnect(signal, mayAsk));
    this.facts = { ...remoteSession.facts, machine: container.id.slice(0, 12) };
  }

  /** Takes over `base`, also when it fails. */
  static async open(options: ContainerOptions): Promise<ContainerTransport> {
    try {
      const container = await findContainer(options.base, options.name, options.signal);
      return new ContainerTransport(options, container, await enter(options, container));
    } catch (error) {
      await options.base[Symbol.asyncDispose]();
      throw error;
    }
  }

  spawn(argv: readonly string[], options?: SpawnOptions): Process {
    this.#reconnector.assertOpen();
    return this.#remoteSession.spawn(argv, options);
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return this.#reconnector.run(options.signal, () => this.#remoteSession.run(script, options));
  }

  ensure(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.ensure(signal);
  }

  reconnect(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.reconnect(signal);
  }

  answers(timeoutMs: number): Promise<boolean> {
    return this.#remoteSession.answers(timeoutMs);
  }

  async abandon(): Promise<void> {
    this.#remoteSession.abandon("it was given up");
    await Promise.all([this.base.abandon(), this[Symbol.asyncDispose]()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#reconnector.close();
    await this.#remoteSession.close();
    await this.base[Symbol.asyncDispose]();
  }

  async #reconnect(signal: AbortSignal, mayAsk: boolean): Promise<void> {
    if (await this.#remoteSession.answers(CHECK_MS, signal)) return;
    this.#remoteSession.abandon("the container or the connection to it is gone");
    await (mayAsk ? this.base.reconnect(signal) : this.base.ensure(signal));
    const container = await findContainer(this.base, this.#name, signal).catch((error: unknown) => {
      if (!(error instanceof ContainerMissing)) throw error;
      throw new PermanentRefusal("target", `container ${this.#name} was removed`, { hint: error.hint, cause: error });
    });
    if (container.id !== this.container.id) {
      throw new MachineChanged(
        "target",
        `container ${this.#name} was replaced (it is ${container.id.slice(0, 12)} now)`,
        {
          hint: "Nothing was run in the new one. Start buddy again to work in it.",
        },
      );
    }
    const remoteSession = await enter(
      { name: this.#name, base: this.base, cwd: this.facts.cwd, signal },
      container,
      true,
    );
    if (this.#reconnector.closed) await remoteSession.close();
    else this.#remoteSession = remoteSession;
  }
}

function labelOf({ name, base }: ContainerOptions): string {
  return base.kind === "local" ? `container ${name}` : `container ${name} on ${base.label}`;
}

async function enter(
  options: ContainerOptions,
  { command, id }: FoundContainer,
  again = false,
): Promise<RemoteSession> {
  try {
    return await RemoteSession.open({
      label: labelOf(options),
      // By id: a container made again under the same name must not be entered unnoticed.
      client: () => options.base.spawn([command, "exec", "-i", id, "sh", "-c", LOADER], { isClient: true }),
      cwd: options.cwd ?? "",
      again,
      timeoutMs: OPEN_MS,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (!(error instanceof ScriptRunnerLost)) throw error;
    if (/executable file not found|no such file or directory/i.test(error.message)) {
      throw new BuddyError("target", `${labelOf(options)} has no sh, so nothing can be run in it`, {
        hint: "Work on its host instead, or use an image with a shell (busybox is enough).",
        cause: error,
      });
    }
    throw new BuddyError("target", `cannot enter ${labelOf(options)}: ${error.message || "it gave no answer"}`, {
      cause: error,
    });
  }
}
