/** Processes started through any command with piped stdio: kubectl exec, incus exec, chroot, nsenter. */
import surroundings from "../../../templates/target/surroundings.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { randomBytes } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { PermanentRefusal } from "../errors.ts";
import { quoteAll } from "../../lib/quote.ts";
import { LOADER } from "../script-line.ts";
import type { Process, ScriptOptions, ScriptResult } from "../target.ts";
import { innerLabel, type InnerOptions, InnerTransport } from "./inner-transport.ts";
import { NoAnswer, OTHER_MACHINE, RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";
import { sha256 } from "../../lib/values.ts";

/** Commands such as gcloud compute ssh take their time. */
const OPEN_MS = 60_000;

export interface ViaOptions extends InnerOptions {
  readonly argv: readonly string[];
}

/** `words`: the command passes its arguments on unchanged; `text`: joined by spaces, to a shell, as ssh does. */
type Passing = "words" | "text";

interface Entered {
  readonly remoteSession: RemoteSession;
  readonly passing: Passing;
}

export class ViaTransport extends InnerTransport {
  readonly kind = "via";
  /** Hash of the path, the namespaces and the root directory that processes get there. */
  readonly surroundings: string;
  readonly #argv: readonly string[];
  readonly #passing: Passing;

  private constructor(options: ViaOptions, { remoteSession, passing }: Entered, surroundings: string) {
    super(labelOf(options), options.base, remoteSession, remoteSession.facts);
    this.#argv = options.argv;
    this.#passing = passing;
    this.surroundings = surroundings;
  }

  /** Takes over `base` and closes it on failure. */
  static async open(options: ViaOptions): Promise<ViaTransport> {
    try {
      const entered = await enterEither(options);
      return new ViaTransport(options, entered, await surroundingsOf(entered.remoteSession, options));
    } catch (error) {
      await options.base[Symbol.asyncDispose]();
      throw error;
    }
  }

  protected override async enterAgain(signal: AbortSignal): Promise<RemoteSession> {
    const options = { argv: this.#argv, base: this.base, cwd: this.facts.cwd, signal };
    const remoteSession = await enter(options, this.#passing, true).catch(async (error: unknown) => {
      throw (await this.#programGone(signal)) ?? cannotEnter(options, error);
    });
    return await this.onSameMachine(remoteSession);
  }

  /** The first client may be in one pod of a deployment, and another client in another. */
  override async run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return super.run(script, options).catch((error: unknown) => {
      throw error instanceof BuddyError && error.message.includes(OTHER_MACHINE) ? this.changed() : error;
    });
  }

  async #programGone(signal: AbortSignal): Promise<PermanentRefusal | undefined> {
    const [program = ""] = this.#argv;
    const { code } = await this.base.run(CAN_START, { args: [program], quick: true, signal });
    if (code === 0) return undefined;
    return new PermanentRefusal("target", `cannot enter ${this.label}: ${program} can no longer be started`, {
      hint: `It was removed, or may not be executed: ls -l ${quoteAll([program])}`,
    });
  }
}

/** $1 program. */
const CAN_START = 'case $1 in */*) [ -f "$1" ] && [ -x "$1" ] ;; *) command -v -- "$1" >/dev/null 2>&1 ;; esac';

function labelOf({ argv, base }: ViaOptions): string {
  return innerLabel({ kind: "via", argv }, base);
}

/** Most commands pass words on; if that fails, tries the form that also survives a shell. */
async function enterEither(options: ViaOptions): Promise<Entered> {
  try {
    return { remoteSession: await enter(options, "words"), passing: "words" };
  } catch (first) {
    if (!(first instanceof ScriptRunnerLost)) throw cannotEnter(options, first);
    try {
      return { remoteSession: await enter(options, "text"), passing: "text" };
    } catch (second) {
      throw cannotEnter(options, second);
    }
  }
}

function enter(options: ViaOptions, passing: Passing, again = false): Promise<RemoteSession> {
  const { argv, base, cwd, ahead = false, signal } = options;
  return RemoteSession.open({
    label: labelOf(options),
    client: () =>
      passing === "words"
        ? base.spawn([...argv, "sh", "-c", LOADER], { isClient: true })
        : loaderOnStdin(base.spawn([...argv, "sh"], { isClient: true })),
    cwd: cwd ?? "",
    ahead,
    again,
    timeoutMs: OPEN_MS,
    checkMachine: "always",
    signal,
  });
}

/**
 * LOADER for a bare `sh`, a word that survives any number of shells. Some shells read ahead on a pipe: nothing is
 * written until LOADER reports that it reads.
 */
function loaderOnStdin(shell: Process): Process {
  const mark = `\u001e${randomBytes(12).toString("hex")}\u001e`;
  shell.stdin.write(`printf '\\036%s\\036' ${mark.slice(1, -1)}; exec sh -c '${LOADER}'\n`);
  const waiting: (() => void)[] = [];
  let ready = false;
  const whenReady = (act: () => void) => {
    if (ready) act();
    else waiting.push(act);
  };
  let seen = "";
  const watched = shell.stdout.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        if (ready) return;
        seen = (seen + Buffer.from(chunk).toString("latin1")).slice(-MAX_NOISE);
        if (!seen.includes(mark)) return;
        ready = true;
        for (const act of waiting.splice(0)) act();
      },
    }),
  );
  return {
    ...shell,
    stdin: { write: (data) => whenReady(() => shell.stdin.write(data)), end: () => whenReady(() => shell.stdin.end()) },
    stdout: watched,
  };
}

const MAX_NOISE = 64 * 1024;

const SURROUNDINGS = script(surroundings);

async function surroundingsOf(remoteSession: RemoteSession, options: ViaOptions): Promise<string> {
  const { stdout } = await remoteSession.run(SURROUNDINGS, { quick: true, signal: options.signal });
  return sha256(`${labelOf(options)}\n${stdout.toString("latin1")}`).slice(0, 8);
}

function cannotEnter(options: ViaOptions, error: unknown): unknown {
  if (!(error instanceof ScriptRunnerLost) && !(error instanceof NoAnswer)) return error;
  // Without the script name and line number that the shell prints first.
  const said = (error.message.trim().split("\n").at(-1) ?? "").replace(/^\S*sh: (?:line )?\d+: (?:exec: )?/, "");
  const missing = /(?:^|[\s"'‘`])(?:\/bin\/)?sh\b["'’`]?:? .*(?:not found|no such file)/i.test(said);
  return new BuddyError("target", `cannot enter ${labelOf(options)}: ${said || "it gave no answer"}`, {
    hint: missing
      ? "There must be a POSIX sh inside (busybox is enough)."
      : `Check that it starts a program: ${quoteAll(options.argv)} true`,
    cause: error,
  });
}
