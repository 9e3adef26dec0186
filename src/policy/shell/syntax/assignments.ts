/** Variables that change what later commands do, or are programs themselves. */

/** Why setting this variable is more than a note to oneself; undefined: harmless. */
export function assignmentEffect(name: string, value: string, where: "shell" | "command"): string | undefined {
  if (HARMLESS.test(name)) return undefined;
  if (PAGERS.test(name) && (value === "cat" || value === "")) return undefined;
  if (where === "command") return `it sets ${name} for a command`;
  return DECISIVE.test(name) || DECISIVE_LOWER.has(name)
    ? `it sets ${name}, which changes what later commands do`
    : undefined;
}

/** Variables whose value a shell or a program runs. */
export function isScriptVariable(name: string): boolean {
  return /^(?:PROMPT_COMMAND|(?:GIT_|SYSTEMD_|MAN|BAT_|AWS_)?PAGER|(?:GIT_|SUDO_|SYSTEMD_|FC)?E?EDITOR|VISUAL|BROWSER|GIT_EXTERNAL_DIFF|GIT_SSH_COMMAND|GIT_SSH|GIT_ASKPASS|GIT_SEQUENCE_EDITOR|GIT_PROXY_COMMAND|SSH_ASKPASS|SUDO_ASKPASS|RSYNC_RSH|CVS_RSH|TAR_RSH|MAKEFLAGS|FZF_DEFAULT_COMMAND)$/.test(
    name,
  );
}

/** Locale, time zone, sizes and colours. */
const HARMLESS =
  /^(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|FORCE_COLOR|BLOCKSIZE|(?:DU_|DF_|LS_)?BLOCK_SIZE|LS_COLORS|GREP_COLORS?|QUOTING_STYLE|TIME_STYLE|TIMEFORMAT|GIT_OPTIONAL_LOCKS|SYSTEMD_COLORS|SYSTEMD_LESS_DISABLED)$/;
const PAGERS = /^(?:GIT_|SYSTEMD_|MAN)?PAGER$/;

/** Names that shells, the loader or well-known programs obey. */
const DECISIVE =
  /^(?:PATH|IFS|HOME|ENV|PWD|OLDPWD|SHELL|USER|LOGNAME|TERM|TERMCAP|PS[0-4]|PROMPT\w*|RPS1|RPROMPT|MAIL\w*|CDPATH|GLOBIGNORE|OPT(?:IND|ARG|ERR)|POSIXLY_CORRECT|TMPDIR|TMP|TEMP|TMOUT|SHLVL|SHELLOPTS|EXECIGNORE|FIGNORE|INPUTRC|BROWSER|VISUAL|DISPLAY|HISTCHARS|FCEDIT|EDITOR|PAGER|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|CC|CXX|LD|AR|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|NULLCMD|READNULLCMD|FPATH|STARSHIP_\w+|RIPGREP_CONFIG_PATH|RANDOM|SECONDS|UID|EUID|LINENO|_|(?:LD|DYLD|BASH|GIT|LESS|PYTHON|PERL|PERL5|NODE|NPM|RUBY|GEM|BUNDLE|JAVA|JDK|MAVEN|GRADLE|CARGO|RUST|GO|SSH|SUDO|DOCKER|BUILDKIT|COMPOSE|KUBE|AWS|AZURE|GOOGLE|GCLOUD|SYSTEMD|XDG|MAN|HIST|COMP|READLINE|GCONV|LOC|NLS|TERMINFO|HOSTALIASES|RES|RESOLV|MALLOC|GLIBC|ASAN|LSAN|TAR|GZIP|XZ|ZSTD|BZIP|GREP|RSYNC|CURL|WGET|SSL|OPENSSL|TERRAFORM|TF|ANSIBLE|VAULT|PG|MYSQL|REDIS|PIP|POETRY|VIRTUAL|CONDA|NVM|ZDOTDIR|ZSH|FZF|BAT|EDIT|VIM|NVIM|EMACS|TMUX|SCREEN|DBUS|LIB|C_INCLUDE|CPLUS|CMAKE|DEBIAN|DPKG|APT|RPM|DNF|YUM|BUN|DENO|TS|BUDDY|AGENT|OPENAI|HTTP|HTTPS|FTP|ALL|NO)_?\w*|\w*(?:PATH|PAGER|EDITOR|OPTS|OPTIONS|_COMMAND|_CMD|_RSH|PROXY|_HOST|_HOOK|_SHELL|_CONFIG|_RC|_INIT|_PRELOAD))$/;
/** Lower-case names that programs or zsh obey. */
const DECISIVE_LOWER = new Set([
  "http_proxy",
  "https_proxy",
  "ftp_proxy",
  "all_proxy",
  "no_proxy",
  "rsync_proxy",
  "path",
  "fpath",
  "cdpath",
  "manpath",
  "mailpath",
  "module_path",
  "fignore",
  "prompt",
  "psvar",
  "histchars",
  "argv",
  "status",
  "aliases",
  "galiases",
  "saliases",
  "dis_aliases",
  "functions",
  "dis_functions",
  "commands",
  "builtins",
  "options",
  "parameters",
  "modules",
  "nameddirs",
  "userdirs",
  "precmd_functions",
  "preexec_functions",
  "chpwd_functions",
  "periodic_functions",
  "zshexit_functions",
  "zshaddhistory_functions",
  "command_not_found_handle",
  "npm_config_script_shell",
]);
