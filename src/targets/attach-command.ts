/** The command an operator types to watch the pane of a place; none where a step has no form for a terminal. */
import { parseDestination, sshArguments } from "./connection/ssh-destination.ts";
import { quote, quoteAll } from "../lib/quote.ts";
import type { TargetOptions, Transport } from "./target.ts";

export function attachCommand(options: TargetOptions, session: string, transport: Transport): string | undefined {
  const socket = tmuxSocket(options, transport);
  let command = `tmux ${socket === "" ? "" : `-L ${quote(socket)} `}attach -t ${quote(session)}`;
  let at: Transport | undefined = transport;
  for (const hop of options.place.path.toReversed()) {
    if (hop.kind === "ssh") command = `ssh -t ${sshArguments(parseDestination(hop.destination))} ${forShell(command)}`;
    else if (hop.kind === "container") command = `${engineOf(at)} exec -it ${quote(hop.name)} ${command}`;
    else if (hop.attach === undefined) return undefined;
    else command = `${quoteAll(hop.attach)} ${command}`;
    at = (at as { base?: Transport } | undefined)?.base;
  }
  return command;
}

/**
 * Name of the tmux server (-L). Behind `via` each command has its own: a server that was started outside of its
 * namespaces, or with another environment, may listen at the same place.
 */
export function tmuxSocket(options: Pick<TargetOptions, "tmuxSocket">, transport: Transport): string {
  if (transport.kind !== "via") return options.tmuxSocket;
  return `${options.tmuxSocket || "buddy"}-${(transport as Transport & { surroundings: string }).surroundings}`;
}

/** ssh hands its words to another shell, which reads quotes once more. */
function forShell(command: string): string {
  return /['"\\]/.test(command) ? quote(command) : command;
}

/** The command that found the container: docker or podman. */
function engineOf(transport: Transport | undefined): string {
  const { container } = (transport ?? {}) as { container?: { command?: string } };
  return container?.command?.split("/").at(-1) ?? "docker";
}
