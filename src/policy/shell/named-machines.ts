/** The other machines that a text names: destinations of ssh, scp, ansible, docker -H and the like, and their URLs. */
import { splitList } from "../../lib/names.ts";
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import { type EffectiveRules, strictest } from "../machine-rules.ts";
import type { JudgedCommand } from "../verdict.ts";

/** As written, with or without user and port; names of groups and patterns such as `web[01-12]`, too. */
export function namedMachines(commands: readonly Pick<JudgedCommand, "words" | "assigns">[]): string[] {
  const names = commands.flatMap(({ words: [program = "", ...rest], assigns = [] }) => {
    const name = program.slice(program.lastIndexOf("/") + 1);
    const values = assigns.map(({ value }) => value);
    const urls = [...rest, ...values].flatMap((word) => [...word.matchAll(URLS)].map(([, host = ""]) => host));
    const variables = assigns.flatMap(({ name: variable, value }) => (VARIABLES.has(variable) ? listed(value) : []));
    const others = rest.map((word) => word.replaceAll(URLS, ""));
    return [...urls, ...variables, ...machinesOf(name, others)];
  });
  return [...new Set(names)];
}

/** The rules for a text on one machine that names another one: the strictest of both. */
export function alsoNamed(rules: EffectiveRules, named: EffectiveRules, name: string): EffectiveRules {
  if (named.patterns.length === 0) return rules;
  const both = strictest([rules, named].map((one) => ({ ...one, pattern: "", notes: undefined })));
  const stricter = both.mode === rules.mode ? {} : { because: name, named: name };
  return { ...rules, ...both, notes: rules.notes, patterns: [...rules.patterns, ...named.patterns], ...stricter };
}

/** `ssh://host`, `git+ssh://`, `qemu+ssh://`, restic's `sftp:host:`, docker's `tcp://`. */
const URLS = /\b(?:(?:\w*ssh\w*(?:\+\w+)?|scp|rsync|fish|tcp):\/\/|sftp:(?:\/\/)?)([^\s/,]+?)(?=:?(?:[\s/,]|$))/g;
/** Those whose value is a name; a URL is found in any. */
const VARIABLES = new Set(["DOCKER_CONTEXT", "CONTAINER_CONNECTION"]);

/**
 * Where operands name machines. `host`: the first is a destination. `hosts`: the first is a list or pattern. `every`:
 * each is one. `paths`: those of the form `host:path`; `path`: only the first. `verb`: the first is a
 * subcommand, which has its own line.
 */
type Operands = "host" | "hosts" | "every" | "path" | "paths" | "verb" | "none";

const SSH_VALUES = "B b c D E e F I i L l m O p P Q R S s w X";

/** Programs; their options whose value names machines (`o`: a setting of ssh); other options with a value; operands. */
const TABLE: readonly (readonly [programs: string, machines: string, values: string, operands: Operands])[] = [
  ["ssh slogin rsh remsh sftp sshfs ssh-copy-id", "J W o", SSH_VALUES, "host"],
  ["autossh", "J W o", `M ${SSH_VALUES}`, "host"],
  ["mosh", "", "p a", "host"],
  ["scp", "J o", SSH_VALUES, "paths"],
  ["rsync rclone borg rdiff-backup unison duplicity restic hg svn", "", "", "paths"],
  ["git", "", "C c git-dir work-tree namespace exec-path config-env", "verb"],
  // What follows the repository are branches, also in the form of `main:main`.
  [
    "git-clone git-fetch git-pull git-push git-ls-remote",
    "repo",
    "b branch o origin c config j jobs u upload-pack depth reference receive-pack exec",
    "path",
  ],
  ["git-remote git-submodule", "", "b", "paths"],
  ["git-archive", "remote", "", "none"],
  ["docker", "H host c context", "l log-level config tlscacert tlscert tlskey", "verb"],
  ["docker-compose", "H host c context", "f file p project-name", "none"],
  ["podman podman-remote", "c connection url", "root runroot log-level identity module", "verb"],
  ["nerdctl", "H host a address", "n namespace", "verb"],
  ["docker-container podman-container", "", "", "verb"],
  [
    "docker-exec podman-exec nerdctl-exec docker-container-exec podman-container-exec",
    "",
    "e env env-file u user w workdir detach-keys",
    "host",
  ],
  ["docker-cp podman-cp nerdctl-cp docker-container-cp podman-container-cp", "", "", "paths"],
  ["lxc incus", "", "project", "verb"],
  ["lxc-exec incus-exec", "", "env cwd user group mode", "host"],
  ["pdsh pdcp rpdcp", "w g", "R S l t u f x", "none"],
  ["dsh", "m machine g group", "r f F", "none"],
  ["clush", "w g", "x X l t u f o O S mode", "none"],
  ["pssh pscp prsync pslurp pnuke", "H host", "h hosts l p o e t O X x user par outdir errdir timeout", "none"],
  [
    "parallel-ssh parallel-scp parallel-rsync parallel-slurp parallel-nuke",
    "H host",
    "h hosts l p o e t O X x",
    "none",
  ],
  ["cssh clusterssh csshx mussh", "h", "l o m", "every"],
  ["parallel", "S sshlogin", "", "none"],
  [
    "ansible ansible-console",
    "l limit i inventory",
    "a args m module-name M module-path u user e extra-vars f forks t tree B background P poll c connection T timeout key-file private-key become-user become-method ssh-common-args ssh-extra-args vault-id vault-password-file playbook-dir",
    "hosts",
  ],
  ["ansible-playbook ansible-pull", "l limit i inventory", "", "none"],
  ["salt salt-ssh", "", "t timeout c config-dir out output log-level l", "hosts"],
  ["fab fabric", "H hosts", "", "none"],
  [
    "systemctl hostnamectl loginctl timedatectl localectl machinectl busctl systemd-run systemd-analyze",
    "H host",
    "",
    "none",
  ],
];

interface Row {
  readonly machines: ReadonlySet<string>;
  readonly values: ReadonlySet<string>;
  readonly operands: Operands;
}

const rows = once(
  () =>
    new Map(
      TABLE.flatMap(([programs, machines, values, operands]) => {
        const row: Row = { machines: new Set(words(machines)), values: new Set(words(values)), operands };
        return words(programs).map((program) => [program, row] as const);
      }),
    ),
);

function machinesOf(program: string, args: readonly string[]): string[] {
  const row = rows().get(program);
  if (row === undefined) return [];
  const { operands } = row;
  const found: string[] = [];
  let seen = 0;
  let literal = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--" && !literal) literal = true;
    else if (word.startsWith("-") && word !== "-" && !literal) {
      const option = optionOf(word, row);
      if (option === undefined) continue;
      const value = option.value ?? args[++at] ?? "";
      if (!row.machines.has(option.name)) continue;
      found.push(...(option.name === "o" ? (SETTING.exec(value) ?? []).slice(1) : [value]).flatMap(listed));
    } else {
      seen++;
      if (operands === "verb") return [...found, ...machinesOf(`${program}-${word}`, args.slice(at + 1))];
      // What follows is a command of the other machine; options of ssh may stand before it.
      if (seen > 1 && (operands === "host" || operands === "hosts" || operands === "path")) break;
      if (operands === "host") found.push(...placeOf(`${word}:`));
      else if (operands === "path" || operands === "paths") found.push(...placeOf(word));
      else if (operands !== "none") found.push(...listed(word));
    }
  }
  return found;
}

const SETTING = /^\s*(?:hostname|proxyjump)\s*[= ]\s*(\S+)\s*$/i;

/** The option of a word that has a value, which may be in the same word: `-Jhost`, `-tJ host`, `--host=x`. */
function optionOf(word: string, { machines, values }: Row): { name: string; value?: string } | undefined {
  const hasValue = (name: string) => machines.has(name) || values.has(name);
  if (word.startsWith("--")) {
    const [, name = "", value] = /^--([^=]+)(?:=([^]*))?$/.exec(word) ?? [];
    return hasValue(name) ? { name, ...(value === undefined ? {} : { value }) } : undefined;
  }
  const at = [...word].findIndex((letter, index) => index > 0 && hasValue(letter));
  if (at < 0) return undefined;
  return { name: word[at]!, ...(at + 1 < word.length ? { value: word.slice(at + 1).replace(/^=/, "") } : {}) };
}

/** `web1,db[1-3]`, `web1 web2`, the `web:&prod` of ansible, the `@prod` of clush, the `4/web1` of parallel. */
function listed(value: string): string[] {
  return splitList(value.replaceAll(/[\s;]+|:(?!\d|\/)/g, ",")).flatMap((item) => {
    const name = item.replace(/^(?:\d+\/|[&@])/, "");
    if (name === "" || /^[-!]|\//.test(name)) return [];
    return [name === "all" ? "*" : name];
  });
}

/** `user@host:path` */
function placeOf(word: string): string[] {
  const [, host] = /^((?:[^@/:\s]+@)?(?:\[[^\]]+\]|[^:/\s[\]]+)):/.exec(word) ?? [];
  return host === undefined || host.startsWith("-") ? [] : [host];
}
