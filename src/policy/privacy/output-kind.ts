/** What a command prints or a file contains: ordinary text, variables, settings, or only secrets. */
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import { isSecretVariable, type OutputKind } from "./listed-secrets.ts";

/** The strictest kind of all commands and of the files they name. `extra` is [privacy] mask_output. */
export function outputKind(commands: readonly (readonly string[])[], extra: readonly string[]): OutputKind {
  let kind = "ordinary" as OutputKind;
  const raise = (to: OutputKind): void => {
    if (STRICTNESS.indexOf(to) > STRICTNESS.indexOf(kind)) kind = to;
  };
  for (const command of commands) {
    const [program = "", ...rest] = command;
    const name = nameOf(program);
    // The values of the variables it names, and nothing else.
    if (name === "printenv" && rest.some((word) => !word.startsWith("-")))
      raise(listsSecrets(command) ? "opaque" : "ordinary");
    else if (listsVariables(name, rest)) raise("variables");
    if (readsVariables(name, rest)) raise("variables");
    if (isListed(printsSecrets(), name, rest) || isListed(byProgram(extra), name, rest)) raise("secrets");
    if (isListed(printsSettings(), name, rest)) raise("settings");
    // Files that find lists may be read by another command, or by its -exec.
    const only =
      name === "find" ? commands.length === 1 && !rest.some((word) => /^-(exec|ok)/.test(word)) : namesOnly().has(name);
    if (!only)
      for (const word of INTERPRETERS.test(name) ? rest.flatMap(pathsIn) : rest.filter(isPath)) raise(fileKind(word));
  }
  return changesAnyText(commands) && (kind === "variables" || kind === "secrets") ? "opaque" : kind;
}

/** Whether one of the programs may print its input in another form. */
export function changesAnyText(commands: readonly (readonly string[])[]): boolean {
  return commands.some(([program = "", ...rest]) => changesText(nameOf(program), rest));
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/** Programs that run code in an argument, which may contain paths. */
const INTERPRETERS = /^(?:python[\d.]*|perl|ruby|node|bun|deno|php|lua|[gmn]?awk|sed|jq|yq|bash|sh|zsh)$/;

function readsVariables(name: string, rest: readonly string[]): boolean {
  if (!READS_AS_JQ.test(name)) return INTERPRETERS.test(name) && rest.some((word) => READS_VARIABLES.test(word));
  return rest.some((word, at) => JQ_VARIABLES.test(word) && !/^--(?:raw|slurp)?(?:arg|file)/.test(rest[at - 1] ?? ""));
}

/** ENVIRON, %ENV, os.environ, process.env. */
const READS_VARIABLES = /(?:^|[^\w/.-])env(?:$|[^\w/-])|\bENV\b|environ\b|getenv|process\.env/i;

/** jq itself, and programs with a script of jq among their options. */
const READS_AS_JQ = /^(?:(?:go)?jq|yq|gh|glab)$/;
/** `env.X` and `$ENV`, `env(X)` of yq; a field (`.env`, `{env}`), a key (`env:`), a text or a variable is none. */
const JQ_VARIABLES =
  /(?<![\w.$"'])(?!(?<=\{\s*)env\s*[,}])env\b(?!\s*:)|\$(?:\s|#.*\n)*(?:ENV\b|__prog_args)|\bstrenv\b|\benvsubst\b/;

function pathsIn(word: string): readonly string[] {
  return word.match(/[\w.~/*?-]+/g) ?? [];
}

/** A message of several words is not a path. */
function isPath(word: string): boolean {
  return !/\s/.test(word);
}

/** Whether its output may look different from its input. */
function changesText(name: string, rest: readonly string[]): boolean {
  if (/^(?:[ef]?grep|rg)$/.test(name))
    return rest.some((word) => /^-[a-zA-Z]*[or]|^--(?:only|label|replace)/.test(word));
  if (name === "head" || name === "tail") return rest.some((word) => /^-[a-z]*c|^--bytes/.test(word));
  // By a part of a line: its position shows what is in it.
  if (name === "sort") return rest.some((word) => /^-[a-zA-Z]*[kt]|^--(?:key|field)/.test(word));
  if (name === "uniq") return rest.some((word) => /^-[a-zA-Z]*[fsw]|^--(?:skip|check-)/.test(word));
  if (name === "tac") return rest.some((word) => word.startsWith("-"));
  return changes().has(name) && !(name === "cut" && rest.some((word) => /^(?:-f1|--fields=1)$/.test(word)));
}

const changes = once(
  () =>
    new Set(
      words(`rev base64 base32 basenc xxd od hexdump hd tr cut fold sed awk gawk mawk perl python python3 ruby node php lua openssl
    gpg gzip bzip2 xz zstd uuencode paste column fmt expand split dd jq yq iconv comm join nl pr diff gdiff sdiff numfmt strings`),
    ),
);

/** What a file of that name contains. */
export function fileKind(path: string): OutputKind {
  if (/[*?[]/.test(path)) return globKind(path);
  if (/\.(?:pub|crt|cer)$/.test(path)) return "ordinary";
  if (SECRET_FILE.test(path)) return "secrets";
  if (/(?:^|\/)\.env(?:\.[\w.-]+)?$|\.env$|(?:^|\/)\.?envrc$|^\/proc\/[^/]+\/(?:task\/[^/]+\/)?environ$/.test(path))
    return /\.(?:example|sample|template|dist)$/.test(path) ? "settings" : "variables";
  return SETTINGS_FILE.test(path) ? "settings" : "ordinary";
}

/** The strictest kind of the files that a pattern may match; it must contain two characters of the name. */
function globKind(pattern: string): OutputKind {
  const last = pattern.slice(pattern.lastIndexOf("/") + 1);
  if (last.replaceAll(/[*?]|\[[^\]]*\]/g, "").length < 2) return "ordinary";
  const name = last
    .replaceAll(/[.+^${}()|\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  try {
    const meant = new RegExp(`^${name}$`);
    const found = new Set(
      typical()
        .filter((one) => meant.test(one))
        .map(fileKind),
    );
    return STRICTNESS.findLast((kind) => found.has(kind)) ?? "ordinary";
  } catch {
    return "ordinary";
  }
}

const typical = once(() =>
  words(
    ".env .env.local .env.production app.env id_rsa id_ed25519 server.key key.pem .netrc .pgpass .git-credentials .htpasswd",
  ),
);

const STRICTNESS: readonly OutputKind[] = ["ordinary", "settings", "screen", "variables", "secrets", "opaque"];

/** Programs that print names and attributes of files, never their contents. */
const namesOnly = once(
  () =>
    new Set(
      words(
        "ls stat du find test [ tree file realpath readlink dirname basename cd echo printf chmod chown rm touch mkdir",
      ),
    ),
);

/** Configuration files: by their directory, or by how their names end. */
const SETTINGS_FILE =
  /^\/(?:usr\/local\/)?etc\/|\.(?:ini|conf|config|cnf|cfg|cf|ya?ml|toml|properties|json|tfvars|xml|ldif|service|ext)$|(?:^|\/)(?:\.(?:my\.cnf|npmrc|pypirc|s3cfg|boto|msmtprc|fetchmailrc|muttrc|mbsyncrc|dockercfg|smbcredentials)|wp-config\.php|user-data)$/;

/** Files that contain only keys. */
const SECRET_FILE =
  /(?:^|\/)(?:(?:sasl_passwd|passwd\.client|opasswd|samba\/(?:private\/)?smbpasswd|pam_radius_auth\.conf|\.erlang\.cookie|ldap\.secret|[\w.-]*[.-]secrets|(?:ntp|chrony)\.keys|pgbouncer\/userlist\.txt|corosync\/authkey)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|ssh_host_[a-z0-9]+_key|\.pgpass|\.netrc|_netrc|\.git-credentials|\.vault-token|\.htpasswd|g?shadow-?|credentials\.csv)$|(?:^|\/)\.aws\/credentials$|\.(?:pem|key|p8|ppk|keytab|jks|pfx|p12|kdbx)$/;

/** Whether it lists all variables, or some whose names suggest a secret. */
export function listsSecrets([program = "", ...rest]: readonly string[]): boolean {
  const name = nameOf(program);
  const named = rest.filter((word) => !word.startsWith("-"));
  const asked = /^(?:printenv|declare|typeset)$/.test(name) && named.length > 0;
  return listsVariables(name, rest) && (!asked || named.some((word) => !/^\w+$/.test(word) || isSecretVariable(word)));
}

/**
 * What is made of listed variables, or how often it is compared with something, would tell their values piece by piece:
 * a program changes them or reads them itself, they are listed in a loop or next to other text that is then sorted, or
 * patterns are tried on them.
 */
export function takesApart(
  commands: readonly { readonly words: readonly string[]; readonly grouped: boolean }[],
): boolean {
  if (
    commands.some(
      ({ words: [program = "", ...rest] }) =>
        READS_AS_JQ.test(nameOf(program)) && readsVariables(nameOf(program), rest),
    )
  )
    return true;
  const listings = commands.filter(({ words }) => listsSecrets(words));
  return (
    listings.length > 0 &&
    (listings.some(({ grouped }) => grouped) ||
      changesAnyText(commands.map(({ words }) => words)) ||
      commands.filter(({ words: [program = ""] }) => /grep$|^rg$/.test(nameOf(program))).length > MOST_PATTERNS)
  );
}

const MOST_PATTERNS = 3;

/** `env`, `printenv`, `set`, `export -p` and the like; not `env A=b program`, `export A=b` and `set -e`. */
function listsVariables(name: string, rest: readonly string[]): boolean {
  const operands = rest.filter((word) => !word.startsWith("-"));
  switch (name) {
    case "printenv":
      return true;
    case "env":
      return operands.every((word) => /^[A-Za-z_][A-Za-z0-9_]*=/.test(word));
    case "set":
      return rest.length === 0;
    case "export":
    case "declare":
    case "typeset":
      return operands.length === 0 || rest.some((word) => /^-[a-zA-Z]*p/.test(word));
    default:
      return false;
  }
}

/** Commands that print secrets: a program, and the words that follow it in this order, perhaps with others between. */
const PRINTS_SECRETS = `
  kubectl: get secret, config view --raw
  oc: get secret, extract, whoami --show-token
  vault: kv get, read, token create, print token
  aws: secretsmanager get-secret-value, secretsmanager batch-get-secret-value, ssm get-parameter,
    ssm get-parameters-by-path, sts assume-role, sts get-session-token, ecr get-login-password, iam create-access-key,
    configure get, configure export-credentials
  gcloud: secrets versions access, auth print-access-token, auth print-identity-token,
    auth application-default print-access-token
  az: keyvault secret show, account get-access-token, storage account keys list, acr credential show
  op: read, item get, inject
  pass:
  gopass: show
  bw: get
  lpass: show
  secret-tool: lookup
  security: find-generic-password, find-internet-password
  sops: -d, --decrypt, decrypt
  ansible-vault: view, decrypt
  doppler: secrets
  chamber: read, export
  infisical: secrets, export
  heroku: config
  flyctl: config env
  gh: auth token
  glab: auth token
  git: credential fill
  docker: context export
  kubeadm: token list, token create
  wg: showconf, genkey
  openssl: genrsa, genpkey
  age-keygen:
  etcdctl: get
  consul: kv get
  systemctl: show-environment
`;

/** Commands that print settings. */
const PRINTS_SETTINGS = `
  helm: get
  kubectl: get configmap, get cm, describe
  docker: inspect, compose config
  aws: lambda, ecs, batch
  gcloud: run, functions
  az: containerapp, container
  doctl: apps
  podman: inspect
  terraform: show, output
  ansible-inventory:
  systemctl: cat, show
  nginx: -T
  git: config
  redis-cli: config
`;

const printsSecrets = once(() => byProgram(entriesOf(PRINTS_SECRETS)));
const printsSettings = once(() => byProgram(entriesOf(PRINTS_SETTINGS)));

/** For each program, the words that must follow it, one list per entry. */
function byProgram(entries: readonly string[]): Map<string, string[][]> {
  const split = entries.map((entry) => entry.trim().split(/\s+/)).filter(([program]) => program !== "");
  return new Map(
    [...Map.groupBy(split, ([program = ""]) => program)].map(([name, all]) => [name, all.map(([, ...rest]) => rest)]),
  );
}

function entriesOf(table: string): string[] {
  return table.split(/(?<!,)\n/).flatMap((row) => {
    const [program = "", rest = ""] = row.split(":");
    return rest.split(",").map((words) => `${program} ${words}`);
  });
}

function isListed(entries: ReadonlyMap<string, readonly string[][]>, name: string, rest: readonly string[]): boolean {
  return entries.get(name)?.some((wanted) => matches(wanted, rest)) === true;
}

function matches(wanted: readonly string[], rest: readonly string[]): boolean {
  let at = 0;
  for (const word of wanted) {
    const found = rest.findIndex((have, index) => index >= at && same(word, have));
    if (found < 0) return false;
    at = found + 1;
  }
  return true;
}

/** `secret` is also `secrets`, `secret/db` and one of `cm,secret`. */
function same(wanted: string, have: string): boolean {
  return have
    .split(",")
    .some(
      (one) => one === wanted || one === `${wanted}s` || one.startsWith(`${wanted}/`) || one.startsWith(`${wanted}s/`),
    );
}
