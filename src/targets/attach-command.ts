/** The command an operator types to watch the pane of a place; undefined if a hop has no form for a terminal. */
import { destinationOf, sshArguments } from "./connection/ssh-destination.ts";
import { quote, quoteAll } from "../lib/quote.ts";
import type { TargetOptions, Transport } from "./target.ts";

export function attachCommand(options: TargetOptions, session: string, transport: Transport): string | undefined {
  const socket = tmuxSocket(options, transport);
  let command = `tmux ${socket === "" ? "" : `-L ${quote(socket)} `}attach -t ${quote(session)}`;
  let at: Transport | undefined = transport;
  for (const hop of options.place.path.toReversed()) {
    if (hop.kind === "ssh") command = `ssh -t ${sshArguments(destinationOf(hop))} ${forShell(command)}`;
    else if (hop.kind === "container") command = `${engineOf(at)} exec -it ${quote(hop.name)} ${command}`;
    else if (hop.attach === undefined) return undefined;
    else command = `${quoteAll(hop.attach)} ${command}`;
    at = at?.base;
  }
  return command;
}

/**
 * Name of the tmux server (-L). Behind `via` each command has its own: a server outside of its namespaces, or with
 * another environment or priority, may listen at the same socket.
 */
export function tmuxSocket(options: Pick<TargetOptions, "tmuxSocket">, transport: Transport): string {
  const { surroundings } = transport;
  return surroundings === undefined ? options.tmuxSocket : `${options.tmuxSocket || "buddy"}-${surroundings}`;
}

/** ssh passes its words to another shell, which reads quotes once more. */
function forShell(command: string): string {
  return /['"\\]/.test(command) ? quote(command) : command;
}

/** docker or podman. */
function engineOf(transport: Transport | undefined): string {
  return transport?.engine?.split("/").at(-1) ?? "docker";
}
