/** Processes inside a container: `exec -i` of docker or podman on another transport. */
import findText from "../../../templates/target/find-container.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { BuddyError } from "../../lib/errors.ts";
import { MachineChanged, PermanentRefusal } from "../errors.ts";
import { LOADER } from "../script-line.ts";
import type { Transport } from "../target.ts";
import { innerLabel, type InnerOptions, InnerTransport } from "./inner-transport.ts";
import { RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";
import { quote } from "../../lib/quote.ts";

const OPEN_MS = 30_000;
/** An engine whose service hangs never answers. */
const ENGINE_S = 20;

export interface ContainerOptions extends InnerOptions {
  readonly name: string;
  /** The only one to look in. */
  readonly engine?: string | undefined;
}

export class ContainerTransport extends InnerTransport {
  readonly kind = "container";
  readonly engine: string;
  readonly #id: string;
  readonly #name: string;

  private constructor(options: ContainerOptions, container: FoundContainer, remoteSession: RemoteSession) {
    const facts = { ...remoteSession.facts, machine: container.id.slice(0, 12) };
    super(labelOf(options), options.base, remoteSession, facts);
    this.#name = options.name;
    this.#id = container.id;
    this.engine = container.engine;
  }

  /** Takes over `base` and closes it on failure. */
  static async open(options: ContainerOptions): Promise<ContainerTransport> {
    try {
      const { base, name, signal, engine } = options;
      const container = await findContainer(base, name, signal, engine === undefined ? undefined : [engine]);
      return new ContainerTransport(options, container, await enter(options, container));
    } catch (error) {
      await options.base[Symbol.asyncDispose]();
      throw error;
    }
  }

  protected override async enterAgain(signal: AbortSignal): Promise<RemoteSession> {
    const engines = [this.engine];
    const removed = (error: unknown): never => {
      if (!(error instanceof ContainerMissing)) throw error;
      throw new PermanentRefusal("target", `container ${this.#name} was removed`, { hint: error.hint, cause: error });
    };
    const container = await findContainer(this.base, this.#name, signal, engines).catch((error: unknown) => {
      if (!(error instanceof ContainerMissing)) throw error;
      // It may have been renamed.
      return findContainer(this.base, this.#id, signal, engines).catch(removed);
    });
    if (container.id !== this.#id) {
      throw new MachineChanged("target", `container ${this.#name} was replaced (now ${container.id.slice(0, 12)})`, {
        hint: "Nothing was run in the new one. Start buddy again to work in it.",
      });
    }
    return enter({ name: this.#name, base: this.base, cwd: this.facts.cwd, signal }, container, true);
  }
}

function labelOf({ name, base }: ContainerOptions): string {
  return innerLabel({ kind: "container", name }, base);
}

async function enter(options: ContainerOptions, { engine, id }: FoundContainer, again = false): Promise<RemoteSession> {
  try {
    return await RemoteSession.open({
      label: labelOf(options),
      // By id: the name may belong to another container by now.
      client: () => options.base.spawn([engine, "exec", "-i", id, "sh", "-c", LOADER], { isClient: true }),
      cwd: options.cwd ?? "",
      ahead: options.ahead ?? false,
      again,
      timeoutMs: OPEN_MS,
      signal: options.signal,
    });
  } catch (error) {
    if (!(error instanceof ScriptRunnerLost)) throw error;
    if (/executable file not found|no such file or directory/i.test(error.message)) {
      throw new BuddyError("target", `${labelOf(options)} has no sh, so buddy cannot run commands in it`, {
        hint: "Work on its host instead, or use an image with a shell (busybox is enough).",
        cause: error,
      });
    }
    throw new BuddyError("target", `cannot enter ${labelOf(options)}: ${error.message || "it gave no answer"}`, {
      cause: error,
    });
  }
}

interface FoundContainer {
  /** Path of docker or podman. */
  readonly engine: string;
  readonly id: string;
}

const FIND = script(findText, { seconds: String(ENGINE_S) });

/** The engine does not know the name. */
class ContainerMissing extends PermanentRefusal {}

interface Answer {
  readonly command: string;
  readonly path: string;
  readonly found: string;
  readonly said: string;
  readonly running: readonly string[];
}

/** The running container. `engines` are commands or paths: after a drop, only the one that had the container. */
export async function findContainer(
  base: Transport,
  name: string,
  signal?: AbortSignal | undefined,
  engines: readonly string[] = ["docker", "podman"],
): Promise<FoundContainer> {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) {
    throw new BuddyError("usage", `--container ${JSON.stringify(name)}: not a valid container name`);
  }
  const result = await base.run(FIND, { args: [name, ...engines], timeoutMs: 60_000, quick: true, signal });
  const answers = parse(result.stdout.toString());
  const place = base.kind === "local" ? "on this machine" : `on ${base.label}`;
  if (answers.length === 0) {
    const [engine] = engines;
    if (engines.length === 1) throw new PermanentRefusal("target", `${engine} is not installed ${place}`);
    throw new PermanentRefusal("target", `neither docker nor podman is installed ${place}`, {
      hint: "Install one of them there (e.g. apt install podman), or name the right host with --ssh.",
    });
  }
  const known = answers.find((answer) => answer.found !== "");
  if (known === undefined) throw unknown(name, place, answers);
  const [id = "", status = ""] = known.found.split(" ");
  if (status !== "running") throw notRunning(name, status, known.command);
  return { engine: known.path, id };
}

function parse(text: string): Answer[] {
  const fields = text.split("\0").slice(0, -1);
  const answers: Answer[] = [];
  for (let at = 0; at + 5 <= fields.length; at += 5) {
    const [command = "", path = "", found = "", said = "", running = ""] = fields.slice(at, at + 5);
    answers.push({ command, path, found: found.trim(), said, running: running.split(/\s+/).filter(Boolean) });
  }
  return answers;
}

function unknown(name: string, place: string, answers: readonly Answer[]): BuddyError {
  const knowsNone = ({ said }: Answer) => !REFUSED.test(said) && /no such|not found|no container/i.test(said);
  const silent = answers.find((answer) => !knowsNone(answer));
  const running = [...new Set(answers.flatMap((answer) => answer.running))];
  if (silent !== undefined && running.length === 0) {
    const refused = REFUSED.exec(silent.said)?.[1];
    if (refused !== undefined)
      return new PermanentRefusal("target", `${silent.command} ${place} cannot be executed: ${refused}`, {
        hint: `Check it: ls -l ${quote(silent.path)}`,
      });
    const said = silent.said.trim().split("\n").at(-1) ?? "";
    const denied = /permission denied/i.test(said);
    const other = answers.find(knowsNone);
    const known = other === undefined ? "" : `${other.command} answers, but has no container ${JSON.stringify(name)}. `;
    return new BuddyError("target", `${silent.command} does not answer ${place}: ${said}`, {
      hint: denied
        ? `${known}Your user may not use it: add it to the docker group, or use rootless podman.`
        : `${known}Is its service running? Try: systemctl start docker`,
    });
  }
  return new ContainerMissing("target", `container ${JSON.stringify(name)} does not exist ${place}`, {
    hint: running.length === 0 ? "No container is running." : `Running: ${running.join(", ")}`,
  });
}

/** Without the script name and line number that the shell prints first. */
const REFUSED = /^cannot be executed: (?:.*?: (?:line )?\d+: )?(?:eval: )?(.*)/;

function notRunning(name: string, status: string, command: string): BuddyError {
  const hint =
    status === "paused"
      ? `Resume it: ${command} unpause ${name}`
      : status === "restarting"
        ? `It keeps restarting: ${command} logs ${name} shows why.`
        : `Start it: ${command} start ${name}`;
  return new BuddyError("target", `container ${name} is not running (${status})`, { hint });
}
