/** Deleting stored data: databases, volumes, cluster and cloud stores (templates/dangers/data.txt), also by SQL. */
import table from "../../../../templates/dangers/data.txt" with { type: "text" };
import { once } from "../../../lib/values.ts";
import { fileChanges, type LocatedChange, redirected } from "../../effects/file-changes.ts";
import { programName, readable } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import type { Write } from "../syntax/redirections.ts";
import { type Danger, DangerTable, knownWords, ListedFiles, matches } from "./danger.ts";

export function dataDanger(found: FoundCommand, cwd: string | undefined): Danger | undefined {
  const does = deletingUse(found) ?? storeOf(fileChanges(found), cwd);
  return does === undefined ? undefined : deletesData(does);
}

/** `> FILE` without a command. */
export function overwrittenStore(writes: readonly Write[], cwd: string | undefined): Danger | undefined {
  const does = storeOf(writes.map(redirected), cwd);
  return does === undefined ? undefined : deletesData(does);
}

/** `does` ends the sentence “it …”. */
export function deletesData(does: string): Danger {
  return {
    check: "data",
    why: `it ${does}`,
    instead: "List what it would delete, and let the operator delete it by hand.",
  };
}

function deletingUse({ argv, input }: FoundCommand): string | undefined {
  const rows = dataTable().of(programName(argv[0]?.value ?? ""));
  if (rows.length === 0) return undefined;
  const args = argv.slice(1).map(({ value }) => value);
  const known = knownWords(args);
  return rows.find((one) => {
    if (one.reader === undefined) return matches(one, known);
    const deletes = READERS[one.reader];
    return deletes !== undefined && textsOf(args, input).some(deletes);
  })?.words;
}

/** What is removed with all that is below it, or emptied. */
function storeOf(changes: readonly LocatedChange[], cwd: string | undefined): string | undefined {
  for (const { does, field, narrowed = false, directories } of changes) {
    if (does !== "removes" && does !== "empties") continue;
    const whole = does === "removes" && !narrowed;
    const store = stores().named(field.value, { directories, cwd, whole });
    if (store !== undefined) return `${store.words} (${readable(store.path)})`;
  }
  return undefined;
}

const stores = once(() => new ListedFiles(dataTable()));

export const dataTable = once(() => new DangerTable(table));

/** Arguments, values written in one word with their option, and the literal input. */
function textsOf(args: readonly string[], input: string | undefined): string[] {
  const glued = args.flatMap((arg) => /^(?:--[\w-]+=|-[A-Za-z])([^]+)$/.exec(arg)?.[1] ?? []);
  return [...args, ...glued, ...(input === undefined ? [] : [input])];
}

const READERS: Readonly<Record<string, (text: string) => boolean>> = {
  SQL: sqlDeletes,
  MONGO: mongoDeletes,
  REDIS: redisDeletes,
};

/** DROP, TRUNCATE, DELETE and UPDATE without a condition, and deleting logs, outside of quotes and comments. */
function sqlDeletes(text: string): boolean {
  if (!/drop|truncate|delete|update|purge|reset/i.test(text)) return false;
  const readings = [WITH_ESCAPES, WITHOUT_ESCAPES].map((quoted) => withoutQuoted(text, quoted));
  // EXECUTE and PREPARE run quoted text.
  if (/\b(?:execute|prepare)\b/i.test(text)) readings.push(text.replaceAll("'", " ; "));
  return readings.some((reading) => reading.split(";").some(deletes));
}

function deletes(statement: string): boolean {
  if (DROPS.test(statement) || TRUNCATES.test(statement) || LOGS.test(statement)) return true;
  const [, rest] = SQL_REMOVES.exec(statement) ?? [];
  if (rest === undefined) return false;
  const condition = /\bwhere\b([^]*)$/i.exec(rest)?.[1];
  return condition === undefined || condition.split(/\bor\b/i).some((one) => ALWAYS.test(one));
}

/** Not a column named drop. U+FDD2 is text that only the running shell knows. */
const DROPS = /\bdrop\s+(?!(?:from|as|is|in|and|or|order|group|where|not|like|asc|desc|limit)\b)[\w"`[\uFDD2]/i;
const BEFORE = String.raw`(?:^|\(|\balter\s+table\s+\S+(?:\s+on\s+cluster\s+\S+)?|\b(?:begin|then|else|do|loop|explain|analyze)\b|\$\w*\$|\*/)\s*`;
const TRUNCATES = new RegExp(`${BEFORE}truncate\\s+[\\w"\`[\\uFDD2]`, "i");
const SQL_REMOVES = new RegExp(
  `${BEFORE}(?:delete\\s+|update\\s+(?=\\S+\\s+(?:as\\s+\\S+\\s+|\\w+\\s+)?set\\b))([^]*)$`,
  "i",
);
const LOGS = /\breset\s+(?:master|binary\s+logs)\b|\bpurge\s+(?:binary|master)\s+logs\b|\bpg_drop_replication_slot\b/i;
/** A condition that is always true: a number, or the same on both sides. */
const ALWAYS =
  /^[\s(]*(?:true|not\s+(?:false|0)|[1-9]\d*|([\w.]+)\s*(?:[=<>]=|=|\bis\b|\blike\b)\s*\1|''\s*=\s*'')[\s)]*(?:\breturning\b[^]*)?$/i;

/** MySQL reads \' as a quote inside of a text, the standard does not: both readings are checked. */
const WITH_ESCAPES = /'(?:[^'\\]|\\[^]|'')*'|"(?:[^"\\]|\\[^])*"|--(?=\s|$)[^\n]*|\/\*!\d*|\/\*[^]*?\*\//g;
const WITHOUT_ESCAPES = /'(?:[^']|'')*'|"[^"]*"|--(?=\s|$)[^\n]*|\/\*!\d*|\/\*[^]*?\*\//g;

/** Removes quoted texts and comments. Dollar quotes (DO blocks) and the hints of MySQL stay: they are run. */
function withoutQuoted(text: string, quoted: RegExp): string {
  return text.replace(quoted, (found) => (found.startsWith("'") ? "''" : found.startsWith('"') ? '"x"' : " "));
}

function mongoDeletes(text: string): boolean {
  return MONGO.test(text);
}

const MONGO =
  /\bdropDatabase\b|\.\s*(?:drop|dropCollection)\s*\(|\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*[,)]|\))|\bdrop["']?\s*:\s*["']/;

function redisDeletes(text: string): boolean {
  return /(?:^|[^\w-])flush(?:all|db)(?![\w-])|(?:^|\n)\s*(?:del|unlink)\s+\S/i.test(text);
}
