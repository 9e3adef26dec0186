/** Which URLs may be fetched: decided on the parsed URL, its host name, and every address of that name. */
import { words } from "../../lib/text.ts";
import { asItLooks } from "../screen/invisible.ts";
import { showLine } from "../screen/terminal-text.ts";
import {
  type Address,
  contains,
  innerAddress,
  type Network,
  notPublic,
  parseAddress,
  parseNetwork,
} from "./addresses.ts";

export interface UrlRules {
  /** fetch_allowed_domains: if not empty, nothing else is fetched, and listed hosts may be private. */
  readonly allow: readonly string[];
  /** fetch_blocked_domains: takes precedence. */
  readonly deny: readonly string[];
}

export type UrlVerdict =
  /** `host` is a name, or an address without brackets; `addresses` have been checked, empty if nothing was resolved. */
  | {
      readonly kind: "allow";
      readonly why: string;
      readonly url: URL;
      readonly host: string;
      readonly addresses: readonly string[];
    }
  | { readonly kind: "deny"; readonly why: string };

/** From a name to its addresses; empty if the name does not exist. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Judges a URL and every address of its name. Without `resolve` the name alone is judged. */
export async function judgeUrl(text: string, rules: UrlRules, resolve?: Resolve): Promise<UrlVerdict> {
  const lists = { allow: new DomainList(rules.allow), deny: new DomainList(rules.deny) };
  const byName = judgeName(text, lists);
  if (byName.kind === "deny" || parseAddress(byName.host) !== undefined) return byName;
  if (resolve === undefined) {
    const listed = lists.allow.empty || lists.allow.hasName(byName.host);
    return listed ? byName : unlisted(byName.host);
  }
  const addresses = await resolve(byName.host);
  return judgeAddresses(byName, addresses, lists);
}

interface Lists {
  readonly allow: DomainList;
  readonly deny: DomainList;
}

function judgeName(given: string, lists: Lists): UrlVerdict {
  const text = trimmed(given);
  if (text.length > MAX_URL) return deny(`the URL is longer than ${MAX_URL} characters`);
  const url = URL.parse(text);
  if (url === null) return deny("this is not a complete URL (https://host/path)");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return deny(`only http and https are fetched, not ${showLine(url.protocol)}`);
  if (url.username !== "" || url.password !== "" || authorityOf(text).includes("@"))
    return deny("a URL with a user name or password is not fetched");
  if (url.port !== "" && REFUSED_PORTS.has(Number(url.port)))
    return deny(`port ${url.port} belongs to another protocol and is never used for web pages`);
  const host = bareHost(url);
  const shown = showLine(host);
  if (host === "" || host.includes("..") || host.startsWith(".")) return deny("the host name is not valid");
  const address = parseAddress(host);
  if (lists.deny.hasName(host) || (address !== undefined && lists.deny.reaches(address)))
    return deny(`${shown} is in fetch_blocked_domains`);
  const listed = lists.allow.hasName(host) || (address !== undefined && lists.allow.hasAddress(address));
  const allowed: UrlVerdict = {
    kind: "allow",
    why: listed
      ? `${shown} is in fetch_allowed_domains`
      : `${shown} is a public name; its addresses are checked when it is fetched`,
    url,
    host,
    addresses: address === undefined ? [] : [host],
  };
  if (listed) return allowed;
  const reason = address === undefined ? localName(host) : notPublic(address);
  if (reason !== undefined) return deny(`${shown} is ${reason}`);
  if (oddlyWritten(text, url)) return deny(`the host ${shown} is written in a disguised form; write it plainly`);
  if (address === undefined) return allowed;
  return lists.allow.empty ? { ...allowed, why: `${shown} is a public address` } : unlisted(shown);
}

function judgeAddresses(byName: UrlVerdict & { kind: "allow" }, texts: readonly string[], lists: Lists): UrlVerdict {
  const { host } = byName;
  if (texts.length === 0) return deny(`${host} does not resolve to an address`);
  const nameListed = lists.allow.hasName(host);
  let everyAddressListed = true;
  for (const text of texts) {
    const address = parseAddress(text);
    const shown = showLine(text);
    if (address === undefined) return deny(`${host} resolves to ${shown}, which is not an address`);
    if (lists.deny.reaches(address)) return deny(`${host} resolves to ${shown}, which is in fetch_blocked_domains`);
    const listed = lists.allow.hasAddress(address);
    everyAddressListed &&= listed;
    const reason = nameListed || listed ? undefined : notPublic(address);
    if (reason !== undefined) return deny(`${host} resolves to ${shown}, ${reason}`);
  }
  if (!lists.allow.empty && !nameListed && !everyAddressListed) return unlisted(host);
  const why = lists.allow.empty ? `${host} resolves to public addresses only` : `${host} is in fetch_allowed_domains`;
  return { ...byName, why, addresses: texts };
}

function unlisted(host: string): UrlVerdict {
  return deny(`${showLine(host)} is not in fetch_allowed_domains`);
}

function deny(why: string): UrlVerdict {
  return { kind: "deny", why };
}

/** Names of this machine or the local network, whatever a name server answers. */
function localName(host: string): string | undefined {
  if (LOOPBACK_NAME.test(host)) return "a name of this machine";
  if (METADATA_NAME.test(host)) return "a cloud metadata service";
  if (!host.includes(".")) return "a name of the local network";
  if (LOCAL_SUFFIX.test(host)) return "a name of the local network";
  const embedded = EMBEDDED.exec(host)?.[1];
  const address = embedded === undefined ? undefined : embeddedAddress(embedded);
  return address === undefined ? undefined : notPublic(address);
}

function embeddedAddress(text: string): Address | undefined {
  if (/^[0-9a-f]{8}$/.test(text)) return { family: 4, value: BigInt(`0x${text}`) };
  return parseAddress(text.replaceAll("-", "."));
}

const LOOPBACK_NAME =
  /^(?:(?:.+\.)?localhost(?:[46]|\.localdomain[46]?)?|localhost[46]?\.localdomain[46]?|ip6-(?:localhost|loopback|localnet|mcastprefix|allnodes|allrouters|allhosts)|loopback|broadcasthost|(?:.+\.)?(?:localtest\.me|lvh\.me|vcap\.me|lacolhost\.com))$/;
const METADATA_NAME =
  /^(?:(?:.+\.)?metadata(?:\.google)?\.internal|metadata|metadata\.goog|instance-data|metadata\.(?:azure|tencentyun|packet)\..+)$/;
const LOCAL_SUFFIX =
  /\.(?:local|localdomain|localnet|internal|svc|consul|intranet|lan|home|corp|private|home\.arpa|in-addr\.arpa|ip6\.arpa)$/;
/** DNS services that resolve to the address in the name. */
const EMBEDDED = /(?:^|[.-])(\d{1,3}(?:[.-]\d{1,3}){3}|[0-9a-f]{8})\.(?:nip|sslip|xip)\.io$/;

const MAX_URL = 8192;

/** Without the white space around it, as the URL parser reads it. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) <= 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  return text.slice(start, end);
}

/** The part between `//` and the path, as it was written. */
function authorityOf(text: string): string {
  return /^https?:[\\/]*([^\\/?#]*)/i.exec(text)?.[1] ?? "";
}

/**
 * The host has percent-encoding, full-width letters or invisible characters, or is an address in octal, hex or short
 * form; or the URL has backslashes or control characters, which other programs read differently.
 */
function oddlyWritten(text: string, url: URL): boolean {
  if (/[\x00-\x1f\x7f]/.test(text) || /^[^?#]*\\/.test(text)) return true;
  const host = authorityOf(text).replace(/:\d*$/, "");
  if (host.startsWith("[")) return false;
  if (parseAddress(url.hostname) !== undefined) return host !== url.hostname;
  return /[%\u3002\uff61]/.test(host) || asItLooks(host) !== host.normalize("NFC");
}

/** Ports that browsers refuse, and those of two databases: a server there may take a GET for another protocol. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
]);

/** A list of hosts: names that cover their subdomains, `*.name` for the subdomains alone, addresses and networks. */
class DomainList {
  readonly #names: string[] = [];
  readonly #below: string[] = [];
  readonly #networks: Network[] = [];
  #everything = false;
  readonly empty: boolean;

  constructor(entries: readonly string[]) {
    this.empty = entries.every((entry) => entry.trim() === "");
    for (const entry of entries) this.#add(entry.trim().toLowerCase());
  }

  hasName(host: string): boolean {
    if (this.#everything) return true;
    return (
      this.#names.some((name) => host === name || host.endsWith(`.${name}`)) ||
      this.#below.some((name) => host.endsWith(`.${name}`))
    );
  }

  hasAddress(address: Address): boolean {
    return this.#everything || this.#networks.some((network) => contains(network, address));
  }

  /** Also checks the IPv4 address inside an IPv6 one. */
  reaches(address: Address): boolean {
    const inner = innerAddress(address);
    return this.hasAddress(address) || (inner !== undefined && this.hasAddress(inner));
  }

  #add(entry: string): void {
    if (entry === "") return;
    if (entry === "*") {
      this.#everything = true;
      return;
    }
    const network = parseNetwork(entry);
    if (network !== undefined) {
      this.#networks.push(network);
      return;
    }
    const below = entry.startsWith("*.");
    const host = canonicalHost(below ? entry.slice(2) : entry.replace(/^\.+/, ""));
    if (host === undefined) return;
    const address = parseAddress(host);
    if (address !== undefined) this.#networks.push({ ...address, bits: address.family === 4 ? 32 : 128 });
    else (below ? this.#below : this.#names).push(host);
  }
}

/** Whether the host of a URL is in a list such as fetch_allowed_domains. */
export function isListedHost(url: string, entries: readonly string[]): boolean {
  const parsed = URL.parse(url);
  if (parsed === null || entries.length === 0) return false;
  const list = new DomainList(entries);
  const host = bareHost(parsed);
  const address = parseAddress(host);
  return list.hasName(host) || (address !== undefined && list.hasAddress(address));
}

/**
 * Whether a text names the host of a URL: as the host of a URL in it, or as a separate word, not as a part of a path. A
 * word that may be a file (`README.md`, `install.sh`) must be written as a URL.
 */
export function namesHost(text: string, url: string): boolean {
  const parsed = URL.parse(url);
  if (parsed === null) return false;
  const host = bareHost(parsed);
  const bare = host.replace(/^www\./, "");
  // Letters of any script: `cher.de` is not a name in `bücher.de`.
  const names = /(:\/\/|^|[^\p{L}\p{M}\p{N}._-])((?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]+|\[[0-9a-f:.]+\])/gu;
  return [...text.toLowerCase().matchAll(names)].some(([, before = "", named = ""]) => {
    const inUrl = before === "://";
    if (!inUrl && (/[/\\]/.test(before) || FILE_ENDINGS.has(named.slice(named.lastIndexOf(".") + 1)))) return false;
    return canonicalHost(named)?.replace(/^www\./, "") === bare;
  });
}

/** Top-level domains that are also file extensions. */
const FILE_ENDINGS: ReadonlySet<string> = new Set(
  words(
    "am as bz cab cc cl cr dot foo gd in info la map md mk ml mm mo mov ms new page pics pl pm properties ps pt pub " +
      "py rs run sc sh so st style sv target tc tf vi ws zip",
  ),
);

/** The host as the URL parser writes it, without brackets and final dots; entries may have a scheme, port or path. */
function canonicalHost(text: string): string | undefined {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//.test(text) ? text : `http://${text}`);
  return url === null || url.hostname === "" ? undefined : bareHost(url);
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.+$/, "");
}
