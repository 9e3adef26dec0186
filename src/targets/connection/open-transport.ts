/** From options to a transport that has reached its machine: never another one than was asked for. */
import { accessSync, constants } from "node:fs";
import { BuddyError } from "../../lib/errors.ts";
import { fileError } from "../../lib/files.ts";
import { hideFromChildren } from "../../lib/start-child.ts";
import type { TargetOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";

export async function openTransport(options: TargetOptions): Promise<Transport> {
  options.signal?.throwIfAborted();
  hideFromChildren(options.secretEnv);
  const cwd = options.cwd === undefined ? {} : { cwd: options.cwd };
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  if (options.container === undefined) return await openHost(options, cwd);
  const { ContainerTransport } = await import("./container.ts");
  const base = await openHost(options, {});
  return await ContainerTransport.open({ name: options.container, base, ...cwd, ...signal });
}

async function openHost(options: TargetOptions, cwd: { cwd?: string }): Promise<Transport> {
  if (options.ssh === undefined) {
    checkEntry(cwd.cwd ?? process.cwd());
    return new LocalTransport(cwd);
  }
  const [{ SshTransport }, { canAsk }] = await Promise.all([import("./ssh.ts"), import("../../lib/terminal.ts")]);
  return await SshTransport.open({
    destination: options.ssh,
    interactive: canAsk(),
    ...cwd,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}

/**
 * Nothing can be started from a directory without permission, whatever it is; one that is gone is reported where it is
 * used.
 */
function checkEntry(directory: string): void {
  try {
    accessSync(`${directory}/.`, constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new BuddyError("target", `the directory ${directory} cannot be entered: ${fileError(error)}`, {
      hint: "Start in another one, or name one with --cd DIR.",
      cause: error,
    });
  }
}
