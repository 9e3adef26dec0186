/** `[user@]host[:port]` as people write it, checked before ssh gets it. */
import { BuddyError } from "../../lib/errors.ts";
import { quote, quoteAll } from "../../lib/quote.ts";
import { defined } from "../../lib/values.ts";

export interface SshDestination {
  readonly user?: string;
  readonly host: string;
  readonly port?: number;
  /** As written, without ssh://. */
  readonly text: string;
  readonly args?: readonly string[];
}

/** Of a hop, or as written. */
export function destinationOf(
  hop: string | { readonly destination: string; readonly args?: readonly string[] | undefined },
): SshDestination {
  if (typeof hop === "string") return parseDestination(hop);
  return { ...parseDestination(hop.destination), ...defined({ args: hop.args }) };
}

export function parseDestination(written: string): SshDestination {
  const text = written.startsWith("ssh://") ? written.slice("ssh://".length).replace(/\/$/, "") : written;
  const at = text.lastIndexOf("@");
  const user = at < 0 ? undefined : text.slice(0, at);
  const { host, port } = splitPort(text.slice(at + 1), written);
  if (user === "" || host === "") throw refusal(written, "the host or the user is empty");
  // ssh would read these as options, or pass them to a shell (ProxyCommand with %h or %r).
  if (host.startsWith("-") || user?.startsWith("-")) throw refusal(written, "it begins with a dash");
  if (/[^A-Za-z0-9._:%\-\u0080-\uffff]/.test(host))
    throw refusal(written, "the host has characters that a host name cannot have");
  if (user !== undefined && /[\s\p{Cc}'"`$\\;&<>|(){}]/u.test(user))
    throw refusal(written, "the user has characters that a user name cannot have");
  return { host, text, ...defined({ user, port }) };
}

/** The text that `parseDestination` reads as these. */
export function destinationText(of: {
  readonly user?: string | undefined;
  readonly host: string;
  readonly port?: number | string | undefined;
}): string {
  const { user, host, port } = of;
  const address = port === undefined ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return user === undefined ? address : `${user}@${address}`;
}

/** What follows `ssh` on a command line to reach it: ssh itself does not read [::1]:2222. */
export function sshArguments({ user, host, port, args = [] }: SshDestination): string {
  const flags = port === undefined ? [] : ["-p", String(port)];
  return quoteAll([...flags, ...args, user === undefined ? host : `${user}@${host}`]);
}

/** The same for a program that is started without a shell. */
export function sshWords({ user, host, port, args = [] }: SshDestination): string[] {
  const flags = port === undefined ? [] : ["-p", String(port)];
  if (user !== undefined) flags.push("-l", user);
  // ssh uses the first of two values.
  return [...flags, ...args, "--", host];
}

/** Its name in known_hosts. */
export function knownHostsName({ host, port = 22 }: SshDestination): string {
  return quote(port === 22 ? host : `[${host}]:${port}`);
}

function splitPort(text: string, written: string): { host: string; port?: number } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  const plain = /^([^:]*):([^:]*)$/.exec(text);
  // Two colons and no brackets: an IPv6 address without a port.
  const [, host = text, digits] = bracketed ?? plain ?? [];
  if (digits === undefined) return { host };
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port < 1 || port > 65_535) throw refusal(written, `${JSON.stringify(digits)} is not a port`);
  return { host, port };
}

function refusal(written: string, why: string): BuddyError {
  return new BuddyError("usage", `${JSON.stringify(written)} is not a valid host: ${why}`, {
    hint: "Write [user@]host[:port], [user@][ipv6]:port, or a Host of ~/.ssh/config.",
  });
}
