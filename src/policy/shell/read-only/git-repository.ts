/** Whether a git read would start a program that the repository names: the script for the target, and its output. */
import type { Condition } from "../../verdict.ts";
import { words } from "../../../lib/text.ts";
import { ABSOLUTE_PATH, inQuotes } from "../../../lib/quote.ts";

/**
 * A POSIX sh script that reports on one directory. It starts nothing that the repository names: `rev-parse`, `config`
 * and `ls-files` only read, settings that could make them start something are overridden, output goes to a pipe. A line
 * is a word; `key` is followed by NAME, RS (0x1e) and VALUE, `file` by a path. The last line is `end`.
 */
export function gitRepositoryScript({ directory, entered, stays }: Condition): string {
  const logical = entered === true || stays === true;
  return `(
${QUIETLY}
keys() { ask config "$1" --includes --list -z | tr '\\000\\n' '\\n\\036' | sed 's/^/key /'; }
owned() {
  ls -dnL -- "$@" 2>/dev/null | while read -r mode links uid rest; do
    [ "$uid" = "$me" ] || [ "$uid" = 0 ] || echo foreign
  done
}
linked() { [ -L "$1" ] && [ -f "$1" ]; }
bare() {
  case "\${PWD%/}/" in "\${dir%/}"/*) ;; *) return ;; esac
  case $dir in */.git) return ;; esac
  up=$dir
  while [ -n "$up" ]; do
    up=\${up%/*}
    [ -e "$up/.git" ] && { echo embedded; return; }
  done
}
visit() {
  dir=$(ask rev-parse --absolute-git-dir) || {
    case $(git rev-parse --absolute-git-dir </dev/null 2>&1) in
      *'not a git repository'*) echo none ;;
      *) echo refused ;;
    esac
    return
  }
  echo repository
  common=$dir
  [ -f "$dir/commondir" ] && common=$(ask rev-parse --git-common-dir)
  owned "$dir" "$common" "$common/config"
  bare
  all=$(keys --local; [ -f "$dir/config.worktree" ] && keys --worktree)
  printf '%s\\n' "$all"
  # Files of another directory would be shown as if they were in it; a submodule is below its repository.
  case $all in *'key core.worktree'*) case $(ask rev-parse --show-toplevel)/ in "\${dir%/.git*}"/*) ;; *) echo outside ;; esac ;; esac
  # Git shows lines of its own files, also invalid ones; one may be a link to any file.
  for file in "$dir"/* "$dir"/info/* "$dir"/rebase-*/* "$dir"/sequencer/* "$common"/* "$common"/info/* "$common"/objects/info/*; do
    linked "$file" && case \${file##*/}:$(readlink "$file" 2>/dev/null) in HEAD:refs/*|*:*/"\${file##*/}") ;; *) echo outside ;; esac
  done
  case $all in *'key blame.ignorerevsfile'*|*'key core.attributesfile'*)
    for file in "$(ask rev-parse --show-toplevel)"/.git?*; do linked "$file" && echo outside; done ;;
  esac
  hook=$common/hooks/post-index-change
  [ -x "$hook" ] && echo hook
  for file in "$common/config" "$dir/config.worktree" "$dir/HEAD" "$hook"; do printf 'file %s\\n' "$file"; done
  # Reading the index of a partial clone may fetch.
  case $all in *.promisor*|*extensions.partialclone*) return ;; esac
  [ "$1" -lt 5 ] || { echo deep; return; }
  [ -f "$dir/index" ] || return
  top=$(ask rev-parse --show-toplevel) && [ -n "$top" ] && cd "$top" 2>/dev/null || return
  ask ls-files -s -z | tr '\\000\\n' '\\n\\036' | grep '^160000 ' | cut -f2- | while IFS= read -r path; do
    if [ -e "$path/.git" ]; then ( cd "./$path" 2>/dev/null && cd "$(pwd -P)" && visit $(($1 + 1)) ); fi
  done
}
if ! command -v git >/dev/null 2>&1; then echo none
elif cd ${logical ? "" : "-P "}${quoted(directory)} 2>/dev/null && cd "$(pwd -P)"; then
  me=$(id -u)
  visit 0
else echo ${entered === true ? "missing" : "none"}
fi
echo end
)`;
}

/** Prints the same text as long as an answer with these files is valid: where the repository is, and their contents. */
export function gitFingerprintScript({ directory, entered, stays }: Condition, files: readonly string[]): string {
  return `(
${QUIETLY}
cd ${entered === true || stays === true ? "" : "-P "}${quoted(directory)} 2>/dev/null && pwd -P
ask rev-parse --absolute-git-dir
cksum ${[...files, "/dev/null"].map((file) => quoted(file)).join(" ")} 2>&1
ls -dniL "$(ask rev-parse --git-path index)" 2>&1
)`;
}

const QUIETLY = `${ABSOLUTE_PATH}
unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_NAMESPACE CDPATH
unset GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_TRACE GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF
GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 LC_ALL=C
export GIT_OPTIONAL_LOCKS GIT_NO_LAZY_FETCH LC_ALL
ask() { git --no-pager -c core.fsmonitor=false "$@" </dev/null 2>/dev/null; }`;

function quoted(directory: string): string {
  const path = directory.startsWith("-") ? `./${directory}` : directory;
  return /^~(?:\/|$)/.test(path) ? `~${inQuotes(path.slice(1))}` : inQuotes(path);
}

export interface GitRepositoryAnswer {
  /** Why a read there needs a question; undefined if it starts nothing that the repository names. */
  readonly doubt: string | undefined;
  /** The answer is valid until one of these files changes; undefined if it must not be cached. */
  readonly files: readonly string[] | undefined;
}

export function readGitRepository(output: string): GitRepositoryAnswer {
  const lines = output.split("\n").filter((line) => line !== "");
  if (lines.pop() !== "end") return { doubt: "git did not report how the repository is configured", files: undefined };
  const doubt = lines.map(doubtOf).find((why) => why !== undefined);
  // Included files are not listed, and submodules change with the index.
  const kept =
    lines.filter((line) => line === "repository").length === 1 && !lines.some((line) => /^key include/i.test(line));
  return {
    doubt,
    files: kept ? lines.flatMap((line) => (line.startsWith("file /") ? [line.slice(5)] : [])) : undefined,
  };
}

function doubtOf(line: string): string | undefined {
  if (line.startsWith("file ") || line === "repository" || line === "none") return undefined;
  if (!line.startsWith("key "))
    return Object.hasOwn(DOUBTS, line) ? DOUBTS[line] : "git's report about the repository is not valid";
  const [key = "", value] = line.slice(4).split("\u001E");
  return isHarmlessSetting(key.toLowerCase(), value ?? "true")
    ? undefined
    : `the repository's configuration sets ${key}, which may start a program or show another file`;
}

const DOUBTS: Readonly<Record<string, string>> = {
  foreign: "the repository belongs to another user",
  embedded: "it is a bare repository inside another repository",
  refused: "git does not accept the repository",
  outside: "the repository's configuration, or a link in it, names files outside it",
  hook: "the repository has a hook that runs when git refreshes its index",
  missing: "the directory cannot be entered, so git would read another one",
  deep: "the submodules are nested too deeply to check",
};

/** Settings that name no program. Any other may: git ignores unknown ones, but another version may know them. */
export function isHarmlessSetting(key: string, value: string): boolean {
  const [, section = "", name = ""] = /^([^.]+)(?:\.[^]*)?\.([^.]+)$/.exec(key) ?? [];
  const harmless = Object.hasOwn(HARMLESS, section) ? HARMLESS[section] : undefined;
  // These may show or sort by a signature, which starts gpg.
  if (/^(?:pretty|sort)$/.test(name) && /%G|signature/.test(value)) return false;
  if (/^(?:blame\.ignorerevsfile|core\.attributesfile)$/.test(key)) return /^(?:\.git[\w.-]+)?$/.test(value);
  if (harmless === "*" || harmless?.has(name) === true) return true;
  const off = /^(?:false|no|off|0|)$/i.test(value);
  if (key === "core.fsmonitor") return off;
  if (section === "pager") return off || /^(?:true|yes|on|1|cat)$/i.test(value);
  return key === "core.pager" && value === "cat";
}

/** By section: names, whatever subsection is between, or all names. */
const HARMLESS: Readonly<Record<string, "*" | ReadonlySet<string>>> = {
  core: new Set(
    words(`abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring
      commitgraph compression createobject deltabasecachelimit eol excludesfile filemode filesreffastpath fsync fsyncmethod
      fsyncobjectfiles hidedotfiles ignorecase ignorestat logallrefupdates longpaths loosecompression maxtreedepth
      multipackindex notesref packedgitlimit packedgitwindowsize packedrefstimeout filesreflocktimeout precomposeunicode
      preferssymlinkrefs prefersymlinkrefs preloadindex protecthfs protectntfs quotepath repositoryformatversion
      restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime
      unsetenvvars untrackedcache usereplacerefs warnambiguousrefs whitespace worktree`),
  ),
  remote: new Set(
    words(
      "url pushurl fetch push mirror tagopt prune prunetags skipdefaultupdate skipfetchall pushdefault gh-resolved",
    ),
  ),
  branch: new Set(
    words(`remote merge rebase description pushremote mergeoptions autosetupmerge autosetuprebase sort
      gh-merge-base vscode-merge-base github-pr-owner-number`),
  ),
  extensions: new Set(words("worktreeconfig objectformat refstorage compatobjectformat preciousobjects noop")),
  submodule: new Set(words("url active branch ignore fetchrecursesubmodules recurse propagatebranches fetchjobs path")),
  user: new Set(words("name email signingkey useconfigonly")),
  author: new Set(words("name email")),
  committer: new Set(words("name email")),
  diff: new Set(
    words(`algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat dstprefix funcname
      ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix orderfile relative renamelimit renames
      srcprefix statgraphwidth statnamewidth submodule suppressblankempty wordregex wserrorhighlight xfuncname`),
  ),
  merge: new Set(
    words(`autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff guitool log name recursive
      renamelimit renames renormalize stat suppressdest tool verbosity verifysignatures`),
  ),
  filter: new Set(["required"]),
  include: new Set(["path"]),
  log: new Set(
    words(`abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap
      showroot`),
  ),
  commit: new Set(words("cleanup gpgsign status template verbose")),
  tag: new Set(words("gpgsign forcesignannotated sort")),
  lfs: new Set(words("repositoryformatversion url access pushurl fetchinclude fetchexclude locksverify")),
  push: "*",
  pull: "*",
  fetch: new Set(
    words("prune prunetags recursesubmodules parallel output fsckobjects all writecommitgraph showforcedupdates"),
  ),
  rebase: new Set(words("autosquash autostash stat updaterefs abbreviatecommands missingcommitscheck backend")),
  rerere: "*",
  status: "*",
  color: "*",
  column: "*",
  advice: "*",
  i18n: "*",
  blame: "*",
  grep: "*",
  format: new Set(words("pretty notes signoff thread subjectprefix suffix numbered outputdirectory")),
  url: new Set(words("insteadof pushinsteadof")),
  http: "*",
  https: "*",
  gc: "*",
  pack: "*",
  index: "*",
  feature: new Set(["manyfiles"]),
  maintenance: "*",
  receive: new Set(words("denycurrentbranch denynonfastforwards denydeletes fsckobjects unpacklimit autogc")),
  transfer: "*",
  init: new Set(["defaultbranch"]),
  checkout: "*",
  clean: "*",
  apply: "*",
  notes: "*",
  stash: "*",
  versionsort: "*",
  worktree: "*",
  "svn-remote": new Set(words("url fetch branches tags")),
  gitflow: "*",
  gui: new Set(words("wmstate geometry encoding")),
};
