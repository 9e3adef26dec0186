/** A list of hosts: names that cover their subdomains, `*.name` for the subdomains alone, addresses and networks. */
import { words } from "../../lib/text.ts";
import { type Address, type Network, contains, innerAddress, parseAddress, parseNetwork } from "./addresses.ts";

export class DomainList {
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

export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.+$/, "");
}
