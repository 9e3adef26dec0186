/** Which files a command writes, removes or changes: one table of programs for dangers, risk and undo. */
import { posix } from "node:path";
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import { isHarmlessSink } from "./dangers/protected-paths.ts";
import {
  type Field,
  field,
  globMatches,
  HOME,
  isFixed,
  isGlob,
  programName,
  readable,
  shown,
  SPLIT,
} from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import type { Write } from "./syntax/redirections.ts";
import { type WalkContext, walkText } from "./syntax/walk.ts";
import { findPlan } from "./wrappers/find.ts";
import { longOption } from "./wrappers/wrapped.ts";

export type Verb =
  /** Deletes it, or moves it away. */
  | "removes"
  /** Overwrites all that is in it, as `>` does. */
  | "empties"
  /** Writes to it, or copies another file over it. */
  | "writes"
  /** Puts another file in its place: a link of this name is not followed. */
  | "replaces"
  /** Puts a link in its place. */
  | "links"
  /** Changes its mode, owner, attributes or times. */
  | "mode"
  /** Makes or removes the directory itself. */
  | "directory"
  /** Changes files in this directory; which ones, only the running program knows. */
  | "fills";

interface FileChange {
  readonly does: Verb;
  readonly field: Field;
  /** If it is a directory, the names of the files in it: those of the sources. */
  readonly inside?: readonly string[];
  /** A test of find excludes some of the files below it. */
  readonly narrowed?: boolean;
}

export interface LocatedChange extends FileChange {
  /** Directories that the name may be relative to. */
  readonly directories: readonly string[];
}

/** What a command changes, also by its redirections. */
export function fileChanges({ argv, directories, writes }: FoundCommand): readonly LocatedChange[] {
  return [...changesBy(argv).changes.map((change) => ({ ...change, directories })), ...writes.map(redirected)];
}

export function redirected({ file, appends, directories }: Write): LocatedChange {
  return { does: appends ? "writes" : "empties", field: field(file, readable(file)), directories };
}

/** Every path that may be changed. */
export function pathsOf({ field: { value }, inside = [] }: FileChange): readonly string[] {
  return [value, ...inside.map((name) => `${value.replace(/\/+$/, "")}/${name}`)];
}

export interface Changes {
  /** Its name in the table; empty if it is not there. */
  readonly program: string;
  readonly changes: readonly FileChange[];
  /** Whether one of these options is given: letters and long names, separated by commas. */
  has(names: string): boolean;
}

const NONE: Changes = { program: "", changes: [], has: () => false };
const known = new WeakMap<readonly Field[], Changes>();

export function changesBy(argv: readonly Field[]): Changes {
  const before = known.get(argv);
  if (before !== undefined) return before;
  const name = programName(argv[0]?.value ?? "");
  const all = isGlob(name) ? [...table().keys()].filter((one) => mayBe(name, one)) : nameInTable(name);
  const [changes = NONE, ...others] = all.map((program) => changesOf(program, argv));
  const both = { ...changes, changes: [changes, ...others].flatMap((one) => one.changes) };
  known.set(argv, both);
  return both;
}

/** A pattern for a program (`/bin/r?`) is each program that it may match, unless it has no letters. */
export const mayBe = (pattern: string, name: string) => /[a-z]/.test(pattern) && globMatches(pattern, name);

/** Where other programs come first in the path, those of GNU have a g in front. */
function nameInTable(name: string): string[] {
  if (table().has(name)) return [name];
  return name.startsWith("g") && table().has(name.slice(1)) ? [name.slice(1)] : [];
}

function changesOf(program: string, argv: readonly Field[]): Changes {
  const { valued = [], rules = [] } = table().get(program) ?? {};
  const given = new Given(argv, valued, program.endsWith("tar"));
  const changes = rules.flatMap((rule) => selected(rule, given, argv));
  return { program, changes: changes.filter(changesFile), has: given.has };
}

/** `-` and /dev/null are not files where they name an output. */
const changesFile = ({ does, field: { value }, inside }: FileChange) =>
  value !== "" && !((does === "empties" || does === "writes") && inside === undefined && isSink(value));
const isSink = (value: string) => value === "-" || isHarmlessSink(value);

interface Option {
  readonly name: string;
  readonly value?: Field | undefined;
  /** It is not the beginning of another name. */
  readonly whole?: boolean;
}

/** The words of a command: options may follow operands, have their value in the same word, or be cut short. */
class Given {
  readonly operands: Field[] = [];
  readonly #options: Option[] = [];

  /** `bundled`: the first word may be letters without a dash, whose values follow in order. */
  constructor(argv: readonly Field[], valued: readonly string[], bundled: boolean) {
    const takes = (name: string, sign = "=") => valued.includes(`-${name}${sign}`);
    for (let at = 1; at < argv.length; at++) {
      const word = argv[at] as Field;
      const letters = bundled && at === 1 ? /^[a-zA-Z]+$/.exec(word.value)?.[0] : undefined;
      if (letters !== undefined)
        for (const name of letters) this.#options.push({ name, value: takes(name) ? argv[++at] : undefined });
      else if (word.value === "--") {
        this.operands.push(...argv.slice(at + 1));
        break;
      } else if (!word.value.startsWith("-") || word.value === "-") this.operands.push(word);
      else if (word.value.startsWith("--")) {
        const [name, value] = longOption(word.value);
        const whole = takes(`-${name}`) || takes(`-${name}`, "");
        const separate = takes(`-${name}`) || (!whole && valued.some((one) => one.startsWith(`--${name}`)));
        const given = value === undefined ? (separate ? argv[++at] : undefined) : part(word, value);
        this.#options.push({ name, value: given, whole });
      } else
        for (let i = 1; i < word.value.length; i++) {
          const name = word.value[i] as string;
          const rest = word.value.slice(i + 1);
          if (!takes(name) && !takes(name, "?")) this.#options.push({ name });
          else {
            this.#options.push({ name, value: rest !== "" ? part(word, rest) : takes(name) ? argv[++at] : undefined });
            break;
          }
        }
    }
    if (this.operands.length > 0) this.#options.push({ name: "operand", whole: true });
  }

  readonly has = (names: string): boolean => this.#of(names).length > 0;

  values(names: string): Field[] {
    return this.#of(names).flatMap(({ value }) => value ?? []);
  }

  #of(names: string): Option[] {
    const all = names.split(",");
    const isCut = ({ name, whole }: Option, one: string) => whole !== true && name.length > 1 && one.startsWith(name);
    return this.#options.filter((option) => all.some((one) => one === option.name || isCut(option, one)));
  }
}

/** For people, a part that only the running shell knows is shown with the whole word. */
const part = (word: Field, value: string) => field(value, isFixed(value) ? value : word.source);

/** One change of a row: what it does, to which words, and with or without which options. */
interface Rule {
  readonly does: Verb;
  readonly which: string;
  /** Option names that belong to `which`. */
  readonly names: string;
  readonly only: readonly string[];
  readonly never: readonly string[];
}

function selected({ does, which, names, only, never }: Rule, given: Given, argv: readonly Field[]): FileChange[] {
  if (!only.every(given.has) || never.some(given.has)) return [];
  const { operands } = given;
  const into = given.values("t,target-directory").at(-1);
  const each = (fields: readonly Field[]) => fields.map((field) => ({ does, field }));
  switch (which) {
    case "all":
      return each(operands);
    case "first":
      return each(operands.slice(0, 1));
    case "later":
      return each(later(given, names));
    case "sources":
      return each(into === undefined ? operands.slice(0, -1) : operands);
    case "last": {
      if (into !== undefined) return [{ does, field: into, inside: basenames(operands) }];
      const last = operands.slice(-1);
      const inside = basenames(operands.slice(0, -1));
      // A link may also be made here, with the name of the only operand.
      if (does === "links" && inside.length === 0)
        return basenames(last).map((name) => ({ does, field: part(last[0] as Field, name) }));
      if (given.has("T,no-target-directory")) return each(last);
      const direct = does === "links" && given.has("n,no-dereference") ? each(last) : [];
      return [...direct, ...last.map((field) => ({ does, field, inside }))];
    }
    case "saved": {
      const suffix = given.values("S,suffix").at(-1)?.value ?? "~";
      return selected({ does, which: "last", names, only, never }, given, argv).flatMap((change) =>
        each(pathsOf(change).map((path) => part(change.field, path.replace(/\/+$/, "") + suffix))),
      );
    }
    case "local":
      // The other end of a copy may be a machine.
      return selected({ does, which: "last", names, only, never }, given, argv).filter(
        ({ field }) => !/^[^/]*:/.test(field.value),
      );
    case "option":
      return each(given.values(names));
    case "here":
      return each([field(".")]);
    case "backups":
      return given
        .values(names)
        .flatMap((suffix) => each(later(given, "e,E,f,expression,file").map((word) => backup(word, suffix.value))));
    case "packed": {
      const [, own = ""] = SUFFIXES.find(([program]) => program.test(programName(argv[0]?.value ?? ""))) ?? [];
      return each(operands.flatMap((word) => renamed(word, [own, ...given.values("S,suffix").map(suffixOf)])));
    }
    case "find":
      return found(argv);
    default:
      return each(
        operands.flatMap((word) => (word.value.startsWith(which) ? part(word, word.value.slice(which.length)) : [])),
      );
  }
}

/** All but the first, which is a script or a mode, unless one of the options gives it. */
function later({ has, operands }: Given, names: string): Field[] {
  return has(names) ? operands : operands.filter(({ value }) => value !== "").slice(1);
}

/** `*` in a suffix stands for the name of the file, and a slash for another directory. */
function backup(word: Field, suffix: string): Field {
  const [, directory = "", name = ""] = /^(.*\/)?([^]*)$/.exec(word.value) ?? [];
  if (!suffix.includes("*")) return part(word, word.value + suffix);
  const all = suffix.replaceAll("*", name);
  return part(word, all.includes("/") ? all : directory + all);
}

const suffixOf = ({ value }: Field) => (value.startsWith(".") ? value : `.${value}`);
const SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/bz/, ".bz2"],
  [/xz/, ".xz"],
  [/lz/, ".lzma"],
  [/compress/, ".Z"],
  [/zst/, ".zst"],
  [/./, ".gz"],
];

/** Both names that a file may get: the program decides by what is in it. */
function renamed(word: Field, suffixes: readonly string[]): Field[] {
  const { value } = word;
  const unpacked = value.replace(/\.t[gbx]z2?$/, ".tar").replace(/\.(?:gz|z|Z|bz2|xz|lzma|zst)$/, "");
  const stripped = suffixes.flatMap((suffix) => (value.endsWith(suffix) ? value.slice(0, -suffix.length) : []));
  const names = new Set([...suffixes.map((suffix) => value + suffix), unpacked, ...stripped]);
  names.delete(value);
  return [...names].map((name) => part(word, name));
}

const basenames = (fields: readonly Field[]) =>
  fields.map(({ value }) => value.replace(/\/+$/, "").replace(/^.*\//, ""));

function found(argv: readonly Field[]): FileChange[] {
  const { starts, actions } = findPlan(argv);
  return actions.flatMap((action): FileChange[] => {
    if (action.kind === "write") return action.file === undefined ? [] : [{ does: "empties", field: action.file }];
    if (action.kind === "run") return [];
    const { narrowed } = action;
    return (starts.length === 0 ? [field(".")] : starts).map((field) => ({ does: "removes", field, narrowed }));
  });
}

interface Row {
  readonly valued: readonly string[];
  readonly rules: readonly Rule[];
}

/**
 * A row: `programs (options with values): changes`. `-x=` takes a value, `-x?` only in the same word; where systems
 * differ, it takes none. A long option without a value is listed if a longer one begins with its name.
 *
 * A change is a verb and what it is done to, `+x` if only with this option, `!x` if not with it: `all` operands, the
 * `first`, `later` ones (all, if one of the named options is given), `sources` and the `last` one of a copy and the
 * old file that is `saved` beside it, `local` if it is on this machine, the values of an `option`, `here` (the
 * directory it runs in), the rest of words with a prefix (`of=`), the `backups` of operands with the suffix that an
 * option gives, and what operands are called when they are `packed` or unpacked.
 * The name `operand` stands for any operand.
 */
const TABLE = `
rm srm rmtree unlink trash trash-put: removes all
rmdir: directory all
wipe: removes all; empties all
shred scrub nwipe (-n= -s= --iterations= --size= --random-source=): empties all
truncate (-r= -s= --reference= --size=): empties all
fallocate (-l= -o= --length= --offset=): writes all
tee sponge: empties all !a,append; writes all +a,append
dd dcfldd dc3dd: empties of=; empties hof=; empties wipe=; empties hwipe=
ddrescue: empties later
uniq (-f= -s= -w= --skip-fields= --skip-chars= --check-chars=): empties later
sort (-k= -o= -S= -t= -T= --output= --key= --field-separator= --buffer-size= --temporary-directory=): empties option/o,output
shuf (-i= -n= -o= --output=): empties option/o,output
pv (-i= -L= -N= -o= -s= --output=): empties option/o,output
cp (-S= -t= --suffix= --target-directory= --sparse= --no-preserve=): writes last; replaces last +a,archive,d,f,force,l,link,P,no-dereference,r,R,recursive,remove-destination,s,symbolic-link; replaces saved +b,backup,S,suffix
mv (-S= -t= --suffix= --target-directory=): removes sources; replaces last; replaces saved +b,backup,S,suffix
install (-g= -m= -o= -S= -t= --group= --mode= --owner= --suffix= --strip-program= --target-directory=): replaces last !d,directory; directory all +d,directory; replaces saved +b,backup,S,suffix !d,directory
ln (-S= -t= --suffix= --target-directory=): links last; replaces saved +b,backup,S,suffix
rsync (-e= -f= -B= -T= -M= --rsh= --filter= --exclude= --include= --exclude-from= --include-from= --files-from= --temp-dir= --compare-dest= --copy-dest= --link-dest= --backup --backup-dir= --suffix= --bwlimit= --timeout= --port= --password-file= --log-file= --out-format= --max-size= --min-size= --max-delete= --partial --partial-dir= --chmod= --chown= --rsync-path= --info= --debug=): removes sources +remove-source-files; fills local; removes local +delete-before,delete-during,delete-delay,delete-after,delete-excluded,delete-missing-args
scp (-c= -D= -F= -i= -J= -l= -o= -P= -S= -X=): fills local
sed (-e= -f= -i? -I? --expression= --file= --line-length=): replaces later/e,f,expression,file +i,I,in-place !follow-symlinks; writes later/e,f,expression,file +i,I,in-place +follow-symlinks; replaces backups/i,I,in-place
perl ruby (-e= -E= -I= -M? -m? -i? -F?): replaces later/e,E +i; replaces backups/i
awk (-F= -f= -v= -e= -E= -i= -l= --include= --file= --source= --assign= --field-separator= --exec=): replaces later/f,e,E,file,source,exec +i,include
yq (-I= -o= -p= --indent= --output-format= --input-format= --from-file=): replaces later/from-file +i,in-place,inplace
chmod (--reference=): mode later/r,w,x,X,s,t,u,g,o,a,reference
chown chgrp (--reference= --from=): mode later/reference
chattr (-p= -v=): mode later/a,A,c,C,d,D,e,F,i,j,m,p,P,s,S,t,T,u,v,x
chcon (-u= -r= -t= -l= --user= --role= --type= --range= --reference=): mode later/u,r,t,l,user,role,type,range,reference
setcap (-n=): mode later/r
setfacl (-m= -M= -x= -X= --modify= --modify-file= --remove= --remove-file= --restore= --set= --set-file=): mode all
setfattr (-n= -v= -x=): mode all
restorecon (-e= -f=): mode all
touch (-d= -t= -r= -A= --date= --reference= --time=): mode all
patch (-B= -d= -D= -F= -i= -o= -p= -r= -V= -Y= -z= --directory= --input= --output= --strip=): writes all; writes option/o,output; fills option/d,directory; fills here !d,directory,operand
vi vim nvim ex view (-c=): writes all
emacs (-l= -f= -u= --eval= --execute= --load= --funcall=): writes all
ed nano pico micro joe mcedit sudoedit: writes all
crudini: writes first +set,del,merge
augtool: writes /files
tar bsdtar (-b= -C= -f= -I= -T= -X= --directory= --exclude= --exclude-from= --file= --files-from= --group= --mode= --owner= --strip-components= --transform= --use-compress-program=): fills option/C,directory +x,extract,get; fills here +x,extract,get !C,directory; writes option/f,file +c,r,u,A,create,append,update,catenate,concatenate; removes all +remove-files
unzip (-d= -P=): fills option/d; fills here !d,l,t,v,z,Z,p,c
gzip gunzip pigz bzip2 bunzip2 pbzip2 xz unxz lzma unlzma compress uncompress (-S= --suffix=): replaces all !k,c,l,t,keep,stdout,to-stdout,list,test; replaces packed !c,l,t,stdout,to-stdout,list,test
zstd unzstd (-D= -o= --output-dir-flat= --output-dir-mirror=): replaces all +rm; replaces packed !c,l,o,t,stdout,list,test,output-dir-flat,output-dir-mirror; empties option/o; fills option/output-dir-flat,output-dir-mirror
curl (-o= -H= -X= -d= -A= -e= -b= -c= -D= -F= -m= -U= -u= -w= -x= -y= -Y= -z= -T= -r= -K= -E= -P= -Q= -C= --output= --output-dir= --dump-header= --cookie-jar= --trace= --trace-ascii= --stderr=): empties option/o,output,D,dump-header,c,cookie-jar,trace,trace-ascii,stderr; fills option/output-dir; fills here +O,remote-name,remote-name-all !output-dir
wget (-O= -o= -P= -U= -t= -T= -w= -Q= -a= -e= -i= -B= -l= -A= -D= -I= -X= -R= --output-document= --output-file= --append-output= --directory-prefix=): empties option/O,output-document,o,output-file; writes option/a,append-output; fills option/P,directory-prefix; fills here !O,output-document,P,directory-prefix,spider
find: removes find
`;

const table = once((): ReadonlyMap<string, Row> => {
  const rows = TABLE.trim()
    .split("\n")
    .flatMap((line) => {
      const [, programs = "", valued = "", changes = ""] = /^([^(:]+?)(?: \((.*)\))?: (.+)$/.exec(line) ?? [];
      const row = { valued: words(valued), rules: changes.split("; ").map(ruleOf) };
      return words(programs).map((name) => [name, row] as const);
    });
  return new Map(rows);
});

function ruleOf(text: string): Rule {
  const [does = "", selector = "", ...conditions] = words(text);
  const [, which = "", names = ""] = /^(.\w*=?)(?:\/(.*))?$/.exec(selector) ?? [];
  const of = (sign: string) => conditions.filter((one) => one.startsWith(sign)).map((one) => one.slice(1));
  return { does: does as Verb, which, names, only: of("+"), never: of("!") };
}

// ── The files that a text is known to overwrite, remove or create, so that they can be saved before it runs.

interface ChangedFiles {
  readonly places: readonly ChangedPlace[];
  /** Words that stand for files known only when it runs: globs, variables, the output of other commands. */
  readonly unknown: readonly string[];
  /** A part of it runs on another machine or in a container. */
  readonly elsewhere: boolean;
  /** Files are changed with another user's rights. */
  readonly privileged: boolean;
}

interface ChangedPlace {
  /** Absolute. */
  readonly path: string;
  /** If `path` is a directory, the file of this name in it. */
  readonly inside?: string;
  /** If `path` is a link, the program changes the file it points to. */
  readonly follow: boolean;
}

interface ChangedFilesContext extends WalkContext {
  /** The directory of the shell, absolute. */
  readonly cwd: string;
  readonly home: string;
}

/** Unknown commands are left out. */
export function changedFiles(text: string, context: ChangedFilesContext): ChangedFiles {
  const walked = walkText(text, context);
  const places = new Map<string, ChangedPlace>();
  const unknown = new Set<string>();
  const add = ({ does, field, inside, directories }: LocatedChange): void => {
    if (does === "directory") return;
    const names = inside === undefined || inside.length === 0 ? [undefined] : inside;
    const fixed = names.every((name) => name === undefined || isFixed(name));
    // U+FFFD stands for bytes that are not UTF-8 (`$'\xff'`).
    if (field.process === true || !isFixed(field.value) || !fixed || field.value.includes("\uFFFD"))
      return void unknown.add(source(field));
    for (const directory of directories.slice(0, MOST_DIRECTORIES)) {
      const path = absolute(field.value, directory, context);
      if (path === undefined) unknown.add(readable(field.value));
      else if (does === "fills") unknown.add(`files in ${path}`);
      else
        for (const name of names) {
          const follow = FOLLOWING.has(does);
          const place = { path, follow, ...(name === undefined ? {} : { inside: name }) };
          if (places.size < MOST_PLACES) places.set(`${path}\0${name ?? ""}\0${follow}`, place);
          else unknown.add(source(field));
        }
    }
  };
  let privileged = false;
  for (const found of walked.commands) {
    privileged ||= changesBy(found.argv).changes.length > 0 && isPrivileged(found);
    const all = fileChanges(found);
    const filled = new Set(all.flatMap(({ does, field }) => (does === "fills" ? field : [])));
    for (const change of all) if (change.does === "fills" || !filled.has(change.field)) add(change);
  }
  for (const write of walked.writes) add(redirected(write));
  // Commands of a script that sudo runs cannot be told from the others.
  privileged ||= walked.commands.some(({ wrapped }) => wrapped?.privileged === true && wrapped.scripts !== undefined);
  return { places: [...places.values()], unknown: [...unknown], elsewhere: runsElsewhere(walked), privileged };
}

function isPrivileged({ by }: FoundCommand): boolean {
  for (let wrapper = by?.command; wrapper !== undefined; wrapper = wrapper.by?.command)
    if (wrapper.wrapped?.privileged === true) return true;
  return false;
}

/** For people: as it was written, if it was. */
function source(field: Field): string {
  const text = shown(field);
  return text === "" || text.includes("\uFFFD") ? "what another command prints" : text;
}

function absolute(value: string, directory: string, { cwd, home }: ChangedFilesContext): string | undefined {
  const expanded = (text: string) => text.replaceAll(SPLIT, "").replaceAll(HOME, home);
  if (!isFixed(directory) && !/^[/\uFDD3]/.test(value)) return undefined;
  const path = posix.resolve(cwd, expanded(isFixed(directory) ? directory : "/"), expanded(value));
  // A final slash, which `resolve` removes, means a directory.
  return value.endsWith("/") && path !== "/" ? `${path}/` : path;
}

function runsElsewhere({ commands }: Walked): boolean {
  return commands.some(
    ({ argv, wrapped }) => wrapped !== undefined && ELSEWHERE.has(programName(argv[0]?.value ?? "")),
  );
}

const ELSEWHERE = new Set(
  words(`ssh autossh mosh docker podman nerdctl docker-compose kubectl oc k3s lxc incus lxc-attach machinectl nsenter
    chroot unshare systemd-run at batch`),
);

/** If the name is a link, these change the file that it leads to. */
const FOLLOWING: ReadonlySet<Verb> = new Set<Verb>(["empties", "writes", "mode"]);
/** A name may be relative to several directories: so many of them are tried. */
const MOST_DIRECTORIES = 4;
const MOST_PLACES = 40;
