/**
 * Variables that a read depends on: a command that runs automatically gets only a fixed list of them, so it is asked
 * about where its own shell exports another one that its program reads, or that it names.
 */
import type { ShellJudgement } from "../../verdict.ts";

/** Beginnings of the names of variables that change what a program prints; colours and pagers do not. */
const READS: readonly (readonly [program: RegExp, names: RegExp])[] = [
  [/^git$/, /^GIT_/],
  [/^(?:ls|dir|du|df|stat)$/, /^(?:BLOCK_?SIZE|L?[SDU][SFU]?_BLOCK_SIZE|QUOTING_STYLE|TIME_STYLE)$/],
  [/^[ef]?grep$/, /^GREP_OPTIONS$/],
  [/^(?:tar|bsdtar)$/, /^(?:TAR_OPTIONS|TAPE)$/],
  [/^(?:gzip|gunzip|zcat|xz|xzcat|zstd|zip|unzip|zipinfo)$/, /^(?:GZIP|XZ_|ZSTD_|ZIPOPT|UNZIP|ZIPINFO)/],
  [/^(?:python[\d.]*|pip[\d.]*|pytest|ipython)$/, /^(?:PYTHON|PIP_|VIRTUAL_ENV|CONDA_)/],
  [/^(?:perl|prove|cpan)$/, /^PERL/],
  [/^(?:ruby|gem|bundle|irb|rake)$/, /^(?:RUBY|GEM_|BUNDLE_)/],
  [/^(?:node|npm|npx|yarn|pnpm|bun|deno)$/, /^(?:NODE_|NPM_|npm_|YARN_|BUN_|DENO_)/],
  [/^(?:java|javac|mvn|gradle|jcmd|jps)$/, /^(?:JAVA_|JDK_|_JAVA|MAVEN_|GRADLE_)/],
  [/^go$/, /^(?:GO[A-Z]|CGO_)/],
  [/^(?:cargo|rustc|rustup)$/, /^(?:CARGO_|RUST)/],
  [/^(?:kubectl|oc|helm|k9s|kustomize|stern|flux|argocd)$/, /^(?:KUBE|HELM_|ARGOCD_)/],
  [
    /^(?:docker|podman|docker-compose|nerdctl|buildah|skopeo)$/,
    /^(?:DOCKER_|COMPOSE_|CONTAINER|BUILD|REGISTRY_|STORAGE_)/,
  ],
  [/^(?:aws|eksctl|sam|s5cmd)$/, /^AWS_/],
  [/^(?:gcloud|gsutil|bq)$/, /^(?:CLOUDSDK_|GOOGLE_|BOTO_)/],
  [/^(?:az|azcopy)$/, /^(?:AZURE_|ARM_)/],
  [/^(?:terraform|tofu|packer|vault|consul|nomad)$/, /^(?:TF_|PACKER_|VAULT_|CONSUL_|NOMAD_|BAO_)/],
  [/^ansible/, /^ANSIBLE_/],
  [/^(?:psql|pg_\w+|createdb|vacuumdb)$/, /^(?:PG|PSQL)/],
  [/^(?:mysql\w*|mariadb\w*)$/, /^(?:MYSQL|MARIADB)/],
  [/^(?:redis-cli|valkey-cli)$/, /^(?:REDIS|VALKEY)/],
  [/^(?:curl|wget|openssl|http|https)$/, /^(?:CURL_|SSL_|OPENSSL_|WGETRC|REQUESTS_)/],
  [/^(?:ssh|scp|sftp|rsync|ssh-add)$/, /^(?:SSH_AUTH_SOCK|RSYNC_)/],
  [/^(?:gpg2?|gpgconf)$/, /^GNUPGHOME$/],
  [/^(?:systemctl|journalctl|loginctl|busctl|systemd-\w+)$/, /^(?:SYSTEMD_|DBUS_|XDG_RUNTIME_DIR)/],
  [/^tmux$/, /^TMUX/],
  [/^(?:man|apropos|whatis)$/, /^MANPATH$/],
  [/^(?:ps|pgrep|top)$/, /^(?:PS_|LIBPROC_|PROCPS_)/],
  [/^make$/, /^(?:MAKE|GNUMAKE)/],
  [/^(?:brew|apt\w*|dpkg\w*|rpm|dnf|yum|zypper|apk|pacman)$/, /^(?:HOMEBREW_|APT_|DPKG_|DEBIAN_|RPM_)/],
  [/^(?:locale|date|cal)$/, /^(?:LOCPATH|TZDIR|LC_|LANG|TZ$)/],
];

/** Changes what every program does. */
const FOR_ALL = /^POSIXLY_CORRECT$/;

/** `missing`: variables that its shell exports and it would not get. Undefined: none of them matters. */
export function missingVariable(
  text: string,
  { commands }: Pick<ShellJudgement, "commands">,
  missing: readonly string[],
): string | undefined {
  const general = missing.find((name) => FOR_ALL.test(name));
  if (general !== undefined) return notPassedOn(general);
  const named = missing.find((name) => looksUp(text, name) || (expands(text, name) && OF_SHELL.test(name)));
  if (named !== undefined) return notPassedOn(named);
  for (const { words } of commands) {
    const program = (words[0] ?? "").split("/").at(-1) ?? "";
    if (lists(program, words.slice(1)))
      return "it lists variables, and one that runs automatically has few of its shell's";
    const read = READS.find(([one]) => one.test(program))?.[1];
    const name = read && missing.find((one) => read.test(one));
    if (name !== undefined) return `${program} reads ${name}: ${notPassedOn(name)}`;
  }
  return undefined;
}

function notPassedOn(name: string): string {
  return `a command that runs automatically does not get your shell's ${name}`;
}

/** Of `missing`, what the shell of the command needs as its own variables. */
export function namedVariables(text: string, missing: readonly string[]): readonly string[] {
  return missing.filter((name) => expands(text, name));
}

/** Not where the text itself sets it. */
function expands(text: string, name: string): boolean {
  if (new RegExp(`(?:^|[\\s;&|(])(?:(?:for|read(?:\\s+-\\w+)*)\\s+)?${name}(?:=|\\s+in\\b)`).test(text)) return false;
  return new RegExp(`\\$\\{?[#!]?${name}\\b`).test(text);
}

/** By a program that finds variables by their names. */
function looksUp(text: string, name: string): boolean {
  return new RegExp(`(?:printenv|ENVIRON|\\benv\\b|ENV)[^|;&]*\\b${name}\\b`).test(text);
}

/** They mean something to the shell itself. */
const OF_SHELL =
  /^(?:BASH|COMP|HIST|LC_|LANG|LD_|OPT|MAIL|READLINE|TMP|PS\d|PROMPT|(?:PATH|HOME|IFS|PWD|OLDPWD|SHLVL|_|ENV|CDPATH|FIGNORE|FCEDIT|TZ|UID|EUID|PPID|RANDOM|SRANDOM|SECONDS|GLOBIGNORE|EXECIGNORE|IGNOREEOF|TIMEFORMAT|LINES|COLUMNS|GROUPS|DIRSTACK|FUNCNAME|FUNCNEST|SHELLOPTS|CHILD_MAX|INPUTRC|REPLY|LINENO|EPOCH\w*)$)/;

function lists(program: string, args: readonly string[]): boolean {
  const plain = args.filter((word) => !word.startsWith("-"));
  switch (program) {
    case "printenv":
    case "export":
    case "declare":
    case "typeset":
      return plain.length === 0;
    case "set":
      return args.length === 0;
    case "env":
      return plain.every((word) => word.includes("="));
    case "compgen":
      return args.some((word) => /^-[ev]$|^(?:export|variable)$/.test(word));
    case "jq":
      return args.some((word) => /(?:^|[^.\w])(?:env|\$ENV)\b/.test(word));
    case "awk":
    case "gawk":
    case "mawk":
      return args.some((word) => /\bENVIRON\b/.test(word));
    default:
      return false;
  }
}
