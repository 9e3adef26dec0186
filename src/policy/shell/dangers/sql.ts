/** Texts given to database programs: what in them deletes data. */

/** DROP, TRUNCATE, DELETE and UPDATE without a condition, and logs thrown away, outside of quotes and comments. */
export function sqlDeletes(text: string): boolean {
  if (!/drop|truncate|delete|update|purge|reset/i.test(text)) return false;
  const readings = [WITH_ESCAPES, WITHOUT_ESCAPES].map((quoted) => withoutQuoted(text, quoted));
  // A text that is executed may be a quoted one.
  if (/\b(?:execute|prepare)\b/i.test(text)) readings.push(text.replaceAll("'", " ; "));
  return readings.some((reading) => reading.split(";").some(deletes));
}

function deletes(statement: string): boolean {
  if (DROPS.test(statement) || TRUNCATES.test(statement) || LOGS.test(statement)) return true;
  const [, rest] = REMOVES.exec(statement) ?? [];
  if (rest === undefined) return false;
  const condition = /\bwhere\b([^]*)$/i.exec(rest)?.[1];
  return condition === undefined || condition.split(/\bor\b/i).some((one) => ALWAYS.test(one));
}

/** Not a column of that name. U+FDD2 stands for text that only the running shell knows. */
const DROPS = /\bdrop\s+(?!(?:from|as|is|in|and|or|order|group|where|not|like|asc|desc|limit)\b)[\w"`[\uFDD2]/i;
const BEFORE = String.raw`(?:^|\(|\balter\s+table\s+\S+(?:\s+on\s+cluster\s+\S+)?|\b(?:begin|then|else|do|loop|explain|analyze)\b|\$\w*\$|\*/)\s*`;
const TRUNCATES = new RegExp(`${BEFORE}truncate\\s+[\\w"\`[\\uFDD2]`, "i");
const REMOVES = new RegExp(
  `${BEFORE}(?:delete\\s+|update\\s+(?=\\S+\\s+(?:as\\s+\\S+\\s+|\\w+\\s+)?set\\b))([^]*)$`,
  "i",
);
const LOGS = /\breset\s+(?:master|binary\s+logs)\b|\bpurge\s+(?:binary|master)\s+logs\b|\bpg_drop_replication_slot\b/i;
/** A number, or the same on both sides. */
const ALWAYS =
  /^[\s(]*(?:true|not\s+(?:false|0)|[1-9]\d*|([\w.]+)\s*(?:[=<>]=|=|\bis\b|\blike\b)\s*\1|''\s*=\s*'')[\s)]*(?:\breturning\b[^]*)?$/i;

/** MySQL reads \' as a quote inside of a text, the standard does not: both readings count. */
const WITH_ESCAPES = /'(?:[^'\\]|\\[^]|'')*'|"(?:[^"\\]|\\[^])*"|--(?=\s|$)[^\n]*|\/\*!\d*|\/\*[^]*?\*\//g;
const WITHOUT_ESCAPES = /'(?:[^']|'')*'|"[^"]*"|--(?=\s|$)[^\n]*|\/\*!\d*|\/\*[^]*?\*\//g;

/** Without quoted texts and comments. Dollar quotes stay: a DO block runs them; so does what stands in a MySQL hint. */
function withoutQuoted(text: string, quoted: RegExp): string {
  return text.replace(quoted, (found) => (found.startsWith("'") ? "''" : found.startsWith('"') ? '"x"' : " "));
}

export function mongoDeletes(text: string): boolean {
  return MONGO.test(text);
}

const MONGO =
  /\bdropDatabase\b|\.\s*(?:drop|dropCollection)\s*\(|\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*[,)]|\))|\bdrop["']?\s*:\s*["']/;

export function redisDeletes(text: string): boolean {
  return /(?:^|[^\w-])flush(?:all|db)(?![\w-])|(?:^|\n)\s*(?:del|unlink)\s+\S/i.test(text);
}
