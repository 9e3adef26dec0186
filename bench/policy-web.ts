/** Speed of what every foreign text and page passes: the terminal filter, redaction, URL verdicts, HTML to text. */
import { redactor } from "../src/lib/secrets/redact.ts";
import { dumpsSecret } from "../src/policy/privacy/dumped-secrets.ts";
import { Privacy } from "../src/policy/privacy/privacy.ts";
import { showText } from "../src/policy/screen/terminal-text.ts";
import { judgeUrl } from "../src/policy/web/urls.ts";
import { htmlText } from "../src/tools/page/html-text.ts";
import { figure } from "./support/figures.ts";

const MB = 1024 * 1024;
const TIMES = 5;

async function measure(name: string, unit: string, amount: number, work: () => unknown): Promise<void> {
  await work();
  const rates: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const started = performance.now();
    await work();
    rates.push((amount / (performance.now() - started)) * 1000);
  }
  figure(name, rates, `${unit} a second`);
}

const plain = `${"plain output of a build, eighty columns wide, as most of it is ".padEnd(79, ".")}\n`.repeat(50_000);
const colored = "\x1b[32m✓\x1b[0m some test passed \x1b[90m(12 ms)\x1b[0m 漢字\n".repeat(60_000);
const hostile = "\x1b]52;c;AAAA\x07\u202e\u200b\r".repeat(100_000);
for (const [name, text] of Object.entries({ plain, colored, hostile }))
  await measure(`terminal text, ${name}`, "MB", text.length / MB, () => showText(text, { color: true }));

const redact = redactor(["0123456789abcdef0123456789abcdef"]);
await measure("redaction, plain", "MB", plain.length / MB, () => redact(plain));

const log = [
  "Nov 16 14:07:10 web1 sshd[4711]: Accepted publickey for deploy from 10.0.0.7 port 50022 ssh2: ED25519",
  "2026-11-16T14:07:10Z INFO [http] GET /api/v1/users?id=42 200 12ms request_id=9f8e7d6c-1234-4abc-9def-001122334455",
  "drwxr-xr-x  2 root root 4096 Nov 16 14:07 node_modules/some-package/dist/token-store/index.js",
  "",
].join("\n");
const settings = `db:\n  host: db.internal\n  user: shop\n  password: ${"s3cr3t"}-${"a1b2c3"}\n  pool: 10\n`;
const source = (await Bun.file(new URL("../src/policy/shell/judge.ts", import.meta.url)).text()).repeat(200);
const samples = { plain, log: log.repeat(12_000), source, settings: settings.repeat(50_000) };
for (const [name, text] of Object.entries(samples)) {
  const privacy = new Privacy({ mask: true, own: () => ["0123456789abcdef0123456789abcdef"] });
  privacy.dumpsSecret = dumpsSecret;
  for (let n = 0; n < 50; n++) privacy.mask(`token=${n}x8Wq2Zt6Yp0Lk4Nv9Bx${n}`, { from: "bench" });
  await measure(`masking, ${name}`, "MB", text.length / MB, () => privacy.mask(text, { from: "bench" }));
}

const urls = ["https://example.com/a?b=c", "http://2130706433/", "https://[2606:4700::1]/", "http://u:p@x.test/"];
await measure("URL verdicts", "verdicts", 40_000, async () => {
  for (let i = 0; i < 40_000; i++) await judgeUrl(urls[i % urls.length] ?? "", { allow: [], deny: [] });
});

const page = "<div><p>Hello <b>world</b> &amp; <a href='/x?y=1&amp;z'>link</a><ul><li>one<li>two</ul></div>".repeat(
  55_000,
);
await measure("HTML to text", "MB", page.length / MB, () => htmlText(page, "https://x.test/"));
