/** Speed of what every foreign text and page passes: the terminal filter, redaction, URL verdicts, HTML to text. */
import { redactor } from "../src/lib/redact.ts";
import { showText } from "../src/policy/terminal-text.ts";
import { judgeUrl } from "../src/policy/urls.ts";
import { htmlText } from "../src/tools/page/html-text.ts";

const MB = 1024 * 1024;
const rows: string[][] = [];

async function measure(name: string, unit: string, amount: number, work: () => unknown): Promise<void> {
  await work();
  const started = performance.now();
  await work();
  const ms = performance.now() - started;
  rows.push([name, `${ms.toFixed(0)} ms`, `${((amount / ms) * 1000).toFixed(0)} ${unit}/s`]);
}

const plain = `${"plain output of a build, eighty columns wide, as most of it is ".padEnd(79, ".")}\n`.repeat(50_000);
const colored = "\x1b[32m✓\x1b[0m some test passed \x1b[90m(12 ms)\x1b[0m 漢字\n".repeat(60_000);
const hostile = "\x1b]52;c;AAAA\x07\u202e\u200b\r".repeat(100_000);
for (const [name, text] of Object.entries({ plain, colored, hostile }))
  await measure(`terminal text, ${name}`, "MB", text.length / MB, () => showText(text, { color: true }));

const redact = redactor(["0123456789abcdef0123456789abcdef"]);
await measure("redaction, plain", "MB", plain.length / MB, () => redact(plain));

const urls = ["https://example.com/a?b=c", "http://2130706433/", "https://[2606:4700::1]/", "http://u:p@x.test/"];
await measure("URL verdicts", "verdicts", 40_000, async () => {
  for (let i = 0; i < 40_000; i++) await judgeUrl(urls[i % urls.length] ?? "", { allow: [], deny: [] });
});

const page = "<div><p>Hello <b>world</b> &amp; <a href='/x?y=1&amp;z'>link</a><ul><li>one<li>two</ul></div>".repeat(
  55_000,
);
await measure("HTML to text", "MB", page.length / MB, () => htmlText(page, "https://x.test/"));

for (const row of rows) console.log(row[0]?.padEnd(26), row[1]?.padStart(9), row[2]?.padStart(18));
