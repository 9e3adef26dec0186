/**
 * SQL that only reads the state of a database server: `show …`, and `select` of system views with functions known to
 * change nothing.
 */
import { words } from "../../../lib/text.ts";

/** One statement of MySQL or PostgreSQL that shows the state of the server, not rows of the operator's tables. */
export function isSqlRead(text: string): boolean {
  const tokens = tokensOf(text.replace(/\s*(?:;|\\[gG])\s*$/, ""));
  switch (tokens?.[0]) {
    case "show":
      return isShow(tokens.slice(1));
    case "select":
      return isStateSelect(tokens) || isCount(tokens);
    case "describe":
    case "desc":
      return isName(tokens.slice(1));
    case "explain":
      return isName(tokens.slice(1)) || isExplained(tokens.slice(1));
    default:
      return false;
  }
}

/** The same, and the commands of psql that list objects. */
export function isPsqlRead(text: string): boolean {
  return /^\\(?:l|d[tuivsnxbpfgmST]?|conninfo|x|timing)[+S]*(?: [\w.*]+)?$/.test(text) || isSqlRead(text);
}

const TOKEN = /\s+|@@[\w.]+|[A-Za-z_]\w*|\d+(?:\.\d+)?|'[^'\\]*'|::|[<>!]=|<>|\|\||[-+*/%<>=.,()]/gy;

/** Undefined if it contains something unknown, such as comments, quoted names or a second statement. */
function tokensOf(text: string): string[] | undefined {
  if (/--|\/\*/.test(text)) return undefined;
  // Double quotes are strings in MySQL and names in PostgreSQL: allowed only after LIKE.
  const plain = text.replace(/\blike\s+"([\w%]*)"/gi, "like '$1'");
  const found = [...plain.matchAll(TOKEN)].map(([token]) => token);
  if (found.join("") !== plain) return undefined;
  return found.filter((token) => token.trim() !== "").map((token) => token.toLowerCase());
}

const SHOWN = new Set(
  words(`processlist databases schemas tables status variables slave replica replicas master binary engine engines plugins index
    indexes columns open table warnings errors events triggers charset collation`),
);
const SECRET_SETTING = /conninfo|passw|passphrase|secret|^all$/;

function isShow(tokens: readonly string[]): boolean {
  const rest = tokens.filter((token, at) => at > 1 || !/^(?:full|global|session)$/.test(token));
  const [first = "", second] = rest;
  if (!rest.every((token) => /^(?:[\w]+|'[^']*'|[.=%*])$/.test(token))) return false;
  if (SHOWN.has(first)) return true;
  if (first === "create") return /^(?:table|database|view)$/.test(second ?? "");
  return rest.length === 1 && /^[a-z_]+$/.test(first) && !SECRET_SETTING.test(first) && first !== "grants";
}

const isName = (tokens: readonly string[]) => /^[a-z_]\w*(?: \. [a-z_]\w*)*$/.test(tokens.join(" "));

/** Only how many rows a table has. */
function isCount(tokens: readonly string[]): boolean {
  return tokens.slice(0, 6).join(" ") === "select count ( * ) from" && isName(tokens.slice(6));
}

/** EXPLAIN does not run the statement; without parentheses there is no function to evaluate for the plan. */
function isExplained(tokens: readonly string[]): boolean {
  return tokens[0] === "select" && !tokens.some((token) => token === "(" || NEVER.has(token));
}

const FUNCTIONS = new Set(
  words(`count sum min max avg now version coalesce nullif ifnull round floor ceil abs greatest least length lower upper concat trim
    left right substr substring date_trunc extract age to_char cast format if row_number rank array_agg string_agg group_concat
    database schema user connection_id unix_timestamp timestampdiff pg_size_pretty pg_database_size pg_total_relation_size
    pg_relation_size pg_table_size pg_indexes_size pg_tablespace_size pg_is_in_recovery pg_last_wal_receive_lsn
    pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_current_wal_lsn pg_wal_lsn_diff pg_blocking_pids
    pg_postmaster_start_time pg_conf_load_time inet_server_addr inet_server_port current_database`),
);
/** Keywords that may precede a parenthesis. */
const KEYWORDS = new Set(
  words(
    "select in and or not where on as over filter any all when then else case from join by partition distinct having between union",
  ),
);
/** Words with which a select writes, locks or reads in another way. */
const NEVER = new Set(
  words("into for table outfile dumpfile lock procedure share update delete insert call values lateral returning"),
);
const VIEW =
  /^(?:(?:pg_catalog\.)?pg_(?:stat_\w+|statio_\w+|locks|database|class|namespace|tables|indexes|index|tablespace|roles|extension|replication_slots|prepared_xacts)|system\.(?:processes|parts|merges|mutations|replicas|replication_queue|metrics|events|asynchronous_metrics|disks|clusters|tables|databases|errors)|(?:information_schema|performance_schema|sys)\.\w+)$/;
const ENDS_FROM = new Set(words("where group order limit having union offset fetch window"));

function isStateSelect(tokens: readonly string[]): boolean {
  /** For each open parenthesis, whether a comma separates tables there. */
  const from: boolean[] = [false];
  let expectsTable = false;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as string;
    const isWord = /^[a-z_]\w*$/.test(token);
    if (NEVER.has(token)) return false;
    if (isWord && tokens[at + 1] === "(" && !FUNCTIONS.has(token) && !KEYWORDS.has(token)) return false;
    if (expectsTable && token === "(" && tokens[at + 1] !== "select") return false;
    if (expectsTable && token !== "(") {
      let name = token;
      while (tokens[at + 1] === ".") {
        name += `.${tokens[at + 2] ?? ""}`;
        at += 2;
      }
      if (!VIEW.test(name)) return false;
    }
    expectsTable = token === "from" || token === "join" || (token === "," && from.at(-1) === true);
    if (token === "from" || token === "join") from[from.length - 1] = true;
    else if (ENDS_FROM.has(token)) from[from.length - 1] = false;
    else if (token === "(") from.push(false);
    else if (token === ")" && (from.pop() === undefined || from.length === 0)) return false;
  }
  return from.length === 1;
}
