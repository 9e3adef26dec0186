/** IP addresses as numbers: which are public, and which networks contain them. */
export function notPublic(address: Address): string | undefined {
  return address.family === 4 ? notPublic4(address.value) : notPublic6(address.value);
}

export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface Network extends Address {
  readonly bits: number;
}

/** Plain dotted decimal, or any RFC 4291 text form, without brackets and zone. */
export function parseAddress(text: string): Address | undefined {
  const value4 = parse4(text);
  if (value4 !== undefined) return { family: 4, value: value4 };
  const value6 = parse6(text);
  return value6 === undefined ? undefined : { family: 6, value: value6 };
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. */
export function parseNetwork(text: string): Network | undefined {
  const [base = "", length, ...rest] = text.split("/");
  const address = parseAddress(base.replace(/^\[(.*)\]$/, "$1"));
  if (address === undefined || rest.length > 0) return undefined;
  const most = address.family === 4 ? 32 : 128;
  if (length === undefined) return { ...address, bits: most };
  if (!/^\d{1,3}$/.test(length) || Number(length) > most) return undefined;
  return { ...address, bits: Number(length) };
}

export function contains(network: Network, address: Address): boolean {
  if (network.family !== address.family) return false;
  const shift = BigInt((network.family === 4 ? 32 : 128) - network.bits);
  return network.value >> shift === address.value >> shift;
}

/** The IPv4 address inside an IPv6 one. */
export function innerAddress(address: Address): Address | undefined {
  if (address.family === 4) return undefined;
  const shift = CARRIERS.find(([network]) => contains(network, address))?.[1];
  return shift === undefined ? undefined : { family: 4, value: (address.value >> shift) & 0xffffffffn };
}

function parse4(text: string): bigint | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return undefined;
  const bytes = match.slice(1).map(Number);
  // Some programs read 010 as ten, others as eight.
  if (bytes.some((byte) => byte > 255) || match.slice(1).some((part) => part.length > 1 && part.startsWith("0"))) {
    return undefined;
  }
  return bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function parse6(text: string): bigint | undefined {
  const dotted = /^(.*:)([0-9.]+)$/.exec(text);
  let groups = text;
  if (dotted?.[2]?.includes(".") === true) {
    const low = parse4(dotted[2]);
    if (low === undefined) return undefined;
    groups = `${dotted[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  }
  const halves = groups.split("::");
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...left, ...Array.from({ length: missing }, () => "0"), ...right];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return all.reduce((sum, group) => sum * 65536n + BigInt(Number.parseInt(group, 16)), 0n);
}

function notPublic4(value: bigint): string | undefined {
  return RESERVED_4.find(([network]) => contains(network, { family: 4, value }))?.[1];
}

/** Only 2000::/3 is public, and not all of it; any address with an IPv4 address inside is refused. */
function notPublic6(value: bigint): string | undefined {
  const known = RESERVED_6.find(([network]) => contains(network, { family: 6, value }))?.[1];
  if (known !== undefined) return known;
  if (value >> 125n !== 1n) return "a reserved IPv6 address";
  // ISATAP: …:0:5efe:a.b.c.d or …:200:5efe:a.b.c.d
  const marker = (value >> 32n) & 0xffffffffn;
  return marker === 0x5efen || marker === 0x02005efen ? "an IPv4 address inside an IPv6 one (ISATAP)" : undefined;
}

function table(rows: readonly (readonly [network: string, what: string])[]): readonly (readonly [Network, string])[] {
  return rows.map(([text, what]) => {
    const network = parseNetwork(text);
    if (network === undefined) throw new Error(`not a network: ${text}`);
    return [network, what];
  });
}

const CARRIERS = table([
  ["::ffff:0:0/96", "mapped"],
  ["::ffff:0:0:0/96", "translated"],
  ["::/96", "compatible"],
  ["64:ff9b::/96", "NAT64"],
  ["2002::/16", "6to4"],
]).map(([network, what]) => [network, what === "6to4" ? 80n : 0n] as const);

const RESERVED_4 = table([
  ["169.254.169.254/32", "a cloud metadata address"],
  ["169.254.170.2/32", "a cloud metadata address"],
  ["100.100.100.200/32", "a cloud metadata address"],
  ["192.0.0.192/32", "a cloud metadata address"],
  ["168.63.129.16/32", "a cloud metadata address"],
  ["0.0.0.0/8", "an address of this network (0.0.0.0/8)"],
  ["10.0.0.0/8", "a private address"],
  ["100.64.0.0/10", "a carrier-grade NAT address"],
  ["127.0.0.0/8", "a loopback address"],
  ["169.254.0.0/16", "a link-local address"],
  ["172.16.0.0/12", "a private address"],
  ["192.0.0.0/24", "a reserved address"],
  ["192.0.2.0/24", "a documentation address"],
  ["192.31.196.0/24", "a reserved address"],
  ["192.52.193.0/24", "a reserved address"],
  ["192.88.99.0/24", "a 6to4 relay address"],
  ["192.168.0.0/16", "a private address"],
  ["192.175.48.0/24", "a reserved address"],
  ["198.18.0.0/15", "a benchmarking address"],
  ["198.51.100.0/24", "a documentation address"],
  ["203.0.113.0/24", "a documentation address"],
  ["224.0.0.0/4", "a multicast address"],
  ["255.255.255.255/32", "the broadcast address"],
  ["240.0.0.0/4", "a reserved address"],
]);

const RESERVED_6 = table([
  ["fd00:ec2::254/128", "a cloud metadata address"],
  ["fd20:ce::254/128", "a cloud metadata address"],
  ["::/128", "the unspecified address"],
  ["::1/128", "a loopback address"],
  ["::ffff:0:0/96", "an IPv4 address inside an IPv6 one (mapped)"],
  ["::ffff:0:0:0/96", "an IPv4 address inside an IPv6 one (translated)"],
  ["::/96", "an IPv4 address inside an IPv6 one (compatible)"],
  ["64:ff9b::/96", "an IPv4 address inside an IPv6 one (NAT64)"],
  ["64:ff9b:1::/48", "an IPv4 address inside an IPv6 one (NAT64)"],
  ["100::/64", "a discard-only address"],
  ["2001::/32", "an IPv4 address inside an IPv6 one (Teredo)"],
  ["2001::/23", "a reserved address"],
  ["2001:db8::/32", "a documentation address"],
  ["2002::/16", "an IPv4 address inside an IPv6 one (6to4)"],
  ["2620:4f:8000::/48", "a reserved address"],
  ["3fff::/20", "a documentation address"],
  ["3ffe::/16", "a reserved address"],
  ["5f00::/16", "a reserved address"],
  ["fc00::/7", "a private (unique local) address"],
  ["fe80::/10", "a link-local address"],
  ["fec0::/10", "a private (site-local) address"],
  ["ff00::/8", "a multicast address"],
]);
