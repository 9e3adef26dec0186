/** Fetched addresses: whatever is written, nothing is allowed that leads inside. */
import { notPublic, parseAddress } from "../../src/policy/web/addresses.ts";
import { judgeUrl } from "../../src/policy/web/urls.ts";
import type { Property } from "./property.ts";

const OPEN = { allow: [], deny: [] };
const HOSTS = [
  "127.0.0.1",
  "10.0.0.1",
  "localhost",
  "[::1]",
  "169.254.169.254",
  "example.com",
  "8.8.8.8",
  "[::ffff:127.0.0.1]",
  "0x7f.1",
  "2130706433",
  "192.168.0.1",
  "[fd00::1]",
  "metadata.google.internal",
  "u@",
];
const BITS = [
  ..."htps:/\\?#@.[]%0189abxfX \t\n\r\0;&=-_~",
  "http://",
  "https://",
  "%00",
  "%2e",
  "。",
  "．",
  "１",
  "ⅰ",
  "\u00ad",
  "\u200b",
  "ß",
  "İ",
  "::",
  "::ffff:",
  "0x",
  "0177",
  "\ud800",
  ...HOSTS,
];

/** Addresses that are not public, from which other spellings are made. */
const INSIDE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.9", "100.64.0.1", "0.0.0.0"];

/** The address as one to four numbers, each decimal, octal or hexadecimal, in odd digits, or inside an IPv6 address. */
function spelled(address: string, pick: (limit: number) => number): string {
  const bytes = address.split(".").map(Number);
  const parts = 1 + pick(4);
  const head = bytes.slice(0, parts - 1);
  const tail = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  const number = (value: number): string =>
    [String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`, `0X${value.toString(16).toUpperCase()}`][
      pick(4)
    ]!;
  const dot = [".", "。", "．", "%2e"][pick(4)]!;
  const plain = [...head, tail].map(number).join(dot);
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const groups = `${hex.slice(0, 4)}:${hex.slice(4)}`;
  const forms = [
    plain,
    `${plain}.`,
    plain.replace(/\d/g, (digit) => (pick(2) === 0 ? digit : String.fromCodePoint(0xff10 + Number(digit)))),
    `[::ffff:${address}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[2002:${groups}::1]`,
    `[::ffff:${groups}]`,
    `[0:0:0:0:0:ffff:${groups}]`,
  ];
  return forms[pick(forms.length)]!;
}

export const URLS: readonly Property[] = [
  {
    name: "no text makes it fail, and nothing is allowed whose parsed host is not public",
    usual: 60_000,
    make: (random) =>
      (random.below(3) > 0 ? random.of(["http://", "https://", "HTTP:", "http:\\\\", " http:/"]) : "") +
      random.text(BITS, 8),
    wrong: allowedInside,
  },
  {
    name: "an address that is not public is refused in every spelling",
    usual: 20_000,
    make(random) {
      const host = spelled(random.of(INSIDE), (limit) => random.below(limit));
      const port = random.below(3) === 0 ? `:${1 + random.below(65_535)}` : "";
      return `${random.of(["http:", "https:", "HTTP:"])}//${host}${port}/${random.text(BITS, 3)}`;
    },
    async wrong(text) {
      const verdict = await judgeUrl(text, OPEN);
      return verdict.kind === "deny" ? undefined : `allowed: ${verdict.url.href}`;
    },
  },
  {
    name: "one address that is not public among the answers for a name is enough",
    usual: 20_000,
    make: (random) =>
      Array.from({ length: 1 + random.below(4) }, () => [1, 2, 3, 4].map(() => random.below(256)).join(".")).join(" "),
    async wrong(text) {
      const addresses = text.split(" ");
      if (!addresses.every((one) => parseAddress(one)?.family === 4)) return undefined;
      const inside = addresses.some((one) => notPublic(parseAddress(one) ?? { family: 4, value: 0n }) !== undefined);
      for (const url of ["https://h.example.org:8443/a", " \thttps://h.example.org:8443/a\n"])
        for (const answers of [addresses, addresses.toReversed()]) {
          const { kind } = await judgeUrl(url, OPEN, () => Promise.resolve(answers));
          if ((kind === "deny") !== inside) return `${kind} with ${answers.join(", ")}`;
        }
      return undefined;
    },
  },
];

async function allowedInside(text: string): Promise<string | undefined> {
  const verdict = await judgeUrl(text, OPEN);
  if (verdict.kind === "deny") return undefined;
  const { url } = verdict;
  const address = parseAddress(url.hostname.replace(/^\[|\]$/g, ""));
  const bad =
    !/^https?:$/.test(url.protocol) ||
    url.username !== "" ||
    url.password !== "" ||
    (address !== undefined && notPublic(address) !== undefined) ||
    /(?:^|\.)localhost\.*$/.test(url.hostname);
  return bad ? `allowed: ${url.href}` : undefined;
}
