/** What ssh printed when it could not connect, in words that say what to do, and whether another attempt may help. */
import type { BuddyError } from "../../lib/errors.ts";
import { ConnectionDropped, ConnectionLost, LoginRefused } from "../errors.ts";
import { knownHostsName, sshArguments, type SshDestination } from "./ssh-destination.ts";

type Row = readonly [pattern: RegExp, message: string, hint: string, passing?: "passing" | "dropped"];

/**
 * First match wins; NAME is the destination, SAID the line of ssh that matched, ARGS what follows `ssh` to get there.
 */
const ROWS: readonly Row[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|POSSIBLE DNS SPOOFING|host key for .* has changed/i,
    "the host key of NAME has changed: it may be another machine, or an attack",
    "Find out why first. If the machine was reinstalled: ssh-keygen -R HOST, then connect once with ssh ARGS.",
  ],
  [
    /Host key verification failed|No .* host key is known/i,
    "the host key of NAME is not known",
    "Connect once with ssh ARGS, compare the fingerprint and confirm it; buddy does not confirm for you.",
  ],
  [
    /Permission denied|Too many authentication failures|No supported authentication methods|Authentication failed/i,
    "NAME refused the login: SAID",
    "ssh ARGS must work without buddy: check user name and key (ssh-add -l; IdentityFile in ~/.ssh/config). buddy asks for a password, passphrase or second factor when it starts on a terminal, and after a drop with /reconnect.",
  ],
  [
    /Could not resolve hostname|Name or service not known|nodename nor servname|Temporary failure in name resolution/i,
    "NAME cannot be resolved: SAID",
    "Check the spelling, the VPN, and the Host entries of ~/.ssh/config.",
    "passing",
  ],
  [
    /Connection refused/i,
    "NAME refused the connection: SAID",
    "Check that sshd is running and listens on this port.",
    "passing",
  ],
  [
    /timed out|Connection timeout|banner exchange/i,
    "NAME does not answer: SAID",
    "Check address, port, VPN and firewall.",
    "passing",
  ],
  [
    /No route to host|Network is (?:unreachable|down)|Host is down/i,
    "NAME cannot be reached: SAID",
    "Check network and VPN.",
    "passing",
  ],
  [
    /Connection (?:reset|closed|to .* closed)|Broken pipe|kex_exchange_identification|Lost connection/i,
    "NAME closed the connection: SAID",
    "Its sshd may be overloaded, refuse this address (fail2ban, hosts.deny) or be restarting.",
    "dropped",
  ],
  [
    /Bad (?:owner|configuration)|bad configuration option|terminating, \d+ bad/i,
    "ssh does not accept its configuration: SAID",
    "Correct ~/.ssh/config.",
  ],
  [
    /no matching (?:host key type|cipher|key exchange|mac)/i,
    "NAME and this ssh have no method in common: SAID",
    "See Ciphers, KexAlgorithms, HostKeyAlgorithms in ssh_config(5).",
  ],
];

export function sshFailure(said: string, destination: SshDestination): BuddyError {
  const lines = said
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("Warning: Permanently added"));
  for (const [pattern, message, hint, passing] of ROWS) {
    const line = lines.findLast((one) => pattern.test(one));
    if (line === undefined) continue;
    const fill = (text: string) =>
      text
        .replace("SAID", () => line.replace(/^ssh: /, ""))
        .replaceAll("NAME", () => destination.text)
        .replaceAll("ARGS", () => sshArguments(destination))
        .replace("HOST", () => knownHostsName(destination));
    const Kind = passing === undefined ? LoginRefused : passing === "dropped" ? ConnectionDropped : ConnectionLost;
    return new Kind("target", fill(message), { hint: fill(hint) });
  }
  const last = lines.at(-1) ?? "ssh gave no reason";
  return new LoginRefused("target", `ssh cannot connect to ${destination.text}: ${last}`, {
    hint: `Try ssh -v ${sshArguments(destination)} to see more.`,
  });
}
