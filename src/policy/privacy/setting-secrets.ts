/** Secrets in configuration files: values of settings named like one, and formats in which no name says so. */
import type { SecretSpan } from "../../lib/secrets/find-secrets.ts";
import { placeholder } from "../../lib/secrets/secret-shapes.ts";

export function settingSecrets(text: string, spans: SecretSpan[]): void {
  for (const { 0: line, index } of text.matchAll(LIKELY_LINE)) {
    for (const match of line.matchAll(NAMED)) {
      const setting = settingAt(line, match);
      const value = setting === undefined ? undefined : secretValue(setting);
      if (value === undefined) continue;
      const start = index + match.index + match[0].length + value.from;
      spans.push({ start, end: start + value.text.length, kind: "password" });
    }
    for (const format of FORMATS) {
      const [whole = "", value = ""] = format.exec(line) ?? [];
      if (value === "" || isHarmless(value)) continue;
      const start = index + line.indexOf(whole) + whole.length - value.length;
      spans.push({ start, end: start + value.length, kind: "password" });
    }
  }
}

/** Each line with a word of NAMED or FORMATS. */
const LIKELY_LINE =
  /^.*(?:pass|pw|psk|secret|token|api[_-]?key|auth|cred|communit|user|server|login|trap|key|salt|sql|allow).*$/gim;

/** The end of a name, and what separates it from its value. */
const NAMED =
  /(password|passwd|passphrase|secret|token|api[_-]?key|requirepass|masterauth|(?:remote|dn|db|bind|root|admin|smtp|imap)pass|authtok|credentials|(?:bind|root)pw|pass|pwd|psk|pw)(?:["']?\]?[ \t]*(:=|=>?|:)[ \t]*|["']?\]?[ \t]+)(?=\S)/gi;

interface Setting {
  readonly name: string;
  /** `password = x`, or `password x`. */
  readonly assigned: boolean;
  /** Whether the value may be several words: the line has nothing else. */
  readonly alone: boolean;
  /** Whether even an ordinary word is a secret here. */
  readonly sure: boolean;
  readonly rest: string;
}

function settingAt(line: string, match: RegExpMatchArray): Setting | undefined {
  const [whole, word = "", sign] = match;
  const at = match.index ?? 0;
  let begin = at;
  while (begin > 0 && at - begin < LONGEST_NAME && /[A-Za-z0-9_.-]/.test(line.charAt(begin - 1))) begin--;
  const name = line.slice(begin, at + word.length);
  if (!isSecretName(name, word)) return undefined;
  const rest = line.slice(at + whole.length);
  const before = line.slice(0, begin);
  const first = LEAD.test(before);
  // A setting that is commented out; all other comments are prose.
  if (COMMENT.test(line)) {
    if (!/^\W*$/.test(before)) return undefined;
    return { name, assigned: sign !== undefined, alone: false, sure: false, rest };
  }
  if (sign === undefined) return given(name, word, first, rest);
  if (sign === ":" && !first && whole.endsWith(":")) return undefined;
  const sure = first || AMONG_OTHERS.test(before) || whole.endsWith("=");
  return { name, assigned: true, alone: first, sure, rest };
}

/** Without a sign: `auth_pass x`; but `proxy_pass backend;` passes something on, and `pass in on eth0` lets it in. */
function given(name: string, word: string, sure: boolean, rest: string): Setting | undefined {
  if (name === word && /^(?:pass|pw|pwd|psk)$/i.test(word)) return undefined;
  if (/[_-]pass$/i.test(name) && /;\s*(?:#.*)?$/.test(rest)) return undefined;
  return { name, assigned: false, alone: sure, sure, rest };
}

const LONGEST_NAME = 80;
const COMMENT = /^(?:[\w.@/+-]{1,300}:(?:\d+:)?)?[+-]?\s*(?:[#;%]|\/\/(?![\w.-]+\/)|--)/;

/** `pass` and the like must be words of the name; so must `passwd` (`kpasswd` is a service). */
function isSecretName(name: string, word: string): boolean {
  if (!/^(?:pass|pwd|psk|pw)$/i.test(word)) return !/kpasswd$/i.test(name);
  const before = name.charAt(name.length - word.length - 1);
  return before === "" || /[_.-]/.test(before) || (/[a-z0-9]/.test(before) && /^P[a-z]/.test(word));
}

/** Before the name of a setting: indentation, a file that grep names, a sign of a diff, words that set something. */
const LEAD =
  /^(?:[\w.@/+-]{1,300}[:-](?:\d+[:-])?)?[+-]?[\s"'{[(&]*(?:- )?(?:(?:set(?:env)?|export|env|let|(?:fastcgi|uwsgi|scgi)_param|environment=["']?|php_(?:admin_)?value|user(?:name)?\s+\S+|enable|config set|server\s+\S+|neighbor\s+\S+)\s*)?["'([]?$/i;
/** In `{name: bob, password: x}` and `"a":1,"password":"x"`. */
const AMONG_OTHERS = /[{,]\s*["']?$/;

interface FoundValue {
  readonly text: string;
  readonly from: number;
}

function secretValue({ name, assigned, alone, sure, rest }: Setting): FoundValue | undefined {
  const found = valueOf(rest, assigned, alone);
  if (found === undefined || found.text.length < SHORTEST || isHarmless(found.text)) return undefined;
  const { text } = found;
  if (isReference(text) || (/[_-]pass$/i.test(name) && isAddress(text))) return undefined;
  if (/^\d{1,6}$/.test(text)) return /token$|secret$/i.test(name) || text.length < 4 ? undefined : found;
  // Of prose and of comments, only what no word looks like.
  if (!sure && !isTelling(text)) return undefined;
  return name.toLowerCase() === "passwd" && NAME_SERVICES.test(text) ? undefined : found;
}

const SHORTEST = 3;
/** nsswitch.conf */
const NAME_SERVICES = /^(?:(?:files|compat|db|nis(?:plus)?|ldap|sss|systemd|winbind|altfiles|\[.*?\])\s*)+$/;

/** In quotes, one word, or after `=` and `:` all words of the line. */
function valueOf(rest: string, assigned: boolean, alone: boolean): FoundValue | undefined {
  if (/^[#;](?:\s|$)/.test(rest)) return undefined;
  const quoted = /^("""|'''|\\?["'])(.*?)(?<!\\)\1/.exec(rest);
  if (quoted !== null) return { text: quoted[2] ?? "", from: (quoted[1] ?? "").length };
  // The kind of encryption in a router's configuration.
  const from = /^["']?(?:[0-9]\s+(?=\S))?/.exec(rest)?.[0].length ?? 0;
  const word = (alone ? /^[^\s"',]*[^\s"',;]/ : /^[^\s"',]*[^\s"',;)\]}>]/).exec(rest.slice(from))?.[0];
  if (word === undefined) return undefined;
  const more = rest.slice(from + word.length).replace(/\s+[#;].*$/, "");
  if (!assigned) return /^[;"'\])]*\s*(?:\\\s*)?$/.test(more) ? { text: word, from } : undefined;
  const words = alone && from === 0 && /^(?:\s+[^\s=,;"'<>{}]+)+\s*$/.test(more) ? word + more.trimEnd() : word;
  return { text: words, from };
}

function isHarmless(value: string): boolean {
  return (
    /^(?:[^A-Za-z0-9]+|true|false|yes|no|on|off|null|none|nil|undefined|enabled|disabled|required|optional|n\/a|<[^>]*>|x{3,}|public|private|default|(?:your|my|the|some|new|old)[-_ ][\w -]*)$/i.test(
      value,
    ) ||
    placeholder().test(value) ||
    /^(?:str(?:ing)?|text|bool(?:ean)?|object|array|int(?:eger)?)$/i.test(value) ||
    /^(?:‹secret-|\[redacted\]|\$[A-Za-z_{(]|\{\{|<|%[({])/.test(value)
  );
}

/** Leads to the value: a path, a variable of a template, an entry of a vault. */
function isReference(value: string): boolean {
  return (
    /^(?:[a-z]{2,8}:)?(?:~|\/(?:etc|run|var|usr|srv|opt|home|root|tmp|dev|proc|mnt|data|lib|secrets|vault|private))\/[\w./@%+:-]*$/.test(
      value,
    ) ||
    /^(?:exec|file|env|vault|prompt|plugin)[:(]\S*$|^!(?:secret|vault|env|include)\b|^\*[a-z_]+$|^[\w-]+\.(?:txt|conf|cred|pem|key)$|^[A-Za-z_][\w.]*\(.*\)?$|^(?:var|local|data|module|self|cfg|config|process|os)\.[\w.]+$/.test(
      value,
    )
  );
}

function isAddress(value: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]*:\/\/(?!\S*@)\S+|unix:\S+|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?;?|\[[\da-f:]+\](?::\d+)?;?|[A-Za-z][\w.-]*:\d{2,5}(?:\/\S*)?;?)$/.test(
    value,
  );
}

/** Unlike a word, a name or a path. */
function isTelling(value: string): boolean {
  return (
    value.length >= 6 &&
    /[0-9]/.test(value) &&
    !/^[\w.-]*[=(]|^[/`]|[.)]\$?$|\(.*\)|^[\d.:]+$|^[a-z]+(?:-[a-z]+)+-\d+$|password$/i.test(value)
  );
}

/** The last group is the secret, and the match ends with it. */
const FORMATS: readonly RegExp[] = [
  // redis: user alice on >x ~* +@all   sentinel auth-pass main x
  /^\s*user\s+\S+\s(?:.*\s)?>(\S+)/i,
  /^\s*sentinel\s+auth-pass\s+\S+\s+"?([^\s"]+)/i,
  // haproxy: stats auth admin:x   monit: allow admin:x   squid: cache_peer … login=user:x
  /^\s*stats\s+auth\s+[^\s:]+:(\S+)/i,
  /^\s*allow\s+[\w.-]+:([^\s"'/]{3,})(?=\s*(?:read-only)?$)/i,
  /^\s*cache_peer\s.*\slogin=[^\s:]+:(\S+)/i,
  /^\s*cachemgr_passwd\s+(\S+)/i,
  // proftpd: SQLConnectInfo db@host user x   exim: hide mysql_servers = host/db/user/x
  /^\s*SQL\w*Info\s+\S+\s+\S+\s+(\S+)/i,
  /^\s*hide\s+\w+_servers\s*=\s*[^\s/]+\/[^\s/]*\/[^\s/]*\/(\S+)/i,
  // net-snmp and routers
  /^\s*(?:trap2?sink|informsink)\s+\S+\s+(\S+)/i,
  /^\s*["']?\w*community(?:[_-]?(?:string|name))?["']?\s*[:= ]\s*["']?([^\s"',;]{3,})(?=["']?,?$)/i,
  // coturn: user=alice:x   rabbitmq: {default_pass, <<"x">>}
  /^\s*user=[\w.-]+:([^\s:]+)$/i,
  /\{\s*(?:default_pass|password)\s*,\s*(?:<<)?"([^"]+)/i,
  // freeswitch: <param name="password" value="x"/>
  /name="[\w.-]*(?:password|secret|token)"\s+value="([^"]+)/i,
  // preseed: d-i passwd/root-password password x
  /\spasswd\/\S*password\S*\s+password\s+(\S+)/i,
  /^\s*rootpw\s+(?:--\S+\s+)+(\S+)/i,
  // tacacs-server key 7 x   radius-server host h key x
  /^\s*(?:tacacs|radius)-server\s(?:.*\s)?key\s+(?:\d\s+)?(\S+)/i,
  // WordPress: define('AUTH_SALT', 'x');
  /\bdefine\(\s*["']\w*(?:PASSWORD|KEY|SALT|SECRET|TOKEN)["']\s*,\s*["'](.{3,200}?)(?=["']\s*\))/,
  // wpa and hostapd: wep_key0=x
  /^\s*wep_(?:tx_)?key\d=["']?([^\s"']{5,})/i,
];
