/** Targets with shells for tests: every WHERE × HOW, on private tmux servers and homes that are gone afterwards. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareOutputs } from "../../src/session/outputs.ts";
import { openTarget } from "../../src/targets/open.ts";
import type { Pane, Target, TargetNotice, TargetOptions } from "../../src/targets/target.ts";
import { containerTarget, type Image } from "./container.ts";
import { endTmux } from "./end-tmux.ts";
import { sshd } from "./sshd.ts";
import { type Via, viaPlace } from "./via.ts";
import { placeOf } from "../../src/targets/place.ts";
import { tmuxSocket } from "../../src/targets/attach-command.ts";
import { targetOptions } from "./target-options.ts";

export interface OpenedTarget extends AsyncDisposable {
  readonly target: Target;
  readonly options: TargetOptions;
  readonly notices: TargetNotice[];
  /** Runs tmux beside buddy, as an operator would. */
  tmux(...args: string[]): Promise<string>;
  /** The operator's keyboard in the shared pane: text, then Enter unless it ends without a newline. */
  types(text: string): Promise<void>;
  /** Closes the target and opens it once more, as a restarted buddy would. */
  again(onNotice?: (notice: TargetNotice) => void): Promise<Target>;
}

let count = 0;

export type Where = "local" | "ssh" | "container" | Via | `ssh ${Via}`;

/** A directory that serves as HOME of this process and its children until it is disposed. */
export function temporaryHome(): { readonly path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "buddy-home-")));
  const before = process.env["HOME"];
  process.env["HOME"] = path;
  return {
    path,
    [Symbol.dispose]() {
      process.env["HOME"] = before;
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export async function openTestTarget(
  where: Where,
  more: Partial<TargetOptions> = {},
  image: Image = "tmux",
): Promise<OpenedTarget> {
  const server = where.startsWith("ssh") ? await sshd() : undefined;
  const [, kind] = /(chroot|nsenter|kubectl)$/.exec(where) ?? [];
  const via = kind === undefined ? undefined : await viaPlace(kind as Via, image);
  const outer = server === undefined ? [] : [{ kind: "ssh", destination: "lab" } as const];
  const container = where === "container" ? await containerTarget({ image }) : undefined;
  prepend(server?.env.PATH);
  prepend(container?.env["PATH"]);
  const notices: TargetNotice[] = [];
  const state = mkdtempSync(join(tmpdir(), "buddy-test-"));
  const options: TargetOptions = targetOptions({
    tmux: "required",
    tmuxSocket: `buddy-test-${process.pid}-${++count}`,
    maxSessions: 2,
    maxPanes: 3,
    onNotice: (notice) => notices.push(notice),
    outputs: { directory: () => join(state, "outputs"), prepare: prepareOutputs, hide: () => (text) => text },
    place:
      via === undefined
        ? placeOf({ ssh: server === undefined ? undefined : "lab", container: container?.name })
        : { name: where, names: [where], path: [...outer, via.hop] },
    ...more,
  });
  const target = await openTarget(options).catch((error: unknown) => {
    rmSync(state, { recursive: true, force: true });
    throw error;
  });
  const opened = [target];
  const socket = tmuxSocket(options, target.transport);
  const tmux = async (...args: string[]) => {
    const result = await target.transport.run('exec tmux "$@"', { args: ["-L", socket, ...args] });
    if (result.code !== 0) throw new Error(`tmux ${args.join(" ")}: ${result.stderr}`);
    return result.stdout.toString();
  };
  return {
    target,
    options,
    notices,
    tmux,
    async types(text) {
      const pane = (target.shell as Pane).id;
      const line = text.endsWith("\n") ? text.slice(0, -1) : text;
      const enter = text.endsWith("\n") ? [";", "send-keys", "-t", pane, "Enter"] : [];
      await tmux("send-keys", "-t", pane, "-l", line, ...enter);
    },
    async again(onNotice) {
      await target[Symbol.asyncDispose]();
      const next = await openTarget(onNotice === undefined ? options : { ...options, onNotice });
      opened.push(next);
      return next;
    },
    async [Symbol.asyncDispose]() {
      // First: they would start again what ends under their hands.
      for (const one of opened) await one[Symbol.asyncDispose]();
      if (options.tmux !== "never") endTmux(socket, server?.sockets);
      await container?.[Symbol.asyncDispose]();
      await via?.[Symbol.asyncDispose]();
      rmSync(state, { recursive: true, force: true });
    },
  };
}

function prepend(path: string | undefined): void {
  if (path === undefined) return;
  const first = path.split(":")[0] ?? "";
  const now = (process.env["PATH"] ?? "").split(":");
  if (!now.includes(first)) process.env["PATH"] = [first, ...now].join(":");
}
