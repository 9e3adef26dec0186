/** git's command line: options before the subcommand, aliases given with -c, and subcommands that run shell text. */
import { words } from "../../../lib/text.ts";
import { type Field, field, isUnknown, programName } from "../syntax/field.ts";
import { type InnerScript, longOption, type Wrapped } from "./wrapped.ts";

export interface GitCall {
  readonly subcommand: string | undefined;
  readonly args: readonly Field[];
  /** `-c key=value`. */
  readonly config: readonly { readonly key: string; readonly value: string }[];
  /** Global options other than -c, as written. */
  readonly options: readonly string[];
  readonly directory: string | undefined;
  /** Something before the subcommand is unknown. */
  readonly odd: boolean;
}

const VALUED = new Set(
  words("--git-dir --work-tree --namespace --super-prefix --config-env --attr-source --exec-path"),
);

export function gitCall(argv: readonly Field[]): GitCall | undefined {
  const name = programName(argv[0]?.value ?? "");
  if (name.startsWith("git-") && /^git-[a-z]/.test(name))
    return {
      subcommand: name.slice(4),
      args: argv.slice(1),
      config: [],
      options: [],
      directory: undefined,
      odd: false,
    };
  if (name !== "git") return undefined;
  const config: { key: string; value: string }[] = [];
  const options: string[] = [];
  let directory: string | undefined;
  let odd = false;
  let at = 1;
  for (; at < argv.length; at++) {
    const word = (argv[at] as Field).value;
    if (isUnknown(word)) {
      if (!word.startsWith("-") && at > 1) break;
      odd = true;
      if (!word.startsWith("-")) continue;
    }
    if (!word.startsWith("-")) break;
    if (word === "-C") {
      directory = argv[++at]?.value;
      // Without quotes it may be several words, including options.
      if (directory !== undefined && isUnknown(directory)) odd = true;
    } else if (word === "-c" || (word.startsWith("-c") && !word.startsWith("--"))) {
      const text = word === "-c" ? (argv[++at]?.value ?? "") : word.slice(2);
      const equals = text.indexOf("=");
      config.push(
        equals < 0
          ? { key: text.toLowerCase(), value: "true" }
          : { key: text.slice(0, equals).toLowerCase(), value: text.slice(equals + 1) },
      );
    } else {
      const [long, value] = word.startsWith("--") ? longOption(word) : [word, undefined];
      options.push(word.startsWith("--") ? `--${long}` : word);
      if (VALUED.has(word) && word !== "--exec-path" && value === undefined) at++;
    }
  }
  return { subcommand: argv[at]?.value, args: argv.slice(at + 1), config, options, directory, odd };
}

/** What git runs: an alias of the same text, configured programs, `submodule foreach` and the like. */
export function gitAliasRuns(argv: readonly Field[]): Wrapped | undefined {
  const call = gitCall(argv);
  if (call === undefined) return undefined;
  const scripts: InnerScript[] = [];
  const commands: Field[][] = [];
  for (const { key, value } of call.config)
    if (RUNS.test(key) && !/^(?:cat|true|false|)$/.test(value))
      scripts.push({ text: value.replace(/^!/, ""), own: true });
  const alias = call.config.findLast(({ key }) => key === `alias.${call.subcommand?.toLowerCase()}`)?.value;
  const rest = call.args.map((word) => word.value).join(" ");
  if (alias !== undefined) {
    if (alias.startsWith("!")) scripts.push({ text: `${alias.slice(1)} ${rest}`, own: true });
    else {
      const kept = call.config.filter(({ key }) => key !== `alias.${call.subcommand?.toLowerCase()}`);
      const words = alias
        .split(/\s+/)
        .filter((word) => word !== "")
        .map((word) => field(word.replace(/^(['"])(.*)\1$/, "$2")));
      commands.push([
        field("git"),
        ...kept.flatMap(({ key, value }) => [field("-c"), field(`${key}=${value}`)]),
        ...words,
        ...call.args,
      ]);
    }
  }
  const given = (name: string) => {
    const at = call.args.findIndex((word) => word.value === name);
    return at < 0 ? undefined : call.args[at + 1]?.value;
  };
  switch (call.subcommand) {
    case "submodule": {
      const at = call.args.findIndex((word) => word.value === "foreach");
      if (at >= 0)
        scripts.push({
          text: call.args
            .slice(at + 1)
            .map((word) => word.value)
            .filter((word) => word !== "--recursive" && word !== "--quiet")
            .join(" "),
          own: true,
        });
      break;
    }
    case "bisect":
      if (call.args[0]?.value === "run") commands.push(call.args.slice(1));
      break;
    case "rebase":
      for (const word of call.args)
        if (word.value.startsWith("--exec=")) scripts.push({ text: word.value.slice(7), own: true });
      for (const name of ["-x", "--exec"])
        if (given(name) !== undefined) scripts.push({ text: given(name), own: true });
      break;
    case "filter-branch":
      for (const [index, word] of call.args.entries())
        if (word.value.endsWith("-filter")) scripts.push({ text: call.args[index + 1]?.value, own: true });
      break;
    case "for-each-repo":
      commands.push([field("git"), ...call.args.filter((word) => !word.value.startsWith("--config"))]);
      break;
  }
  if (scripts.length === 0 && commands.length === 0) return undefined;
  return { harmless: false, scripts, commands };
}

/** Configuration whose value git runs. */
const RUNS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|pager\..+|diff\.external|diff\..+\.(?:command|textconv)|sequence\.editor|difftool\..+\.cmd|mergetool\..+\.cmd|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)|credential\.helper|credential\..+\.helper|gpg\.program|gpg\..+\.program|interactive\.difffilter|uploadpack\.packobjectshook|remote\..+\.(?:receivepack|uploadpack)|browser\..+\.cmd|man\..+\.cmd|instaweb\..+|sendemail\..+cmd|trailer\..+\.(?:cmd|command))$/;
