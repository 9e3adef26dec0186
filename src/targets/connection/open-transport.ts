/** Opens the transport to the machine that the options name; never falls back to another one. */
import { currentDirectory } from "../../lib/byte-names.ts";
import { accessSync, constants } from "node:fs";
import { BuddyError } from "../../lib/errors.ts";
import { fileError } from "../../lib/files.ts";
import type { Hop } from "../place.ts";
import type { TargetOptions, Transport } from "../target.ts";
import type { InnerOptions } from "./inner-transport.ts";
import { LocalTransport } from "./local.ts";

export type TransportOptions = Pick<TargetOptions, "place" | "cwd" | "frugal" | "interactive" | "signal">;

/** `ahead`: a process follows at once, so its client is started in advance. */
export async function openTransport(options: TransportOptions, ahead = false): Promise<Transport> {
  options.signal?.throwIfAborted();
  const { cwd, signal } = options;
  const [first, ...rest] = options.place.path;
  const inner = first === undefined || first.kind === "ssh" ? rest : [first, ...rest];
  let transport = await openHost(first, options, inner.length === 0 ? { cwd, ahead } : { ahead: true });
  for (const [at, hop] of inner.entries()) {
    const isLast = at === inner.length - 1;
    transport = await openInner(hop, { base: transport, ...(isLast ? { cwd, ahead } : { ahead: true }), signal });
  }
  return transport;
}

/** Takes over `base` and closes it on failure. */
async function openInner(hop: Hop, options: InnerOptions): Promise<Transport> {
  switch (hop.kind) {
    case "container":
      return (await import("./container.ts")).ContainerTransport.open({
        name: hop.name,
        engine: hop.engine,
        ...options,
      });
    case "via":
      return (await import("./via.ts")).ViaTransport.open({ argv: hop.argv, ...options });
    case "ssh":
      await options.base[Symbol.asyncDispose]();
      throw new BuddyError("usage", `ssh ${hop.destination} must come first: it cannot follow another step`, {
        hint: "Reach a host behind another one with ProxyJump in ~/.ssh/config.",
      });
  }
}

async function openHost(
  first: Hop | undefined,
  options: TransportOptions,
  { cwd, ahead }: Pick<InnerOptions, "cwd" | "ahead">,
): Promise<Transport> {
  if (first?.kind !== "ssh") {
    checkEntry(cwd ?? currentDirectory());
    return new LocalTransport({ cwd });
  }
  const [{ SshTransport }, { canAsk }] = await Promise.all([import("./ssh.ts"), import("../../lib/terminal.ts")]);
  return await SshTransport.open({
    destination: first.destination,
    args: first.args,
    frugal: options.frugal === true,
    ahead: ahead === true && options.frugal !== true,
    interactive: options.interactive !== false && canAsk(),
    cwd,
    signal: options.signal,
  });
}

/** No program can be started in a directory that may not be entered. A missing one is reported where it is used. */
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
