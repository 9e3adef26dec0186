/**
 * Random texts that are mostly reads: from the rows of the table, from their examples, changed a little, and put
 * together.
 */
import type { Form } from "../../../src/policy/effects/argv.ts";
import { readOnlyRows } from "../../../src/policy/shell/read-only/prove.ts";
import { words } from "../../../src/lib/text.ts";
import type { Seeded } from "../../support/seeded.ts";

/**
 * Files that `furnish` makes, names that look like options, and words that mean something to one program or another.
 */
const OPERANDS =
  words(`f f f a b sub list num x.gz a.tar a.tgz a.zip c.pem f.json f.xml lib.a P out -o -oP -P --output=P @opts -- - 1 +2 5 root
  /etc/passwd /etc/hosts /dev/null . .. HEAD main nginx web eth0 bash x=1 state :22 {} -delete -exec --exec=P ./* *.log sub/*.txt`);
const QUOTED = [
  '"$f"',
  "$f",
  "'-o'",
  '"-oP"',
  "'a b'",
  '"$(echo f)"',
  "$(echo f)",
  "{a,b}",
  "$((1+2))",
  "~",
  "'*'",
  '"${f%x}"',
  "$'f'",
  "\\f",
  "f''",
  "$x",
  '"$x"',
  "$(pgrep .)",
  "$(pgrep nothing)",
  '"$(pgrep -d, .)"',
  "$(( $(nproc) * 2 ))",
  "$(grep -oE '[0-9]+' f)",
  "$(tr -dc 0-9 < f)",
  "$(grep -c x f || echo 0)",
];
const VALUES = words("1 5 -1 P -oP f name,size %s auto x=y '{print}' 10 root '%s\\n' : , --output=P");
/** Pieces that would do something if they were ever run. */
const TRAPS = [
  "$(touch P)",
  "`touch P`",
  "'a[$(touch P)]'",
  ">P",
  "| tee P",
  "; touch P",
  "& touch P",
  "<(touch P)",
  "{a,>P}",
  "${x:=P}",
  "|& tee P",
  "\ntouch P",
];

/** What bash takes for plain words, a pattern or a mistake, and another shell for something that it runs or writes. */
const ELSEWHERE = [
  ...words(`=touch ~- ~root a=~/x --x=~ a:~ ./** **/f *(e:'touch:P':) ./*(+touch) ./*(N) +(x) @(f|a) !(f) <-> ^f >|P >!P &>P >&P |&cat
  a;b (touch a&b a(b) -o''P -'o'P --out'put'=P '-o'P '' "" % %self - [ ] [f] ?`),
  "(touch P)",
  "(touch P | psub)",
  "; and touch P",
  "${|touch P;}",
  "${ touch P;}",
  "=(touch P)",
  "\\x3btouch P",
  "\\x2doP",
  "$'\\x3btouch P'",
  "'it\\'",
  '"!x"',
  "\r",
  "\u00A0",
  "\u2028",
];

/** Words that are an option, a script or a file, as something may print them. */
const SHAPES = [
  "-oP",
  "'\\-oP'",
  "\"'-oP'\"",
  "'f -oP'",
  "'f,-oP'",
  "$'f\\n-oP'",
  "'s/a/b/ 1wP'",
  "'a\\ b wP'",
  "wP",
  "1",
  "''",
  "' -oP'",
];
const SPLITTING = ["", "-n1", "-n 1", "-L1", "-I{}", "-d ,", "-d '\\054'", "-0", "-s 40", "-r", "-P2", "-t", "-x"];
const TAKING = [
  "sort",
  "sed",
  "sed -n",
  "sort {}",
  "awk",
  "uniq",
  "cat",
  "sort -k1",
  "env sort",
  "nice -n 1 sort",
  "$(which gdf) touch",
];
const FILLING = [
  "read x",
  "read -r x",
  "read -ra x",
  "read -d, x",
  "read -t 0 x",
  "read -u3 x",
  "mapfile x",
  "mapfile -t x",
  "mapfile -td, x",
  "mapfile -s1 x",
  "IFS=, read -r y x",
];

export class ReadTexts {
  readonly #examples: string[];
  #planted: string | undefined;
  readonly #forms: { readonly program: string; readonly path: string; readonly form: Form }[] = [];

  constructor(
    readonly random: Seeded,
    more: readonly string[] = [],
    isThere: (program: string) => boolean = () => true,
  ) {
    const rows = readOnlyRows().all();
    this.#examples = [...rows.flatMap((row) => [...row.yes, ...row.yes, ...row.no]), ...more];
    for (const row of rows)
      for (const program of row.programs.filter(isThere))
        for (const call of row.calls) {
          if (call.subcommands === undefined || call.bare) this.#forms.push({ program, path: "", form: call.form });
          for (const [path, forms] of call.subcommands ?? [])
            for (const form of forms) this.#forms.push({ program, path, form });
        }
  }

  /** For bash: anything. */
  text(): string {
    const { random } = this;
    const one = () => this.command();
    switch (random.below(29)) {
      case 0:
        return `${one()} | ${one()}`;
      case 1:
        return `${one()} | ${one()} | ${one()}`;
      case 20:
        return `${this.#printing()} | xargs ${random.of(SPLITTING)} ${random.of(TAKING)}`;
      case 21: {
        const quote = random.of(['"', ""]);
        return `${random.of(TAKING)} ${quote}$(${this.#printing()})${quote} f`;
      }
      case 22:
        return `${random.of(FILLING)} ${random.of(["<<<", "3<<< f <<<", "< nowhere <<<"])} ${random.of(SHAPES)}; ${random.of(TAKING)} ${random.of(["$x", '"$x"', '"${x[0]}"', "${x[1]}", '"${x[@]}"', '"${x[@]:1}"'])} f`;
      case 2:
        return `${one()} && ${one()} || ${one()}`;
      case 3:
        return `${one()}; ${one()}`;
      case 4:
        return `for f in ${random.of(["*", "*.log", "a b", "$(ls)", "sub/*", "{1..3}"])}; do ${one()}; done`;
      case 5:
        return `while read -r x; do ${one()}; done < list`;
      case 6:
        return `x=$(${one()}); echo "$x"`;
      case 7:
        return `if ${one()}; then ${one()}; else ${one()}; fi`;
      case 8:
        return `echo "$(${one()})"`;
      case 9:
        return `diff <(${one()}) <(${one()})`;
      case 10:
        return `${one()} ${random.of(["2>/dev/null", ">/dev/null 2>&1", "2>&1 | head -3", "</dev/null", "<<< text", "< f", "2>&1"])}`;
      case 11:
        return `${random.of(["LC_ALL=C", "x=f", "f=a", "TZ=UTC", "COLUMNS=80"])} ${one()}`;
      case 12:
        return `${random.of(["timeout 1", "nice", "env", "command", "env A=b", "stdbuf -oL", "time", "builtin", "busybox", "xargs", "xargs -n1"])} ${one()}`;
      case 13:
        return `find . -name '${random.of(["*.log", "f", "*"])}' -exec ${one()} ${random.of(["{} +", "{} \\;", "\\;"])}`;
      case 14:
        return `printf '%s\\n' a b | xargs ${random.of(["", "-n1", "-I{}", "-0", "-r"])} ${one()}`;
      case 15:
        return `f=${random.of(["a", "'a[$(touch P)]'", "-o", "'-oP'", "5", "$(echo -oP)", "*"])}; ${one()}`;
      case 16:
        return `(( ${random.of(["x", "1+1", "f", "a[0]", "$x"])} )); [[ ${random.of(["f -eq 1", "$x == y", "-f f", "a[0] -gt 1", "-v x"])} ]]; ${one()}`;
      case 17:
        return `case ${random.of(["$x", "f", '"$(ls)"'])} in f) ${one()};; *) ${one()};; esac`;
      case 18:
        return `${random.of(["cd sub &&", "cd ..;", "pushd sub;", "( cd sub;"])} ${one()}${random.below(4) === 0 ? " )" : ""}`;
      case 19:
        return `${one()}${random.of(TRAPS)}`;
      default:
        return one();
    }
  }

  /** Something whose output looks known. */
  #printing(): string {
    const { random } = this;
    const shape = random.of(SHAPES);
    return random.of([
      `echo ${shape}`,
      `echo -e ${shape}`,
      `echo -n ${shape}`,
      `printf ${shape.startsWith("-") ? `-- ${shape}` : shape}`,
      `printf '%s' ${shape}`,
      `printf '%s\\n' ${shape} f`,
      `printf '%.0s-oP' ${shape}`,
      `printf '%-5s' ${shape} -oP`,
      `printf '%b' ${shape}`,
      `cat <<< ${shape}`,
      `which ${random.of(["ls", "gdf", "nowhere"])}`,
      `basename ${shape.startsWith("-") ? "f" : shape}`,
      "readlink /bin/sh",
      "wc -l < nowhere",
      "grep -c -r x",
    ]);
  }

  /** What every shell reads alike: literal words, few operators. */
  plain(): string {
    const { random } = this;
    const one = () => (random.below(3) === 0 ? this.#spliced() : this.command());
    switch (random.below(8)) {
      case 0:
        return `${one()} | ${one()}`;
      case 1:
        return `${one()} && ${one()}`;
      case 2:
        return `${one()}; ${one()}`;
      case 3:
        return `${one()} ${random.of(["2>/dev/null", "2>&1", "</dev/null"])}`;
      case 4:
        return `${one()} || ${one()}\n${one()}`;
      default:
        return one();
    }
  }

  /** A command with something in it, as a word or in a word, that shells read differently. */
  #spliced(): string {
    const { random } = this;
    const parts = this.command().split(" ");
    const at = random.below(parts.length + 1);
    if (random.below(2) === 0) parts.splice(at, 0, random.of(ELSEWHERE));
    else parts[at] = `${parts[at] ?? ""}${random.of(ELSEWHERE)}`;
    return parts.join(" ");
  }

  /** Such a text with this command somewhere in it. */
  around(command: string): string {
    for (;;) {
      this.#planted = command;
      const text = this.text();
      if (this.#planted === undefined) return text;
    }
  }

  command(): string {
    const { random } = this;
    const planted = this.#planted;
    if (planted !== undefined) {
      this.#planted = undefined;
      return planted;
    }
    if (random.below(3) === 0) {
      const example = random.of(this.#examples);
      return random.below(3) === 0 ? example : this.#changed(example);
    }
    const { program, path, form } = random.of(this.#forms);
    const parts = [program, ...(path === "" ? [] : [path])];
    for (let count = random.below(4); count > 0; count--) parts.push(...this.#option(form));
    for (let count = random.below(form.operands.length === 0 ? 2 : 4); count > 0; count--) parts.push(this.#operand());
    if (random.below(6) === 0) parts.push(...this.#option(form));
    if (random.below(10) === 0) parts.splice(1 + random.below(parts.length), 0, "--");
    return parts.join(" ");
  }

  #option(form: Form): string[] {
    const { random } = this;
    const names = [...form.options.keys()];
    if (names.length === 0 || random.below(14) === 0) return [this.#strange()];
    let name = random.of(names);
    const option = form.options.get(name);
    if (name === "-#") return [`-${random.below(20)}`];
    if (name.startsWith("--") && random.below(25) === 0)
      name = name.slice(0, Math.max(3, name.length - 1 - random.below(4)));
    const value = random.below(5) === 0 ? random.of(QUOTED) : random.of(VALUES);
    if (option === undefined || (option.values === 0 && !option.optional)) {
      if (!name.startsWith("--") && !form.words && random.below(3) === 0) {
        const other = random.of(names);
        return [name + (other.startsWith("--") || other === "-#" ? "" : other.slice(1))];
      }
      return [random.below(25) === 0 ? `${name}=${value}` : name];
    }
    switch (random.below(4)) {
      case 0:
        return [name.startsWith("--") ? `${name}=${value}` : name + value];
      case 1:
        return random.below(6) === 0 ? [name] : [name, value];
      default:
        return option.optional ? [name] : option.values === 2 ? [name, value, random.of(VALUES)] : [name, value];
    }
  }

  /** An option that no row may list. */
  #strange(): string {
    const { random } = this;
    const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return random.of([
      `-${random.of([...letters])}`,
      `-${random.of([...letters])}${random.of([...letters])}`,
      "--output=P",
      "-oP",
      "--exec=P",
      "-i",
      "--in-place",
      "--o=P",
      "@opts",
    ]);
  }

  #operand(): string {
    return this.random.below(5) === 0 ? this.random.of(QUOTED) : this.random.of(OPERANDS);
  }

  /** One or two small changes. */
  #changed(text: string): string {
    const { random } = this;
    const parts = text.split(" ");
    for (let count = 1 + random.below(2); count > 0; count--) {
      const at = random.below(parts.length + 1);
      switch (random.below(6)) {
        case 0:
          parts.splice(at, 1);
          break;
        case 1:
          parts.splice(at, 0, this.#operand());
          break;
        case 2:
          parts.splice(at, 0, this.#strange());
          break;
        case 3:
          parts.splice(at, 1, ...random.of(this.#examples).split(" ").slice(0, 2));
          break;
        case 4:
          if (parts[at] !== undefined) parts[at] = `"${parts[at]}"`;
          break;
        default:
          parts.push(this.#operand());
      }
    }
    return parts.join(" ");
  }
}
