/** From options to a transport that has reached its machine, and never a different machine. */
import { currentDirectory } from "../../lib/byte-names.ts";
import { accessSync, constants } from "node:fs";
import { BuddyError } from "../../lib/errors.ts";
import { fileError } from "../../lib/files.ts";
import { hideFromChildren } from "../../lib/processes.ts";
import type { Hop } from "../place.ts";
import type { TargetOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";

export type TransportOptions = Pick<TargetOptions, "place" | "cwd" | "secretEnv" | "frugal" | "interactive" | "signal">;

export async function openTransport(options: TransportOptions): Promise<Transport> {
  options.signal?.throwIfAborted();
  hideFromChildren(options.secretEnv);
  const cwd = options.cwd === undefined ? {} : { cwd: options.cwd };
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const [first, ...rest] = options.place.path;
  const inner = first === undefined || first.kind === "ssh" ? rest : [first, ...rest];
  let transport = await openHost(first, options, inner.length === 0 ? cwd : {});
  for (const [at, hop] of inner.entries()) {
    const here = { base: transport, ...(at === inner.length - 1 ? cwd : {}), ...signal };
    transport = await openInner(hop, here);
  }
  return transport;
}

/** Takes over the transport it starts from, also when it fails. */
async function openInner(
  hop: Hop,
  options: { base: Transport; cwd?: string; signal?: AbortSignal },
): Promise<Transport> {
  switch (hop.kind) {
    case "container":
      return (await import("./container.ts")).ContainerTransport.open({ name: hop.name, ...options });
    case "via":
      return (await import("./via.ts")).ViaTransport.open({ argv: hop.argv, ...options });
    case "ssh":
      await options.base[Symbol.asyncDispose]();
      throw new BuddyError("usage", `ssh ${hop.destination} must come first: it cannot follow another step`, {
        hint: "Reach a host behind another one with ProxyJump in ~/.ssh/config.",
      });
  }
}

async function openHost(first: Hop | undefined, options: TransportOptions, cwd: { cwd?: string }): Promise<Transport> {
  if (first?.kind !== "ssh") {
    checkEntry(cwd.cwd ?? currentDirectory());
    return new LocalTransport(cwd);
  }
  const [{ SshTransport }, { canAsk }] = await Promise.all([import("./ssh.ts"), import("../../lib/terminal.ts")]);
  return await SshTransport.open({
    destination: first.destination,
    frugal: options.frugal === true,
    interactive: options.interactive !== false && canAsk(),
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
