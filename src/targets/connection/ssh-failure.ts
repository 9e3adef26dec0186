/** Turns what ssh printed when it could not connect into an error that says what to do, and whether to try again. */
import type { BuddyError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { ConnectionDropped, ConnectionLost, LoginRefused } from "../errors.ts";
import { knownHostsName, sshArguments, type SshDestination } from "./ssh-destination.ts";

type Row = readonly [pattern: RegExp, message: string, hint: string, passing?: "passing" | "dropped"];

/** First match wins. NAME: the destination; SAID: the line of ssh that matched; ARGS: the arguments for ssh. */
const ROWS: readonly Row[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|POSSIBLE DNS SPOOFING|host key for .* has changed/i,
    "the host key of NAME has changed: it may be another machine, or an attack",
    "Find out why first. If the machine was reinstalled: ssh-keygen KEY, then connect once with ssh ARGS.",
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
    /account (?:has|is) expired|account is (?:locked|disabled)|not permitted to log in/i,
    "NAME refused the login: SAID",
    "Ask the administrator of that machine.",
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
  [/Bad owner|config\S*:? line \d+: /i, "ssh does not accept its configuration: SAID", "Correct that file."],
  [
    /no matching (?:host key type|cipher|key exchange|mac)/i,
    "NAME and this ssh have no method in common: SAID",
    "See Ciphers, KexAlgorithms, HostKeyAlgorithms in ssh_config(5).",
  ],
];

/** How ssh names a connection through a ProxyJump or ProxyCommand. */
const PROXIED = /UNKNOWN port 65535/;
const OWN_WORDS = /UNKNOWN port 65535|^kex_exchange_identification: Connection closed/;
const OWN_LINE = /^(?:kex_|ssh_|debug\d|Connection |client_loop|Bad packet|banner exchange)/;
/** Why a key was not used; printed before the login is refused. */
const UNUSED_KEY = /^(?:Permissions \d+ for .* are too open|Load key |no such identity: |sign_and_send_pubkey: )/i;

/** Whether the error message of a proxy is missing: ssh drops it with ControlPersist. */
export function lacksProxyWords(said: string): boolean {
  const lines = linesOf(said);
  return PROXIED.test(said) && lines.every((line) => OWN_WORDS.test(line) && !/timed out/i.test(line));
}

export function sshFailure(said: string, destination: SshDestination): BuddyError {
  const lines = linesOf(said);
  const words = lines.filter((line) => !OWN_WORDS.test(line));
  if (words.length > 0 && PROXIED.test(said)) return proxyFailure(words, destination);
  for (const [pattern, message, hint, passing] of ROWS) {
    const line = lines.findLast((one) => pattern.test(one));
    if (line === undefined) continue;
    const more = passing === "dropped" ? saidBefore(lines, line) : passing === undefined ? unusedKey(lines) : "";
    const changed = /host key for (\S+) has changed/i.exec(said)?.[1];
    // Not every key is in ~/.ssh/known_hosts.
    const file = /^Offending .*key in (.+):\d+$/im.exec(lines.join("\n"))?.[1];
    const fill = (text: string) =>
      text
        .replace("SAID", () => line.replace(/^ssh: /, "") + more)
        .replaceAll("NAME", () => destination.text)
        .replaceAll("ARGS", () => sshArguments(destination))
        .replace("KEY", () => {
          const host = changed === undefined ? knownHostsName(destination) : quote(changed);
          return `${file === undefined ? "" : `-f ${quote(file)} `}-R ${host}`;
        });
    const Kind = passing === undefined ? LoginRefused : passing === "dropped" ? ConnectionDropped : ConnectionLost;
    return new Kind("target", fill(message), { hint: fill(hint) });
  }
  const last = lines.slice(-2).join("; ") || "ssh gave no reason";
  return new LoginRefused("target", `ssh cannot connect to ${destination.text}: ${last}`, {
    hint: `Try ssh -v ${sshArguments(destination)} to see more.`,
  });
}

function linesOf(said: string): string[] {
  return said
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("Warning: Permanently added"));
}

function unusedKey(lines: readonly string[]): string {
  const unused = lines.findLast((one) => UNUSED_KEY.test(one));
  return unused === undefined ? "" : ` (${unused})`;
}

/** A machine that refuses all logins prints the reason before: an expired account, maintenance. */
function saidBefore(lines: readonly string[], line: string): string {
  const greeting = lines.slice(0, lines.lastIndexOf(line)).findLast((one) => !OWN_LINE.test(one));
  return greeting === undefined ? "" : `; it said before: ${greeting}`;
}

/** `words`: what the ssh of the jump host, or another proxy, printed. */
function proxyFailure(words: readonly string[], destination: SshDestination): BuddyError {
  const known = ROWS.find(([pattern]) => words.some((one) => pattern.test(one)));
  const line = words.findLast((one) => known?.[0].test(one) ?? true) ?? "";
  const Kind = known === undefined || known[3] === undefined ? LoginRefused : ConnectionLost;
  const message = `the jump host or proxy command on the way to ${destination.text} failed: ${line.replace(/^ssh: /, "")}`;
  return new Kind("target", message, {
    hint: `Check ProxyJump and ProxyCommand in ~/.ssh/config; ssh -v ${sshArguments(destination)} shows more.`,
  });
}
