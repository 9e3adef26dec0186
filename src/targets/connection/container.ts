/** Processes inside a container, on this machine or further in: `exec -i` of docker or podman on another transport. */
import { BuddyError } from "../../lib/errors.ts";
import { MachineChanged, PermanentRefusal } from "../errors.ts";
import { LOADER } from "../loader.ts";
import { ContainerMissing, findContainer, type FoundContainer } from "./container-engine.ts";
import { innerLabel, type InnerOptions, InnerTransport } from "./inner-transport.ts";
import { RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";

const OPEN_MS = 30_000;

export interface ContainerOptions extends InnerOptions {
  readonly name: string;
}

export class ContainerTransport extends InnerTransport {
  readonly kind = "container";
  readonly container: FoundContainer;
  readonly #name: string;

  private constructor(options: ContainerOptions, container: FoundContainer, remoteSession: RemoteSession) {
    const facts = { ...remoteSession.facts, machine: container.id.slice(0, 12) };
    super(labelOf(options), options.base, remoteSession, facts);
    this.#name = options.name;
    this.container = container;
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

  protected override async enterAgain(signal: AbortSignal): Promise<RemoteSession> {
    const engines = [this.container.command];
    const container = await findContainer(this.base, this.#name, signal, engines).catch((error: unknown) => {
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
    return enter({ name: this.#name, base: this.base, cwd: this.facts.cwd, signal }, container, true);
  }
}

function labelOf({ name, base }: ContainerOptions): string {
  return innerLabel({ kind: "container", name }, base);
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
