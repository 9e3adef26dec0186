/** Colours one line of code at a time, for the languages operators meet; unknown ones stay plain. */
import { once } from "../../lib/values.ts";
import type { Theme } from "../theme.ts";

/** `state` is what a line leaves open: the end of a block comment, string or here-document; "" when nothing is. */
export function highlight(
  line: string,
  language: string,
  state: string,
  style: Theme,
): { text: string; state: string } {
  if (!style.color || line.length > 2000) return { text: line, state: "" };
  const grammar = grammars()[grammarOf().get(language) ?? language];
  if (grammar === undefined) return { text: line, state: "" };
  if (grammar.line !== undefined) return { text: grammar.line(line, style), state: "" };
  let out = "";
  let rest = line;
  let open = state;
  if (open !== "") {
    const end = rest.indexOf(open);
    if (end < 0) return { text: style.string(rest), state: open };
    out += style.string(rest.slice(0, end + open.length));
    rest = rest.slice(end + open.length);
    open = "";
  }
  while (rest !== "") {
    const token = nextToken(rest, out === "" && state === "", grammar);
    const text = rest.slice(0, token.length);
    out += token.kind === "plain" ? text : style[token.kind](text);
    rest = rest.slice(token.length);
    if (token.open !== undefined) open = token.open;
  }
  return { text: out, state: open };
}

interface Grammar {
  readonly keywords?: ReadonlySet<string>;
  /** Begins a comment that ends with the line. */
  readonly comment?: RegExp;
  /** Begins and ends of strings and comments that may span lines. */
  readonly spans?: readonly (readonly [string, string])[];
  readonly quotes?: string;
  readonly variable?: RegExp;
  readonly name?: RegExp;
  readonly line?: (line: string, style: Theme) => string;
}

interface Token {
  readonly kind: "plain" | "keyword" | "string" | "number" | "comment" | "name";
  readonly length: number;
  readonly open?: string;
}

function nextToken(rest: string, first: boolean, grammar: Grammar): Token {
  const comment = grammar.comment?.exec(rest);
  if (comment?.index === 0) return { kind: "comment", length: rest.length };
  for (const [begin, end] of grammar.spans ?? []) {
    if (!rest.startsWith(begin)) continue;
    const close = rest.indexOf(end, begin.length);
    if (close < 0) return { kind: "string", length: rest.length, open: end };
    return { kind: begin.startsWith("/") || begin.startsWith("<") ? "comment" : "string", length: close + end.length };
  }
  const variable = grammar.variable?.exec(rest);
  if (variable?.index === 0) return { kind: "name", length: variable[0].length };
  const character = rest[0]!;
  if (grammar.quotes?.includes(character)) {
    const match = new RegExp(`^${character}(?:\\\\.|[^\\\\${character}])*${character}?`).exec(rest)!;
    return { kind: "string", length: match[0].length };
  }
  if (first) {
    const name = grammar.name?.exec(rest);
    if (name?.index === 0) return { kind: "name", length: name[0].length };
  }
  const word = /^[A-Za-z_][\w-]*/.exec(rest);
  if (word !== null) {
    const text = word[0];
    if (grammar.keywords?.has(text)) return { kind: "keyword", length: text.length };
    const short = /^\w+/.exec(text)![0];
    return { kind: grammar.keywords?.has(short) ? "keyword" : "plain", length: short.length };
  }
  const number = /^\d[\w.]*/.exec(rest);
  if (number !== null) return { kind: "number", length: number[0].length };
  const space = /^\s+/.exec(rest);
  // A comment sign counts only after a blank: the two are separate tokens.
  if (space !== null) return { kind: "plain", length: space[0].length };
  return { kind: "plain", length: character.length };
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const C_LIKE = { comment: /^\/\//, spans: [["/*", "*/"]] as const, quotes: `"'` };

function diffLine(line: string, style: Theme): string {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return style.bold(line);
  if (line.startsWith("@@")) return style.number(line);
  if (line.startsWith("+")) return style.added(line);
  return line.startsWith("-") ? style.removed(line) : line;
}

const grammars = once((): Readonly<Record<string, Grammar>> => ({
  shell: {
    comment: /^#/,
    quotes: `"'`,
    variable: /^\$(\{[^}]*\}|[\w@#?*!$-]+)/,
    keywords: words(
      "if then else elif fi for while until do done case esac in function select time return exit export local readonly declare set unset source sudo cd echo trap eval exec shift break continue",
    ),
  },
  javascript: {
    ...C_LIKE,
    spans: [
      ["/*", "*/"],
      ["`", "`"],
    ],
    keywords: words(
      "const let var function return if else for while do switch case default break continue new class extends import export from as async await yield try catch finally throw typeof instanceof in of this super null undefined true false interface type enum implements readonly public private protected static void never string number boolean any unknown",
    ),
  },
  python: {
    comment: /^#/,
    spans: [
      ['"""', '"""'],
      ["'''", "'''"],
    ],
    quotes: `"'`,
    variable: /^@[\w.]+/,
    keywords: words(
      "def class return if elif else for while in not and or is None True False import from as with try except finally raise pass break continue lambda yield global nonlocal async await assert del match case self",
    ),
  },
  go: {
    ...C_LIKE,
    spans: [
      ["/*", "*/"],
      ["`", "`"],
    ],
    keywords: words(
      "package import func return if else for range switch case default break continue go defer chan select struct interface map type var const nil true false string int int64 error bool byte",
    ),
  },
  rust: {
    ...C_LIKE,
    quotes: `"`,
    keywords: words(
      "fn let mut pub use mod struct enum impl trait for in if else match while loop return break continue as ref self Self crate super where async await move dyn const static unsafe true false Some None Ok Err String str u8 u32 u64 i32 i64 usize bool",
    ),
  },
  c: {
    ...C_LIKE,
    variable: /^#\s*\w+/,
    keywords: words(
      "int char long short unsigned signed float double void bool struct union enum typedef static const extern return if else for while do switch case default break continue sizeof goto class public private protected virtual override new delete namespace using template typename this try catch throw true false null nullptr final import package extends implements interface var val fun let func guard string",
    ),
  },
  sql: {
    comment: /^--/,
    quotes: `'"`,
    spans: [["/*", "*/"]],
    keywords: words(
      "select from where and or not insert into values update set delete create table index view drop alter add primary key foreign references join left right inner outer on group by order having limit offset as distinct union all null is in like between case when then else end begin commit rollback with explain analyze SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX VIEW DROP ALTER ADD PRIMARY KEY FOREIGN REFERENCES JOIN LEFT RIGHT INNER OUTER ON GROUP BY ORDER HAVING LIMIT OFFSET AS DISTINCT UNION ALL NULL IS IN LIKE BETWEEN CASE WHEN THEN ELSE END BEGIN COMMIT ROLLBACK WITH EXPLAIN ANALYZE",
    ),
  },
  config: {
    comment: /^[#;]/,
    quotes: `"'`,
    name: /^\s*(- )?[\w."'-]+(?=\s*[:=])|^\s*\[+[^\]]*\]+/,
    variable: /^\$\{[^}]*\}|^\$\w+/,
    keywords: words("true false null yes no on off"),
  },
  json: { quotes: `"`, variable: /^"(?:\\.|[^"\\])*"(?=\s*:)/, keywords: words("true false null") },
  dockerfile: {
    comment: /^#/,
    quotes: `"'`,
    variable: /^\$(\{[^}]*\}|\w+)/,
    keywords: words(
      "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD HEALTHCHECK SHELL AS",
    ),
  },
  ruby: {
    comment: /^#/,
    quotes: `"'`,
    variable: /^[@:][A-Za-z_]\w*/,
    keywords: words(
      "def end class module if elsif else unless while until for in do begin rescue ensure return yield require include attr_accessor nil true false self puts then case when and or not",
    ),
  },
  markup: { spans: [["<!--", "-->"]], quotes: `"`, variable: /^<\/?[\w:-]+|^\/?>/ },
  diff: { line: diffLine },
}));

/** Other names of a grammar. */
const ALIASES: Readonly<Record<string, string>> = {
  shell: "sh bash zsh fish console shell-session",
  javascript: "ts typescript tsx js jsx mjs",
  python: "py python3",
  go: "golang",
  rust: "rs",
  c: "cpp c++ h java kotlin csharp cs swift php",
  sql: "postgresql mysql",
  config: "yaml yml toml ini conf nginx properties hcl terraform systemd service env makefile",
  json: "jsonc json5",
  dockerfile: "docker",
  ruby: "rb",
  markup: "html xml svg",
  diff: "patch",
};
const grammarOf = once(
  () => new Map(Object.entries(ALIASES).flatMap(([grammar, names]) => names.split(" ").map((name) => [name, grammar]))),
);
