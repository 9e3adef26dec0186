/** Secrets in listings and settings: names stay, values are masked, unless the name or value is harmless. */
import type { SecretSpan } from "../../lib/secrets/find-secrets.ts";
import { once } from "../../lib/values.ts";
import { words } from "../../lib/text.ts";
import { settingSecrets } from "./setting-secrets.ts";

/**
 * `screen`: a terminal that may still show a listing of variables. `opaque`: secrets in a form that a program changed
 * (`rev .env`), so that every line may be one.
 */
export type OutputKind = "ordinary" | "settings" | "screen" | "variables" | "secrets" | "opaque";

export function listedSecrets(text: string, kind: OutputKind): SecretSpan[] {
  const spans: SecretSpan[] = [];
  if (kind === "ordinary" || kind === "settings") foundInFiles(text, spans);
  if (kind === "ordinary") return spans;
  if (kind === "settings") settingSecrets(text, spans);
  // A table of names: `kubectl get secret` without -o shows no value.
  else if (kind !== "secrets" || !isTable(text)) lines(text, kind, spans);
  return spans;
}

/** Names and values, or values alone: all values are masked, not only those that look like secrets. */
export function isListing(kind: OutputKind | undefined): boolean {
  return kind === "variables" || kind === "secrets" || kind === "opaque";
}

/** Its values are secrets whatever they look like. */
export function isSecret(kind: OutputKind | undefined): boolean {
  return kind === "secrets" || kind === "opaque";
}

/** Whether a name suggests a secret. */
export function suggestsSecret(name: string): boolean {
  return SECRET_NAME.test(name.toUpperCase());
}

/** `grep -r` in a directory: lines of .env files among others. */
function foundInFiles(text: string, spans: SecretSpan[]): void {
  if (!text.includes(".env")) return;
  for (const match of text.matchAll(/^(\S*\.env(?:\.[\w-]+)?[:-](?:\d+[:-])?)(.*=.*)$/gm))
    line(match[2] ?? "", match.index + (match[1] ?? "").length, "screen", spans);
}

function isTable(text: string): boolean {
  const first = /^\s*(\S.*)/.exec(text)?.[1] ?? "";
  return /^[A-Z][A-Z-]*(?:\s{2,}[A-Z][A-Z()-]*)+\s*$/.test(first);
}

type Listed = "screen" | "variables" | "secrets" | "opaque";

function lines(text: string, kind: Listed, spans: SecretSpan[]): void {
  let isPublic = false;
  for (let at = 0; at < text.length;) {
    const end = nextBreak(text, at);
    const one = text.slice(at, end);
    isPublic = kind !== "opaque" && (isPublic || PUBLIC_PEM.test(one));
    if (!isPublic) line(one, at, kind, spans);
    else if (one.includes("-----END ")) isPublic = false;
    at = end + 1;
  }
}

/** Files of keys may also have, or only have, certificates and parameters. */
const PUBLIC_PEM = /^-----BEGIN [A-Z0-9 ]*(?:CERTIFICATE|CERTIFICATE REQUEST|PUBLIC KEY|PARAMETERS|CRL)-----/;

function nextBreak(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10 || code === 0) return at;
  }
  return text.length;
}

function line(text: string, at: number, kind: Listed, spans: SecretSpan[]): void {
  const put = (lead: string, value: string, what: string): void => {
    const quoted = /^(["'])([\s\S]*)\1,?$/.exec(value);
    const inner = quoted?.[2] ?? value;
    const start = at + lead.length + (quoted === null ? 0 : 1);
    if (inner !== "" && !harmlessValue(inner)) spans.push({ start, end: start + inner.length, kind: what });
  };
  const bare = text.trim();
  // Any line may be a value, even one that looks like a comment, a message or a number.
  if (kind === "opaque") {
    const start = at + text.indexOf(bare);
    if (bare !== "") spans.push({ start, end: start + bare.length, kind: "value" });
    return;
  }
  if (bare === "" || /^[+-]?(?:#|;|\/\/|@@ |\\ No newline)/.test(bare) || isMessage(bare)) return;
  const variable =
    /^([+-]?\s*(?:export |declare -\S+ |typeset -\S+ |set -\S+ |- )?([A-Za-z_][A-Za-z0-9_.-]*)=)(.*?)\s*$/.exec(text);
  if (variable !== null) {
    const [, lead = "", name = "", value = ""] = variable;
    if (!harmlessName(name, value)) put(lead, value, `value of ${name.slice(0, 40)}`);
    return;
  }
  if (kind === "screen") return;
  if (kind === "variables") {
    // Names alone: `env | cut -d= -f1`.
    if (!/^[A-Z_]{1,40}$/.test(bare)) put(text.slice(0, text.length - text.trimStart().length), bare, "value");
    return;
  }
  const pairs = [...text.matchAll(/(\\{0,3}"([\w./ -]+)\\{0,3}"\s*:\s*\\{0,3}")((?:[^"\\]|\\(?!\\{0,2}")[^])*)/g)];
  if (pairs.length > 0) {
    for (const pair of pairs) {
      const [, lead = "", name = "", value = ""] = pair;
      if (harmlessFields().has(name) || harmlessValue(value)) continue;
      const start = at + pair.index + lead.length;
      spans.push({ start, end: start + value.length, kind: `value of ${name.slice(0, 40)}` });
    }
    return;
  }
  if (/^[[\]{},\s]*$/.test(bare) || /^(?:={3,}|-{3,}|[-\s]+$)/.test(bare)) return;
  if (/^"[^"]*"\s*:\s*[[{\d]|^"[^"]*"\s*:\s*(?:true|false|null),?$/.test(bare)) return;
  const pair = /^([+-]?\s*(?:- )?([A-Za-z][\w./() -]{0,60}?)(?::\s+|\s{2,}|\t+))(\S.*?)\s*$/.exec(text);
  if (pair !== null) {
    const [, lead = "", name = "", value = ""] = pair;
    if (name === "Key" && value === "Value") return;
    if (!harmlessFields().has(name) && !/^[|>][+-]?$/.test(value)) put(lead, value, `value of ${name.slice(0, 40)}`);
    return;
  }
  if (/^[\w./-]{1,60}:$/.test(bare)) return;
  put(text.slice(0, text.length - text.trimStart().length), bare, "secret");
}

/** Errors and usage texts, which the model needs. */
function isMessage(text: string): boolean {
  return (
    /^(?:error|fatal|warning|warn|usage|note|hint)\b(?!=)/i.test(text) ||
    /^[\w./-]{1,40}: .*(?:not found|denied|no such|refused|invalid|unknown|required|timed out|unable to|cannot)\b/i.test(
      text,
    )
  );
}

function harmlessValue(value: string): boolean {
  return (
    /^(?:[^A-Za-z0-9]+|true|false|yes|no|on|off|null|none|nil|undefined|enabled|disabled|-|n\/a|\(none\)|\d{1,6}|\d+(?:\.\d+){1,2}|<[^>]*>|\*+|x{3,})$/i.test(
      value,
    ) || /^(?:‹secret-|\[redacted\]|\$\{|\$\(|\{\{)/.test(value)
  );
}

function harmlessName(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (
    harmlessVariables().has(upper) ||
    /^(?:LC_|XDG_|SSH_(?:CONNECTION|CLIENT|TTY)$|GIT_CONFIG_(?:COUNT|KEY_))/.test(upper)
  )
    return true;
  if (SECRET_NAME.test(upper)) return false;
  return HARMLESS_END.test(upper) || (/(?:PATH|DIR|HOME|ROOT|FILE|FOLDER|SOCK)$/.test(upper) && /^[~/.]/.test(value));
}

/** Like `suggestsSecret`, for environment variables: well-known ones are harmless. */
export function isSecretVariable(name: string): boolean {
  return !harmlessName(name, "") && suggestsSecret(name);
}

const SECRET_NAME = /KEY|SECRET|TOKEN|PASS|PWD|CRED|AUTH|PRIVATE|SALT|SIGN|CERT|COOKIE|SESSION|DSN|WEBHOOK|PIN$|SEED/;
const HARMLESS_END =
  /(?:^|_)(?:HOST|HOSTNAME|PORT|USER|USERNAME|NAME|REGION|ZONE|ENV|ENVIRONMENT|LEVEL|MODE|DEBUG|TIMEOUT|VERSION|LANG|LOCALE|TZ|DOMAIN|URL|URI|BUCKET|ENDPOINT|ENABLED|SIZE|LIMIT|COUNT|INTERVAL|DATABASE|DB|SCHEMA|TABLE|QUEUE|TOPIC|PROVIDER|DRIVER|CONNECTION|CHANNEL|STAGE|FORMAT|TYPE|PROFILE|CLUSTER|NAMESPACE|EMAIL|ORIGIN|PREFIX|SUFFIX|IMAGE|ARCH|OS|DISTRO|CPUS?|MEMORY|THREADS|WORKERS)$/;

const harmlessVariables = once(
  () =>
    new Set(
      words(`PATH HOME USER LOGNAME SHELL PWD OLDPWD SHLVL TERM COLORTERM TERM_PROGRAM TERM_PROGRAM_VERSION LANG LANGUAGE TZ
    EDITOR VISUAL PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER GIT_EDITOR GIT_OPTIONAL_LOCKS LESS LS_COLORS LSCOLORS CLICOLOR MAIL HOSTNAME HOSTTYPE MACHTYPE OSTYPE DISPLAY WAYLAND_DISPLAY
    COLUMNS LINES IFS PS1 PS2 PS4 PROMPT_COMMAND _ TMUX TMUX_PANE TMUX_TMPDIR STY SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS
    INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID MANPATH INFOPATH GOPATH GOROOT JAVA_HOME NODE_ENV NODE_VERSION
    PYTHON_VERSION PYTHONPATH VIRTUAL_ENV CARGO_HOME RUSTUP_HOME DEBIAN_FRONTEND KUBECONFIG DOCKER_HOST CONTAINER TMPDIR
    SUDO_USER SUDO_UID SUDO_GID SUDO_COMMAND NO_COLOR FORCE_COLOR BASH BASHOPTS BASHPID BASH_VERSION BASH_VERSINFO SHELLOPTS
    UID EUID PPID RANDOM SECONDS LINENO OPTIND OPTERR OPTARG HISTFILE HISTSIZE HISTFILESIZE HISTCONTROL DIRSTACK GROUPS
    XTERM_VERSION WINDOWID LD_LIBRARY_PATH HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY CI`),
    ),
);

/** Fields in the output of secret stores that describe the secret. */
const harmlessFields = once(
  () =>
    new Set(
      words(`apiVersion kind name namespace type uid resourceVersion creationTimestamp generation manager operation time
    ARN Arn Name VersionId CreatedDate VersionStages KeyId Type Version LastModifiedDate DataType Expiration AccessKeyId
    id ID request_id lease_id lease_duration renewable mount_type created_time deletion_time destroyed version
    custom_metadata title category vault created updated last_edited_by urls label contentType expires nbf attributes
    recoveryLevel keyName permissions tenant subscription expiresOn tokenType Status CreateDate UserName`),
    ),
);
