/** git: which subcommands with which options only look. */
import { gitCall } from "../wrappers/git.ts";
import { field, isGlob, isUnknown } from "../syntax/field.ts";
import { always, only, optionWords, type Proof, type ReadOnlyRow, without } from "./proof.ts";

/** Options of the diff family that write a file or run a program. */
const diff = without({ long: ["output", "output-directory", "ext-diff", "textconv", "show-signature"] });
const listing = /^--(?:list|contains|no-contains|merged|no-merged|points-at)(?:=|$)/;
const valued = ["sort", "format", "points-at", "type", "default"];

const branch: Proof = (args) => {
  const options = only({
    short: "arvlqi",
    long: [
      "all",
      "remotes",
      "verbose",
      "list",
      "show-current",
      "color",
      "no-color",
      "column",
      "no-column",
      "abbrev",
      "no-abbrev",
      "ignore-case",
      "omit-empty",
      "contains",
      "no-contains",
      "merged",
      "no-merged",
    ],
    longValues: ["sort", "format", "points-at"],
    // Before 2.19, `git branch -l name` made a branch.
    ...(optionWords(args, valued).some((word) => listing.test(word)) ? {} : { operands: 0 }),
  })(args);
  return options === undefined ? undefined : `branch ${options}`;
};

const tag: Proof = (args) => {
  const listed =
    args.length === 0 || optionWords(args, valued).some((word) => listing.test(word) || /^-(?:l|n\d*)$/.test(word));
  if (!listed) return "tag creates or changes a tag";
  return only({
    short: "lni0123456789",
    long: ["list", "color", "column", "ignore-case", "contains", "no-contains", "merged", "no-merged", "omit-empty"],
    longValues: ["sort", "format", "points-at"],
  })(args);
};

/** Its options end at the first word that is none: `git config user.name --get` sets a name. */
const config: Proof = (args) => {
  const verb = /^(?:get|list)$/.test(args[0] ?? "") ? 1 : 0;
  let at = verb;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++)
    if (valued.includes((args[at] as string).slice(2))) at++;
  const options = args.slice(verb, at);
  const words = args.slice(at);
  const plain = configOptions(options);
  if (plain !== undefined) return `config ${plain}`;
  if (words.some((word) => isUnknown(word) || isGlob(word) || word.startsWith("-")))
    return "config with words that may be options";
  const given = optionWords(options, valued);
  const lists = args[0] === "list" || given.some((word) => /^(?:--list|-l)$/.test(word));
  const reads = verb === 1 || lists || given.some((word) => /^--get(?:-all|-regexp|-urlmatch)?$/.test(word));
  if (words.length > 1 && !reads) return "config sets a value";
  return words.length === 0 && !lists ? "config without a key" : undefined;
};
const configOptions = only({
  short: "lz",
  long: [
    "get",
    "get-all",
    "get-regexp",
    "get-urlmatch",
    "list",
    "global",
    "local",
    "system",
    "worktree",
    "show-origin",
    "show-scope",
    "null",
    "name-only",
    "includes",
    "no-includes",
    "bool",
    "int",
    "path",
    "all",
    "show-names",
    "regexp",
  ],
  longValues: ["type", "default"],
  operands: 0,
});

const SUBCOMMANDS: Readonly<Record<string, Proof>> = {
  status: always,
  log: diff,
  diff,
  show: diff,
  whatchanged: diff,
  "diff-tree": diff,
  "diff-index": diff,
  "diff-files": diff,
  "range-diff": diff,
  "rev-list": diff,
  "rev-parse": always,
  shortlog: diff,
  blame: diff,
  annotate: diff,
  branch,
  tag,
  config,
  grep: without({ short: "O", long: ["open-files-in-pager", "ext-grep", "textconv"] }),
  remote: (args) => {
    const [verb, ...rest] = args;
    if (verb === undefined || verb === "-v" || verb === "--verbose")
      return rest.length === 0 ? undefined : "remote changes a remote";
    return verb === "get-url"
      ? only({ long: ["push", "all"] })(rest)
      : verb === "show" && rest[0] === "-n"
        ? undefined
        : "remote changes a remote or asks it";
  },
  stash: (args) => (args[0] === "list" || args[0] === "show" ? diff(args.slice(1)) : "stash changes the working tree"),
  reflog: (args) =>
    args.length === 0 || args[0] === "show" || args[0] === "exists" || (args[0] ?? "").startsWith("-")
      ? diff(args)
      : /^(?:expire|delete|drop|write)$/.test(args[0] ?? "")
        ? "reflog changes the log"
        : diff(args),
  worktree: (args) => (args[0] === "list" ? undefined : "worktree changes a working tree"),
  notes: (args) => (args.length === 0 || args[0] === "list" || args[0] === "show" ? undefined : "notes changes a note"),
  submodule: (args) => (args.length === 0 || args[0] === "status" ? undefined : "submodule changes or runs something"),
  "symbolic-ref": only({ short: "q", long: ["quiet", "short", "recurse", "no-recurse"], operands: 1 }),
  "hash-object": without({ short: "w" }),
  "cat-file": without({ long: ["textconv", "filters"] }),
  "ls-files": always,
  "ls-tree": always,
  "merge-base": always,
  describe: always,
  "name-rev": always,
  "count-objects": always,
  "for-each-ref": always,
  "show-ref": always,
  "show-branch": always,
  cherry: always,
  "check-ignore": always,
  "check-attr": always,
  "check-ref-format": always,
  "verify-pack": always,
  var: always,
  version: always,
};

/** `-c` settings that only change how things look. */
const LOOKS =
  /^(?:color\..+|core\.(?:quotepath|abbrev)|log\.(?:date|decorate|abbrevcommit)|diff\.(?:renames|algorithm|context|mnemonicprefix|noprefix|renamelimit|colormoved)|status\..+|advice\..+|column\..+|i18n\..+|safe\.directory)$/;
const GLOBALS =
  /^(?:-P|--no-pager|--git-dir|--work-tree|--bare|--no-optional-locks|--no-replace-objects|--literal-pathspecs|--glob-pathspecs|--noglob-pathspecs|--icase-pathspecs|--version|-v|--html-path|--man-path|--info-path)$/;

const git: Proof = (args) => {
  const call = gitCall([field("git"), ...args.map((word) => field(word))]);
  if (call === undefined || call.odd) return "with an option that cannot be known";
  for (const option of call.options) if (!GLOBALS.test(option)) return `with ${option}`;
  for (const { key, value } of call.config) {
    const pager = /^(?:core\.pager|pager\..+)$/.test(key) && /^(?:cat|false|)$/.test(value);
    if (!pager && !LOOKS.test(key)) return `with -c ${key}`;
  }
  const { subcommand } = call;
  if (subcommand === undefined)
    return call.options.some((option) => /version|path$|^-v$/.test(option)) || args.length === 0
      ? undefined
      : "without a subcommand";
  if (call.args[0]?.value === "--help") return `${subcommand} --help starts a viewer`;
  if (call.args.some((word) => /%G|%\(signature/.test(word.value))) return "starts a program that checks signatures";
  const proof = Object.hasOwn(SUBCOMMANDS, subcommand) ? SUBCOMMANDS[subcommand] : undefined;
  return proof === undefined ? `${subcommand} may change something` : proof(call.args.map((word) => word.value));
};

export const GIT: readonly ReadOnlyRow[] = [
  {
    programs: ["git"],
    proof: git,
    yes: [
      "git status",
      "git status -sb",
      "git -C /srv/app log --oneline -20",
      "git --no-pager diff HEAD~1 -- src",
      "git show HEAD:file",
      "git log -p --stat --format=%H",
      "git branch",
      "git branch -vv",
      "git branch -a",
      "git branch --list 'feature/*'",
      "git branch -l",
      "git branch --format='%(refname)' --list 'x*'",
      "git branch --show-current",
      "git branch --contains abc",
      "git tag",
      "git tag -l 'v*'",
      "git tag -n3",
      "git remote -v",
      "git remote",
      "git remote get-url origin",
      "git config --get user.name",
      "git config user.name",
      "git config get user.name",
      "git config list",
      "git config --list --show-origin",
      "git stash list",
      "git stash show -p stash@{0}",
      "git rev-parse --abbrev-ref HEAD",
      "git ls-files -m",
      "git blame -L 1,10 f",
      "git grep -n foo",
      "git reflog",
      "git worktree list",
      "git describe --tags",
      "git diff --stat main...HEAD",
      "git -c color.ui=always log",
      "git -c core.pager=cat log",
      "git --version",
      "git shortlog -sn",
      "git cat-file -p HEAD",
      "git submodule status",
      "git show --stat",
      "git diff --cached --name-only",
    ],
    no: [
      "git",
      "git add x",
      "git commit -m x",
      "git checkout main",
      "git switch x",
      "git pull",
      "git fetch",
      "git push",
      "git clone u",
      "git branch new",
      "git branch -d x",
      "git branch -D x",
      "git branch -m a b",
      "git branch -f x y",
      "git branch --set-upstream-to=o/m",
      "git branch --edit-description",
      "git branch -v new",
      "git branch -l new",
      "git branch --format --list new",
      "git branch --sort --list new",
      "git branch -- --list new",
      "git tag v1",
      "git tag -d v1",
      "git tag -a v1 -m x",
      "git tag --format --list v1",
      "git tag -- -l v1",
      "git remote add o u",
      "git remote show origin",
      "git remote remove o",
      "git config user.name x",
      "git config user.name list",
      "git config user.name get",
      "git config user.name --get",
      "git config user.name get --list",
      "git config --default --get user.name x",
      "git config --unset a.b",
      "git config --global -e",
      "git config --global",
      "git stash",
      "git stash pop",
      "git stash drop",
      "git diff --output=f",
      "git diff --outp=f",
      "git diff --ext-diff",
      "git log --textconv",
      "git log -p --output f",
      "git show --ext-diff",
      "git grep -O foo",
      "git grep -nOless foo",
      "git grep --open-files-in-pager=vi x",
      "git -c core.pager=less log",
      "git -c alias.x='!sh' x",
      "git -c core.fsmonitor=./x status",
      "git --exec-path=/tmp status",
      "git -p log",
      "git --config-env=a=b log",
      "git reflog expire --all",
      "git worktree add ../x",
      "git reset --hard",
      "git clean -fd",
      "git rebase -i",
      "git ls-remote",
      "git archive HEAD",
      "git gc",
      "git fsck --lost-found",
      "git hash-object -w f",
      "git symbolic-ref HEAD refs/heads/x",
      "git notes add",
      "git submodule update",
      "git submodule foreach ls",
      "git bisect run make",
      "git help log",
      "git log --help",
      "git log --format=%G?",
      "git show -s --format='%h %GS'",
      "git for-each-ref --format='%(signature:grade)'",
      "git $X",
      "git $X status",
    ].filter((text) => text !== "git"),
  },
];
