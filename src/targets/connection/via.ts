/** Processes behind any command that starts a program with piped stdio: kubectl exec, incus exec, chroot, nsenter. */
import { BuddyError } from "../../lib/errors.ts";
import { MachineChanged } from "../errors.ts";
import { LOADER, quoteAll } from "../quote.ts";
import { innerLabel, type InnerOptions, InnerTransport } from "./inner-transport.ts";
import { NoAnswer, RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";

/** Commands such as gcloud compute ssh take their time. */
const OPEN_MS = 60_000;

export interface ViaOptions extends InnerOptions {
  readonly argv: readonly string[];
}

export class ViaTransport extends InnerTransport {
  readonly kind = "via";
  readonly #argv: readonly string[];

  private constructor(options: ViaOptions, remoteSession: RemoteSession) {
    super(labelOf(options), options.base, remoteSession, remoteSession.facts);
    this.#argv = options.argv;
  }

  /** Takes over `base`, also when it fails. */
  static async open(options: ViaOptions): Promise<ViaTransport> {
    try {
      return new ViaTransport(options, await enter(options));
    } catch (error) {
      await options.base[Symbol.asyncDispose]();
      throw error;
    }
  }

  protected override async enterAgain(signal: AbortSignal): Promise<RemoteSession> {
    const remoteSession = await enter({ argv: this.#argv, base: this.base, cwd: this.facts.cwd, signal }, true);
    const { user, host, machine } = remoteSession.facts;
    const before = this.facts;
    if (user === before.user && host === before.host && machine === before.machine) return remoteSession;
    await remoteSession.close();
    throw new MachineChanged(
      "target",
      `${this.label} now reaches another machine: ${user}@${host} (${machine}); it was ${before.user}@${before.host} (${before.machine})`,
      { hint: "Nothing was run there. Start buddy again if this is the machine you want." },
    );
  }
}

function labelOf({ argv, base }: ViaOptions): string {
  return innerLabel({ kind: "via", argv }, base);
}

async function enter(options: ViaOptions, again = false): Promise<RemoteSession> {
  const label = labelOf(options);
  try {
    return await RemoteSession.open({
      label,
      client: () => options.base.spawn([...options.argv, "sh", "-c", LOADER], { isClient: true }),
      cwd: options.cwd ?? "",
      again,
      timeoutMs: OPEN_MS,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (!(error instanceof ScriptRunnerLost) && !(error instanceof NoAnswer)) throw error;
    throw new BuddyError("target", `cannot enter ${label}: ${error.message || "it gave no answer"}`, {
      hint: `Check that it starts a program: ${quoteAll(options.argv)} true`,
      cause: error,
    });
  }
}
