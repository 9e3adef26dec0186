import { expect, test } from "bun:test";
import { htmlText } from "../../../src/tools/page/html-text.ts";
import { limitNesting } from "../../../src/tools/page/html-shape.ts";
import { LONG, Seeded, cases } from "../../support/seeded.ts";

const text = async (html: string, url = "https://site.test/dir/page"): Promise<string> =>
  (await htmlText(html, url)).text;

test.each([
  ["<h1>One</h1><h2>Two<br>lines</h2><p>para</p><p>next</p>", "# One\n\n## Two lines\n\npara\n\nnext"],
  [
    "plain   text\n with <b>bold</b>,<i>it</i>&nbsp;&amp; &lt;entities&gt; caf&eacute; &#8364; &#x1F600;",
    "plain text with bold,it & <entities> café € 😀",
  ],
  [
    '<p>see <a href="/x?a=1&amp;b=2">a link</a>, <a href="rel">rel</a>.</p>',
    "see [a link](https://site.test/x?a=1&b=2), [rel](https://site.test/dir/rel).",
  ],
  ['<base href="https://other.test/b/"><a href="c">x</a>', "[x](https://other.test/b/c)"],
  [
    '<a href="#top">top</a> <a href="javascript:evil()">js</a> <a>none</a> <a href="https://e.com/">https://e.com/</a>',
    "top js none https://e.com/",
  ],
  [
    '<a href="/i" aria-label="Icon"><svg></svg></a><a href="/p(1)">p</a>',
    "[Icon](https://site.test/i)[p](https://site.test/p%281%29)",
  ],
  ['a<a href="x"> padded </a>b', "a [padded](https://site.test/dir/x) b"],
  ["<ul><li>one<li>two<ul><li>deep</ul><li><p>a</p><p>b</p></ul>", "- one\n- two\n  - deep\n- a\n\n  b"],
  ["<ol start=9><li>nine<li>ten</ol><ul><ul><li>odd</ul></ul>", "9. nine\n10. ten\n\n  - odd"],
  ["<dl><dt>Term<dd>Meaning</dd><div><dt>T2<dd>M2</div></dl>", "Term\n  Meaning\nT2\n  M2"],
  [
    '<pre><code class="language-ts">if (a &lt; b) {\n    x();\n}\n</code></pre>',
    "```ts\nif (a < b) {\n    x();\n}\n```",
  ],
  ["<pre>has ``` inside</pre>", "````\nhas ``` inside\n````"],
  ["Use <code>ls  -la</code>, <kbd>`</kbd>", "Use `ls -la`, `` ` ``"],
  [
    "<table><caption>Cap</caption><tr><th>A<th>B|C<tr><td>1<td><p>x</p><p>y</p><tr><td colspan=2>wide</table>",
    "Cap\n\n| A | B\\|C |\n| --- | --- |\n| 1 | x y |\n| wide |  |",
  ],
  ["<table><tr><td><table><tr><td>in<td>ner</table><td>right</table>", "| in | ner |\n| --- | --- |\n\nright"],
  ["<table><tr><td>only</td></tr><tr><td>column</td></tr></table>", "only\n\ncolumn"],
  ["<table><thead><tr><th>h<th>i</thead><tbody><tr><td>1<td>2</tbody></table>", "| h | i |\n| --- | --- |\n| 1 | 2 |"],
  ["<blockquote><p>q1</p><p>q2</p></blockquote><hr>", "> q1\n>\n> q2\n\n---"],
  ['<img src=x alt=" A  cat "><img src=y>', "[image: A cat]"],
  [
    "10<sup>9</sup> note<sup><a href=#n>[1]</a></sup> <q>quoted</q> <ruby>漢<rp>(</rp><rt>kan</rt></ruby>",
    "10^9 note[1] “quoted” 漢(kan)",
  ],
  ["so\u00adft zero\u200bwidth", "soft zerowidth"],
  [
    "<nav>menu</nav><script>var a='<p>x</p>'</script><style>p{}</style><p>text</p><footer>foot</footer><aside>ad</aside><template>t</template>",
    "text",
  ],
  [
    "<p>a<span hidden>b</span><span style='color:red; display : none'>c</span><span aria-hidden=true>d</span>e</p><div role=navigation>n</div>",
    "ae",
  ],
  ["<form action=/s><input value=v><select><option>o</select><button>Go</button>Search</form><p>x</p>", "x"],
  ["<form><h1>Page</h1><p>in a form</p><input></form>", "# Page\n\nin a form"],
  ['<a href="/card"><h3>Card</h3><p>Text</p></a>', "### [Card Text](https://site.test/card)"],
  [
    `<a href="/card"><p>${"long ".repeat(60)}</p></a>`,
    `${"long ".repeat(60).trim()}\n\n[link](https://site.test/card)`,
  ],
  ["<details><summary>More</summary>hidden part</details>", "More\n\nhidden part"],
  ["<p>unclosed <b>tags <p>and </i>stray < 5 & more", "unclosed tags\n\nand stray < 5 & more"],
  ["<noscript>needs scripts</noscript>", "needs scripts"],
  ["<!-- comment --><![CDATA[x]]><?php echo 1 ?>y", "y"],
  ["", ""],
])("%s", async (html, readable) => {
  expect(await text(html)).toBe(readable);
});

test("the title, and the main part of a page that has one", async () => {
  const filler = "Words of the article. ".repeat(20).trim();
  const page = `<html><head><title> My &amp;\n page </title></head><body><header>Site</header><main><h1>T</h1><p>${filler}</p></main><div>Related</div></body></html>`;
  expect(await htmlText(page, "https://x.test/")).toEqual({ title: "My & page", text: `# T\n\n${filler}` });
  expect(await text("<main></main><p>elsewhere</p>")).toBe("elsewhere");
});

test("hostile pages come to an end, with a result of bounded size", async () => {
  const pages = [
    "<div>",
    "<i></p>",
    "<svg><p>",
    "<blockquote>x\n",
    "<ul><li>x",
    "<a href=x>y",
    "<a b='",
    "<",
    "<!--",
    "<table><tr><td>",
    "<tr><td colspan=50>a",
    "<pre>`",
    "a<br>",
    "<dl><div>",
    "<sup>",
  ];
  for (const piece of pages) {
    const html = piece.repeat(Math.floor(200_000 / piece.length));
    expect((await text(html)).length).toBeLessThan(4 * html.length);
  }
});

test("limiting the nesting leaves ordinary pages as they are", () => {
  const page =
    "<!doctype html><p>a<br><img src='x>y'><script>'</div>'</script><!-- </div> --><div title=\"<div>\">b</div><textarea><b></textarea></p>";
  expect(limitNesting(page)).toBe(page);
  expect(limitNesting("a</i>b<b>c</b>")).toBe("ab<b>c</b>");
  expect(limitNesting("<div>".repeat(1000))).toBe("<div>".repeat(400));
  expect(limitNesting("a < b <3 <")).toBe("a < b <3 <");
});

test(
  "generated markup: no crash, no tag of a script, style or hidden part in the text",
  async () => {
    const random = new Seeded(0x4ea1);
    const bits = [
      "<p>",
      "</p>",
      "<a href='/x'>",
      "</a>",
      "<table>",
      "<tr>",
      "<td>",
      "</table>",
      "<ul>",
      "<li>",
      "</ul>",
      "<pre>",
      "</pre>",
      "<b",
      ">",
      "<h2>",
      "</h2>",
      "<form>",
      "</form>",
      "text ",
      "&amp;",
      "&#0;",
      "<!--x-->",
      "<div hidden>SECRET</div>",
      "<script>SECRET</script>",
      "<style>SECRET</style>",
      "<br>",
      "\n",
      "'",
      '"',
      "\u0000",
      "<body>",
      "<main>",
      "</main>",
    ];
    for (let i = 0; i < Math.min(cases(3000), 20_000); i++) {
      const html = `<p>${random.text(bits, 20)}`.replaceAll("<b<", "<b><");
      const { text: readable } = await htmlText(html, "https://x.test/");
      if (/<(?:script|style)\b/.test(readable)) throw new Error(`case ${i}: ${JSON.stringify({ html, readable })}`);
    }
  },
  LONG,
);
