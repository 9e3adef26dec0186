import { describe, expect, test } from "bun:test";
import { words } from "../../../src/lib/text.ts";
import { parseAddress, parseNetwork } from "../../../src/policy/web/addresses.ts";
import { judgeUrl, namesHost, type UrlRules } from "../../../src/policy/web/urls.ts";

const OPEN: UrlRules = { allow: [], deny: [] };
const PUBLIC = "93.184.216.34";

async function judge(url: string, rules: Partial<UrlRules> = {}, addresses?: readonly string[]): Promise<string> {
  const verdict = await judgeUrl(url, { ...OPEN, ...rules }, addresses && (() => Promise.resolve(addresses)));
  return verdict.kind;
}

const LOOPBACK_SPELLINGS = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "2130706433",
  "017700000001",
  "0x7f000001",
  "0x7f.0.0.1",
  "0x7f.1",
  "0177.0.0.1",
  "127.0.0.1.",
  "127.8.9.10",
  "%31%32%37.0.0.1",
  "①②⑦.⓪.⓪.①",
  "１２７.0.0.1",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "0x0",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[::ffff:0:7f00:1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[2001:db8::5efe:7f00:1]",
  "[2a00::5efe:127.0.0.1]",
  "[2a00::200:5efe:10.0.0.1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "localhost..",
  "a.localhost",
  "a.b.localhost.",
  "ｌocalhost",
  "localhost.localdomain",
  "localhost6",
  "ip6-localhost",
  "ip6-loopback",
  "127.0.0.1.nip.io",
  "x.10-0-0-1.sslip.io",
  "7f000001.nip.io",
  "localtest.me",
  "a.lvh.me",
];

test.each([
  ...LOOPBACK_SPELLINGS.map((host) => `http://${host}/`),
  ...[
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "169.254.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "100.100.100.200",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "0.1.2.3",
    "168.63.129.16",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fd12::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[4000::1]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::808:808]",
    "[2002:808:808::1]",
  ].map((host) => `https://${host}/x`),
  ...[
    "metadata.google.internal",
    "metadata",
    "router",
    "intranet",
    "printer.local",
    "db.internal",
    "x.home.arpa",
    "nas.lan",
    "host.docker.internal",
    "1.0.0.127.in-addr.arpa",
  ].map((host) => `http://${host}/`),
  "http://134744072/",
  "http://0x08080808/",
  "http://8.8.2056/",
  "http://010.8.8.8/",
  "http://8.8.8.8./",
  "http://ex%61mple.com/",
  "http://ｅxample.com/",
  "http://exam\u00adple.com/",
  "http://example。com/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "data:text/html,x",
  "gopher://example.com/",
  "ws://example.com/",
  "blob:https://example.com/x",
  "about:blank",
  "unix:/x",
  "HTTPX://example.com/",
  "http://user@example.com/",
  "http://@example.com/",
  "http://example.com\\@127.0.0.1/",
  "http:\\\\example.com\\x",
  "http://exam\tple.com/",
  "ht\ntp://example.com/",
  "http://user:pass@example.com/",
  "http://:pass@example.com/",
  "http://example.com@127.0.0.1/",
  "http://127.0.0.1#@example.com/",
  "http://127.0.0.1\\@example.com/",
  "http://example.com:0/",
  "http://example.com:22/",
  "http://example.com:25/",
  "http://example.com:6379/",
  "http://example.com:99999/",
  "",
  " ",
  "example.com",
  "//example.com/",
  "/path",
  "http://",
  "http:///",
  "http://a..b/",
  "http://.example.com/",
  "http://[fe80::1%25eth0]/",
  "http://[::1",
  "http://256.1.1.1/",
  "http://1.2.3.4.5/",
  "http://foo.0x7f/",
  "http:\\\\127.0.0.1\\x",
  "http:/127.0.0.1/",
  "http:127.0.0.1",
  "ht\ttp://127.0.0.1/",
  "\u0000http://127.0.0.1/",
  "http://\t127.0.0.1/",
  `http://example.com/${"x".repeat(9000)}`,
])("%j is refused", async (url) => {
  expect(await judge(url)).toBe("deny");
});

test.each([
  "http://example.com/",
  "https://example.com",
  "HTTPS://EXAMPLE.COM/a?b#c",
  "https://example.com:8443/",
  "http://example.com./x",
  "https://münchen.de/",
  "https://xn--mnchen-3ya.de/",
  "https://例え.jp/",
  "https://8.8.8.8/",
  "http://1.1.1.1:8080/",
  "https://[2606:4700:4700::1111]/",
  "https://[2a00:1450:4001:80f::200e]/",
  "https://a_b.example.com/",
  "https://localhost.example.com/",
  "https://mylocalhost.com/",
  "https://internal.example.com/",
  "https://10.example.com/",
  "https://127.0.0.1.example.com/",
  "https://8.8.8.8.nip.io/",
  "https://www.home.com/",
  "https://172.32.0.1/",
  "https://100.63.255.255/",
  "https://11.0.0.1/",
  "https://example.com/?u=http://127.0.0.1/",
  "https://example.com/?a\\b",
  "https://example.com/@user/x",
  "  https://example.com/\n",
])("%j is fine", async (url) => {
  expect(await judge(url)).toBe("allow");
});

test("every address of a name counts", async () => {
  const url = "https://api.example/";
  expect(await judge(url, {}, [PUBLIC])).toBe("allow");
  expect(await judge(url, {}, [PUBLIC, "2606:4700::1"])).toBe("allow");
  for (const bad of [
    "127.0.0.1",
    "10.0.0.1",
    "::1",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "169.254.169.254",
    "0.0.0.0",
    "nonsense",
    "",
    "1.2.3",
    "010.0.0.1",
  ]) {
    expect([bad, await judge(url, {}, [PUBLIC, bad])]).toEqual([bad, "deny"]);
    expect([bad, await judge(url, {}, [bad, PUBLIC])]).toEqual([bad, "deny"]);
  }
  expect(await judge(url, {}, [])).toBe("deny");
});

describe("lists of hosts", () => {
  const allow = words("example.com *.wild.org localhost 10.0.0.0/8 [fd00::1] https://sub.url.net:8443/x MÜNCHEN.de");
  const deny = words("bad.example.com 8.8.0.0/16 *.ads.net");

  test.each(
    words(`https://example.com/ https://a.b.EXAMPLE.com./ https://x.wild.org/ http://localhost:8080/ http://10.1.2.3/
      http://[fd00::1]/ https://sub.url.net/ https://xn--mnchen-3ya.de/ http://0x0a000001/`),
  )("%s is on the list, whichever way it is written", async (url) => {
    expect(await judge(url, { allow })).toBe("allow");
  });

  test.each(
    words(`https://notexample.com/ https://example.com.evil.org/ https://example.org/ https://wild.org/ http://127.0.0.1/
      http://[fd00::2]/ https://8.8.8.8/ https://url.net/ https://u:p@example.com/`),
  )("%s is not on it: a list of allowed hosts is exclusive", async (url) => {
    expect(await judge(url, { allow })).toBe("deny");
  });

  test("a listed network opens private addresses, if all addresses of a name are in it", async () => {
    expect(await judge("https://db.example.com/", { allow }, ["10.0.0.5"])).toBe("allow");
    expect(await judge("https://other.org/", { allow }, ["10.0.0.5"])).toBe("allow");
    expect(await judge("https://other.org/", { allow }, ["10.0.0.5", PUBLIC])).toBe("deny");
    expect(await judge("https://other.org/", { allow }, ["192.168.0.1"])).toBe("deny");
  });

  test("deny comes before allow, for names, networks and subdomains", async () => {
    expect(await judge("https://bad.example.com/", { allow, deny })).toBe("deny");
    expect(await judge("https://x.bad.example.com./", { allow, deny })).toBe("deny");
    expect(await judge("https://good.example.com/", { allow, deny })).toBe("allow");
    expect(await judge("https://8.8.8.8/", { deny })).toBe("deny");
    expect(await judge("https://x.org/", { deny }, ["8.8.8.8"])).toBe("deny");
    expect(await judge("https://ads.net/", { deny })).toBe("allow");
  });

  test("* allows every host, and no other kind of URL; an entry that is not a host allows nothing", async () => {
    expect(await judge("http://127.0.0.1/", { allow: ["*"] })).toBe("allow");
    expect(await judge("file:///etc/passwd", { allow: ["*"] })).toBe("deny");
    expect(await judge("https://example.com/", { allow: ["", "not a host/%"] })).toBe("deny");
  });
});

test("reasons name the host and what is wrong with it, on one visible line", async () => {
  const why = async (url: string, addresses?: string[]) =>
    (await judgeUrl(url, OPEN, addresses && (async () => addresses))).why;
  expect(await why("http://169.254.169.254/latest/")).toBe("169.254.169.254 is a cloud metadata address");
  expect(await why("https://x.example/", ["10.0.0.1"])).toBe("x.example resolves to 10.0.0.1, a private address");
  expect(await why("http://[::ffff:10.0.0.1]/")).toContain("inside an IPv6");
  expect(await why("x\x1b]0;evil\x07:y")).not.toContain("\x1b");
});

test("addresses and networks are read strictly", () => {
  for (const text of [
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "256.0.0.1",
    "1:2:3",
    "::1::",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8:9",
    "g::",
    ":1",
    "1:",
    "::1.2.3",
    "::%1",
    " 1.2.3.4",
    "12345::",
  ])
    expect([text, parseAddress(text)]).toEqual([text, undefined]);
  expect(parseAddress("::ffff:1.2.3.4")?.value).toBe(0xffff01020304n);
  expect(parseAddress("1:2:3:4:5:6:7:8")?.value).toBe(0x00010002000300040005000600070008n);
  for (const text of ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::/129", "x/8", "10.0.0.0/-1"])
    expect([text, parseNetwork(text)]).toEqual([text, undefined]);
});

test("a refused IPv4 address is refused inside an IPv6 one too, whatever is allowed", async () => {
  const rules = { allow: ["b.example"], deny: ["6.6.6.6"] };
  for (const address of ["6.6.6.6", "::ffff:6.6.6.6", "64:ff9b::606:606", "2002:606:606::1"])
    expect((await judgeUrl("http://b.example/", rules, async () => [address])).kind).toBe("deny");
  expect((await judgeUrl("http://b.example/", rules, async () => ["::ffff:6.6.6.7"])).kind).toBe("allow");
});

test.each([
  ["look at example.com", "https://example.com/x", true],
  ["ask WWW.Example.com.", "https://example.com/", true],
  ["read https://get.example.com/install.sh", "https://get.example.com/y", true],
  ["compare https://readme.md/a", "https://readme.md/", true],
  ["log in to deploy@web1.example.com", "https://web1.example.com/", true],
  ["fetch http://[2600::1]/", "http://[2600::1]/", true],
  // Files that a model could find a host for.
  ["fix install.sh", "https://install.sh/?d=1", false],
  ["summarise README.md and main.tf, please", "https://readme.md/?d=1", false],
  ["summarise README.md and main.tf, please", "https://main.tf/", false],
  ["why does network.target hang?", "https://network.target/", false],
  ["@notes.zip", "https://notes.zip/", false],
  ["read https://get.example.com/evil.com", "https://evil.com/", false],
  ["see docs/evil.com", "https://evil.com/", false],
  ["look at example.com", "https://a.example.com/", false],
  ["look at bücher.de", "https://xn--bcher-kva.de/", true],
  ["look at bücher.de", "https://cher.de/", false],
])("%j names the host of %s: %p", (prompt, url, named) => {
  expect(namesHost(prompt, url)).toBe(named);
});
