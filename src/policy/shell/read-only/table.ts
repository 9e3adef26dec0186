/** Programs that can be proven to change nothing, with the options for which that holds and examples of both. */
import { field, isUnknown, SPLIT } from "../syntax/field.ts";
import { findPlan } from "../wrappers/find.ts";
import { AWK } from "./awk.ts";
import { CONTAINERS } from "./containers.ts";
import { GIT } from "./git.ts";
import { MACOS } from "./macos.ts";
import { always, having, only, type Proof, type ReadOnlyRow, without } from "./proof.ts";
import { SED } from "./sed.ts";
import { STORAGE } from "./storage.ts";
import { SYSTEM } from "./system.ts";
import { TOOLCHAINS } from "./toolchains.ts";

const FILES: readonly ReadOnlyRow[] = [
  {
    programs: [
      "ls",
      "dir",
      "vdir",
      "cat",
      "tac",
      "nl",
      "head",
      "tail",
      "wc",
      "cut",
      "paste",
      "join",
      "comm",
      "fold",
      "fmt",
      "expand",
      "unexpand",
      "rev",
      "tr",
      "od",
      "hexdump",
      "hd",
      "strings",
      "stat",
      "du",
      "basename",
      "dirname",
      "realpath",
      "readlink",
      "cmp",
      "md5sum",
      "sha1sum",
      "sha224sum",
      "sha256sum",
      "sha384sum",
      "sha512sum",
      "b2sum",
      "cksum",
      "sum",
      "grep",
      "egrep",
      "fgrep",
      "zgrep",
      "zcat",
      "bzcat",
      "xzcat",
      "column",
      "numfmt",
      "tsort",
      "pr",
      "look",
      "jq",
      "lsattr",
      "getfacl",
      "getfattr",
      "getcap",
      "namei",
      "findmnt",
      "lsblk",
      "pathchk",
      "zipinfo",
    ],
    proof: always,
    yes: [
      "ls",
      "ls -la $DIR",
      "cat *",
      'cat "$f"',
      "tail -f /var/log/syslog",
      "grep -rn 'rm -rf /' .",
      "head -n 5 f",
      "wc -l *.ts",
      "stat -c %s f",
      "du -sh *",
      "df -h",
      "tr a-z A-Z",
      "jq -r '.a[] | .b' f",
      "cat < f",
      "cat <<< x",
      "grep foo f 2>/dev/null",
      "sha256sum f",
      "ls -l | grep x | wc -l",
    ],
    no: [
      "ls > out",
      "cat a >> b",
      "grep x f | tee y",
      "cat /dev/sda",
      "head -c 1M /dev/nvme0n1",
      "LD_PRELOAD=x ls",
      "cat < /dev/tcp/h/80",
      "ls; rm x",
    ],
  },
  {
    programs: ["nm", "size", "readelf", "objdump"],
    proof: without({ long: ["plugin"] }),
    yes: ["nm -C a.out", "objdump -d a.out", "readelf -h a.out"],
    no: ["nm --plugin x.so a.out", "nm --plugin=x.so a", "nm --plug x a", "nm $X"],
  },
  {
    programs: ["zstdcat"],
    proof: only({ short: "vqf" }),
    yes: ["zstdcat x.zst", "zstdcat -q x.zst"],
    no: ["zstdcat x.zst -o y", "zstdcat --output-dir-flat=y x"],
  },
  {
    programs: ["df"],
    proof: without({ long: ["sync"] }),
    yes: ["df -h", "df -hT /", "df --output=source,size"],
    no: ["df --sync", "df --sy /"],
  },
  {
    programs: ["diff"],
    proof: without({ short: "l", long: ["paginate"] }),
    yes: ["diff a b", "diff -ru a b", "diff -u <(sort a) <(sort b)"],
    no: ["diff -l a b", "diff --paginate a b", "diff $X b"],
  },
  {
    programs: ["sort"],
    proof: without({ short: "oT", long: ["output", "compress-program", "temporary-directory"] }),
    yes: ["sort f", "sort -k2,2nr f", "sort -u -t: -k3n f", "sort ./*", "sort"],
    no: [
      "sort -o f f",
      "sort -uo f f",
      "sort --output=f f",
      "sort --outp f f",
      "sort --compress-program=x f",
      "sort *",
      "sort $F",
      "sort -of",
    ],
  },
  {
    programs: ["uniq"],
    proof: (args) => {
      if (args.some((word) => /^-[fsw]$/.test(word) || /^--(?:skip|check)[a-z-]*$/.test(word))) {
        // These take a value in the next word, which is no operand.
        const kept = args.filter((word, index) => !/^-[fsw]$|^--(?:skip|check)[a-z-]*$/.test(args[index - 1] ?? ""));
        return without({ operands: 1, strict: true })(kept);
      }
      return without({ operands: 1, strict: true })(args);
    },
    yes: ["uniq", "uniq -c f", "uniq -d", "uniq -f 1 f"],
    no: ["uniq a b", "uniq a -c", "uniq -c a b", "uniq $X", "uniq *", "uniq -- a b", "uniq -f 1 a b"],
  },
  {
    programs: ["shuf"],
    proof: without({ short: "o", long: ["output", "random-source"] }),
    yes: ["shuf -n 3 f", "shuf -i 1-10"],
    no: ["shuf -o f f", "shuf --output=f f", "shuf -no f"],
  },
  {
    programs: ["base64", "base32", "basenc"],
    // macOS writes to a file with -o.
    proof: without({ short: "o", long: ["output"] }),
    yes: ["base64 f", "base64 -d f", "base64 -w 0 f"],
    no: ["base64 -o f g", "base64 -i a -o b", "base64 --output f", "base64 -dof"],
  },
  {
    programs: ["xxd"],
    // Its options with values take the next word; the second operand is a file to write.
    proof: (args) => {
      const rest: string[] = [];
      for (let i = 0; i < args.length; i++)
        if (/^-[lscgo]$/.test(args[i] as string) && /^[-+]?(?:0x)?[0-9a-fA-F]+$/.test(args[i + 1] ?? "")) i++;
        else if (/^-[lscgo]$/.test(args[i] as string)) return "with what may be a file to write";
        else rest.push(args[i] as string);
      return without({ short: "rnR", operands: 1, strict: true })(rest);
    },
    yes: ["xxd f", "xxd -l64 f", "xxd -l 64 f", "xxd -s 10 -l 20 f", "xxd -s -16 f"],
    no: ["xxd a b", "xxd a -p", "xxd -r a", "xxd -r -p a b", "xxd -l -s a b", "xxd -c -l a b"],
  },
  {
    programs: ["file"],
    proof: without({ short: "CzZp", long: ["compile", "uncompress", "uncompress-noreport", "preserve-date"] }),
    yes: ["file f", "file -b --mime-type f", "file ./*"],
    no: ["file -C -m x", "file -z f", "file --compile", "file *", "file -p f"],
  },
  {
    programs: ["tree"],
    proof: without({ short: "oR", long: ["output"] }),
    yes: ["tree", "tree -L 2 src", "tree -a -I node_modules"],
    no: ["tree -o f", "tree -H . -o f", "tree -R"],
  },
  {
    programs: ["find", "gfind"],
    proof: (args) => {
      if (
        args.some(
          (word, index) =>
            /^[\uFDD0-\uFDD2]/.test(word) && !/^-i?(?:name|path|regex|wholename)$/.test(args[index - 1] ?? ""),
        )
      )
        return "with what may be an action";
      const plan = findPlan([field("find"), ...args.map((word) => field(word))]);
      if (plan.odd) return "with words that are not known";
      if (plan.actions.some((action) => action.kind === "delete")) return "-delete removes files";
      if (plan.actions.some((action) => action.kind === "write")) return "writes its list into a file";
      return args.some((word) => /^-ok(?:dir)?$/.test(word)) ? "-ok asks on the terminal" : undefined;
    },
    yes: [
      "find . -name '*.ts'",
      "find / -type f -size +100M 2>/dev/null",
      "find . -name x -exec grep -l foo {} +",
      "find . -name x -exec grep -l foo {} \\;",
      "find . \\( -name a -o -name b \\) -print0",
      "find -maxdepth 1",
      "find . -newer f -printf '%p\\n'",
      "find . -type f | xargs wc -l",
      "find .",
    ],
    no: [
      "find . -name x -delete",
      "find . -exec rm {} \\;",
      "find . -fprint out",
      "find . -fprintf out %p",
      "find . -fls out",
      "find . -ok ls {} \\;",
      "find . -exec sh -c 'rm x' \\;",
      "find . -exec sh -c 'echo {}' \\;",
      "find $X",
      "find * -name x",
      "find . -execdir mv {} x \\;",
      "find . -bogus",
      "find . -exec $X {} +",
    ],
  },
  {
    programs: ["tar", "bsdtar", "gtar"],
    proof: (args) => {
      const words = /^[a-zA-Z]+$/.test(args[0] ?? "") ? [`-${args[0]}`, ...args.slice(1)] : args;
      if (!words.some((word) => word === "--list" || (/^-[a-zA-Z]+$/.test(word) && word.includes("t"))))
        return "does more than list an archive";
      if (words.some((word) => word.includes(":") || isUnknown(word))) return "may ask another machine";
      return only({
        short: "tvzjJaOp",
        values: "fC",
        long: [
          "list",
          "verbose",
          "gzip",
          "bzip2",
          "xz",
          "zstd",
          "auto-compress",
          "numeric-owner",
          "full-time",
          "force-local",
          "wildcards",
        ],
        longValues: ["file", "directory", "exclude", "strip-components"],
      })(words);
    },
    yes: [
      "tar -tf a.tar",
      "tar tzf a.tgz",
      "tar -tvf a.tar.xz",
      "tar --list --file=a.tar",
      "tar -C x -tf a.tar member",
    ],
    no: [
      "tar xf a.tar",
      "tar -cf a.tar x",
      "tar -tf a --to-command=sh",
      "tar -tf a -I sh",
      "tar -tf a --use-compress-program=sh",
      "tar -tf host:a",
      "tar -tf $X",
      "tar --checkpoint-action=exec=sh -tf a",
      "tar -tf a --index-file=x",
      "tar -txf a",
      "tar --delete -tf a",
    ],
  },
  {
    programs: ["unzip"],
    // -T sets the archive's own date, except in the mode of -Z.
    proof: (args) =>
      args[0]?.startsWith("-Z") === true
        ? only({ short: "Z12hsmlvtzTMC" })(args)
        : having(/^-[qCaz]*[lvtpc]/, "-l", only({ short: "lvtzqpcCa" }))(args),
    yes: ["unzip -l a.zip", "unzip -Z1 a.zip", "unzip -p a.zip f", "unzip -qc a.zip f", "unzip -ZT a.zip"],
    no: [
      "unzip a.zip",
      "unzip -o a.zip",
      "unzip -l a.zip -d /x",
      "unzip -lT a.zip",
      "unzip -- a.zip -l",
      "unzip a.zip -- -p",
    ],
  },
  {
    programs: ["gzip", "bzip2", "xz", "zstd", "gunzip", "bunzip2", "unxz", "unzstd"],
    proof: having(
      /^-[a-zA-Z]*[clt]|^--(?:stdout|list|test|to-stdout)$/,
      "-c",
      only({
        short: "cdkltvqf0123456789",
        long: ["stdout", "to-stdout", "decompress", "list", "test", "keep", "verbose", "quiet"],
      }),
    ),
    yes: ["gzip -dc f.gz", "gunzip -c f", "xz -l f.xz", "gzip -l f"],
    no: ["gzip f", "gunzip f.gz", "xz -d f", "zstd f", "gzip -c f -S x", "gzip -- f -c", "xz -d -- -l"],
  },
  {
    programs: ["rg", "ripgrep"],
    proof: without({ short: "z", long: ["pre", "hostname-bin", "search-zip", "pre-glob"] }),
    yes: ["rg foo", "rg -n --hidden -g '*.ts' foo src", "rg 'rm -rf /'"],
    no: ["rg --pre cat foo", "rg --pre=x foo", "rg --hostname-bin=x foo", "rg -z foo", "rg $X"],
  },
  {
    programs: ["fd", "fdfind"],
    proof: without({ short: "xX", long: ["exec", "exec-batch"] }),
    yes: ["fd foo", "fd -e ts -t f . src"],
    no: ["fd foo -x rm", "fd -X vi", "fd --exec rm", "fd -tfx rm"],
  },
  {
    programs: ["ag"],
    proof: without({ long: ["pager"] }),
    yes: ["ag foo src"],
    no: ["ag --pager=less foo"],
  },
  {
    programs: ["yq"],
    proof: without({
      short: "is",
      long: ["inplace", "split-exp", "in-place", "split-exp-file", "from-file", "security-enable-system-operator"],
    }),
    yes: ["yq .a f.yaml", "yq -r .a f"],
    no: ["yq -i .a=1 f", "yq --inplace .a=1 f", "yq -s .a f"],
  },
];

/** Some shells evaluate a number like arithmetic, and run what stands in a subscript. */
const holdsCode = (args: readonly string[]) => args.some((word) => /\[[^]*(?:\$\(|`)/.test(word));

const tests: Proof = (args) => {
  if (args.includes("-v") || args.includes("-R")) return "with -v evaluates a subscript";
  return holdsCode(args) && args.some((word) => /^-(?:eq|ne|lt|le|gt|ge|t)$/.test(word))
    ? "evaluates a subscript"
    : undefined;
};

const prints: Proof = (args) => {
  const [first = ""] = args;
  if (first.startsWith("-v") && !/^[A-Za-z_]\w*$/.test(first === "-v" ? (args[1] ?? "") : first.slice(2)))
    return "with -v evaluates a name";
  if (/^[\uFDD0-\uFDD2]/.test(first)) return "with what may be an option";
  const format = args[first === "-v" ? 2 : first === "--" ? 1 : 0] ?? "";
  if (/%[^%a-zA-Z]*n/.test(format.replaceAll("%%", ""))) return "with %n sets a variable";
  return holdsCode(args.slice(1)) && /%[^%a-zA-Z]*[diouxXeEfFgGaAc]|%[^%a-zA-Z]*\*/.test(format)
    ? "evaluates a number"
    : undefined;
};

const PLAIN_NAME = /^[A-Za-z_]\w*$/;

const counts: Proof = (args) => (holdsCode(args) ? "evaluates a number" : undefined);

/** Words that become several do not matter to these: their options are only looked for where they were checked. */
const ANY_WORDS: ReadonlySet<Proof> = new Set([always, tests, prints, counts]);

const SHELL: readonly ReadOnlyRow[] = [
  {
    programs: [
      "echo",
      "true",
      "false",
      ":",
      "pwd",
      "type",
      "which",
      "whereis",
      "times",
      "sleep",
      "seq",
      "expr",
      "yes",
      "factor",
      "cd",
      "pushd",
      "popd",
      "printenv",
      "caller",
    ],
    proof: always,
    yes: [
      "echo rm -rf /",
      'echo "$X"',
      "cd /tmp && ls",
      "sleep 1",
      "true",
      "pwd",
      "which rm",
      "seq 1 10",
      "printenv PATH",
      "echo $(ls)",
      "for f in *; do echo $f; done",
      "if [ -f x ]; then cat x; fi",
      'while read -r l; do echo "$l"; done < f',
      "x=$(ls | wc -l); echo $x",
      "case $X in a) ls;; *) pwd;; esac",
    ],
    no: [
      "echo x > f",
      "echo $(rm x)",
      "echo `touch x`",
      "sleep 1 &",
      "f() { ls; }",
      "PATH=/tmp:$PATH ls",
      "PATH=/tmp",
      "IFS=,",
      "exit",
      "exec ls",
      "$X",
      "for f in *; do rm $f; done",
    ],
  },
  {
    programs: ["break", "continue", "shift", "return"],
    proof: counts,
    yes: ["shift", "for x in a; do break; done", "while true; do continue 2; done"],
    no: ["shift 'a[$(id)]'", "break 'a[`id`]'", "exit 0"],
  },
  {
    programs: ["test", "["],
    proof: tests,
    yes: ["test -f x", "[ -d /tmp ]", "[ $x = y ]", '[ "$a" = b ] && echo y'],
    no: ["test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "[ 'a[$(id)]' -eq 1 ]"],
  },
  {
    programs: ["printf"],
    proof: prints,
    yes: ["printf '%s\\n' \"$x\"", "printf hello", "printf '%s\\n' $X", "printf -v name %s x"],
    no: [
      "printf -v 'a[$(id)]' x",
      "printf $X y",
      "printf x > f",
      "printf -vPATH x",
      "printf %n PATH",
      "printf %d 'a[$(id)]'",
    ],
  },
  {
    programs: ["read"],
    proof: (args) =>
      args.every((word) => /^-[ersu]*$|^-[adinNptu].*$|^[\w]+$|^[-\w ,:.?]*$/.test(word) && !word.includes("["))
        ? undefined
        : "evaluates a name",
    yes: ["read -r line", "IFS= read -r line", "IFS=: read -r a b"],
    no: ["read 'a[$(id)]'", "read PATH"],
  },
  {
    programs: ["jobs"],
    proof: only({ short: "lnprs", operands: /^%?\w*$/ }),
    yes: ["jobs", "jobs -l"],
    no: ["jobs -x touch z", "jobs $X"],
  },
  {
    programs: ["wait"],
    proof: only({ short: "nf", operands: /^[%+-]?[\w\uFDD2\uFDD4]+$/ }),
    yes: ["wait", "wait $!", "wait -n"],
    no: ["wait -p 'a[$(id)]'", "wait -p PATH"],
  },
  {
    programs: ["dirs"],
    proof: only({ short: "lpv", operands: /^[+-]\d+$/ }),
    yes: ["dirs", "dirs -v"],
    no: ["dirs -c", "dirs /x"],
  },
  {
    programs: ["mapfile", "readarray"],
    proof: (args) => (args.at(-1)?.includes("[") === true ? "evaluates a name" : without({ short: "C" })(args)),
    yes: ["mapfile -t lines < f"],
    no: ["mapfile -C 'rm x' -c 1 a", "mapfile -tC f a"],
  },
  {
    programs: ["command"],
    proof: having(/^-[pvV]+$/, "-v", always),
    yes: ["command -v ls", "command -V ls", "command ls"],
    no: ["command rm x"],
  },
  {
    programs: ["env"],
    proof: (args) => (args.every((word) => word === "-0" || word === "--null") ? undefined : "changes an environment"),
    yes: ["env", "env -0", "env LC_ALL=C ls", "env -i ls"],
    no: ["env LD_PRELOAD=x ls", "env rm x", "env PATH=/tmp ls", "env -S 'rm x'"],
  },
  {
    programs: [
      "set",
      "alias",
      "shopt",
      "export",
      "readonly",
      "declare",
      "typeset",
      "local",
      "trap",
      "umask",
      "history",
      "bind",
      "complete",
    ],
    proof: (args) => (args.length === 0 || (args.length === 1 && args[0] === "-p") ? undefined : "changes the shell"),
    yes: ["set", "alias", "export -p", "declare -p", "history", "umask"],
    no: [
      "set -e",
      "alias ls=rm",
      "export PATH=x",
      "export X=1",
      "declare x=1",
      "shopt -s extglob",
      "history -c",
      "umask 0",
      "trap 'rm x' EXIT",
      "unset x",
      "complete -C x y",
    ],
  },
  {
    programs: ["declare", "typeset", "shopt", "trap"],
    proof: (args) =>
      /^-[pfF]$/.test(args[0] ?? "") && args.slice(1).every((word) => PLAIN_NAME.test(word))
        ? undefined
        : "changes the shell",
    yes: ["declare -p PATH", "declare -F", "declare -f name", "shopt -p extglob", "trap -p EXIT"],
    no: ["declare -x x=1", "shopt -s x", "declare -p 'a[$(id)]'", "declare -f x=1"],
  },
  {
    programs: ["set"],
    proof: (args) => (args.length === 1 && /^[-+]o$/.test(args[0] as string) ? undefined : "changes the shell"),
    yes: ["set -o", "set +o"],
    no: ["set -o vi", "set -f", "set x"],
  },
  {
    programs: ["history"],
    proof: (args) => (args.length === 1 && /^[0-9]+$/.test(args[0] as string) ? undefined : "changes the history"),
    yes: ["history 20"],
    no: ["history -c", "history -d 1"],
  },
  {
    programs: ["ulimit"],
    proof: (args) => (args.every((word) => /^-[a-zA-Z]$/.test(word)) ? undefined : "changes a limit"),
    yes: ["ulimit -a", "ulimit -n", "ulimit"],
    no: ["ulimit -n 4096", "ulimit -c unlimited"],
  },
  {
    programs: ["kill"],
    proof: (args) => (/^-(?:l|L|0)$/.test(args[0] ?? "") ? undefined : "sends a signal"),
    yes: ["kill -0 123", "kill -l"],
    no: ["kill 1", "kill -9 1", "kill -s 0 1"],
  },
  {
    programs: [
      "node",
      "npm",
      "npx",
      "pnpm",
      "yarn",
      "bun",
      "deno",
      "python",
      "python3",
      "pip",
      "pip3",
      "ruby",
      "gem",
      "perl",
      "php",
      "go",
      "cargo",
      "rustc",
      "rustup",
      "java",
      "javac",
      "mvn",
      "gradle",
      "gcc",
      "g++",
      "cc",
      "clang",
      "make",
      "cmake",
      "ninja",
      "kubectl",
      "helm",
      "terraform",
      "ansible",
      "aws",
      "gcloud",
      "az",
      "gh",
      "nginx",
      "psql",
      "mysql",
      "redis-cli",
      "sqlite3",
      "ssh",
      "curl",
      "wget",
      "rsync",
      "vim",
      "nano",
      "code",
      "uv",
      "poetry",
      "tsc",
      "eslint",
      "tmux",
      "screen",
      "zsh",
      "openssl",
      "ffmpeg",
      "dotnet",
      "swift",
      "lua",
      "R",
    ],
    proof: (args) =>
      args.length === 1 && (args[0] === "--version" || args[0] === "-V") ? undefined : "may do anything",
    yes: ["node --version", "python3 --version", "make --version"],
    no: [
      "node x.js",
      "python3 -c 'print(1)'",
      "npm install",
      "make",
      "curl https://x",
      "ssh h ls",
      "go version -m x",
      "node --version x",
    ],
  },
];

export const READ_ONLY: readonly ReadOnlyRow[] = [
  ...FILES,
  ...SHELL,
  ...SED,
  ...AWK,
  ...GIT,
  ...SYSTEM,
  ...STORAGE,
  ...MACOS,
  ...TOOLCHAINS,
  ...CONTAINERS,
];

const PROOFS = new Map<string, Proof[]>();
for (const row of READ_ONLY)
  for (const name of row.programs) PROOFS.set(name, [...(PROOFS.get(name) ?? []), row.proof]);

/** Why a program with these arguments is not proven read-only; undefined: it is. */
export function notReadOnly(program: string, args: readonly string[]): string | undefined {
  const proofs = PROOFS.get(program);
  if (proofs === undefined) return "is not known to be read-only";
  let why: string | undefined;
  // A word that may become several may bring options and operands with it.
  const several = args.some((word) => word.includes(SPLIT));
  for (const proof of proofs) {
    if (several && !ANY_WORDS.has(proof)) {
      why ??= "with words that are only known when it runs";
      continue;
    }
    const found = proof(args);
    if (found === undefined) return undefined;
    why ??= found;
  }
  return why;
}
