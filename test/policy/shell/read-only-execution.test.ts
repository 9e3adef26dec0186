/** What is judged read-only is run, as buddy would run it, where every effect is seen; there must be none. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { words } from "../../../src/lib/text.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { needs } from "../../support/needs.ts";
import { cases, LONG, Seeded } from "../../support/seeded.ts";
import { effectsOf, type Trial } from "../../support/throw-away-root.ts";
import { ReadTexts } from "./generate-reads.ts";
import { RULES } from "./rules.ts";

const inRoot = await needs("throw-away-root");
const withBusybox = await needs("throw-away-root", "busybox");
const inEveryShell = await needs("throw-away-root", "dash", "busybox", "mksh", "zsh", "fish");

/** The same texts each run, so that a failure is a change of ours; BUDDY_SEED=$(date +%s) makes others. */
const seed = Number(process.env["BUDDY_SEED"] ?? 60637);
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const path = (program: string) => Bun.which(program, { PATH });
const BASH = [path("bash") ?? "bash", "-p", "-c"];
/** Shells of machines without bash, without start-up files of their own. */
const SHELLS = [
  ["dash", "-c"],
  ["busybox", "ash", "-c"],
  ["mksh", "-c"],
  ["zsh", "-f", "-c"],
  ["fish", "--no-config", "-c"],
].map(([program = "", ...rest]) => [path(program) ?? program, ...rest]);

/** Programs that programs of the table start by themselves. */
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  tar: words("gzip bzip2 xz zstd lzip lzma compress"),
  git: words(
    "git sh git-submodule git-sh-setup git-sh-i18n git-sh-i18n--envsubst sed basename uname gettext envsubst dirname",
  ),
  zgrep: words("grep egrep fgrep gzip zcat sed expr test printf cat"),
  zegrep: words("zgrep grep egrep gzip sed expr"),
  zfgrep: words("zgrep grep fgrep gzip sed expr"),
  bzgrep: words("grep egrep bzip2 sed basename expr"),
  xzgrep: words("grep xz sed expr gzip bzip2 zstd lz4 lzop"),
  zstdgrep: words("grep zstdcat"),
  locale: ["gzip"],
  zcat: ["gzip"],
  gunzip: ["gzip"],
  sdiff: ["diff"],
  yq: ["jq"],
  egrep: ["grep"],
  fgrep: ["grep"],
  apt: ["dpkg"],
  "apt-cache": ["dpkg"],
  dpkg: ["dpkg-query"],
  sar: words("sadc sar"),
  docker: words("docker-compose docker-buildx"),
  xargs: ["echo"],
  pidof: ["killall5"],
  man: words("whatis apropos gzip bzip2 xz lzip zstd"),
  busybox: ["busybox"],
  vgdisplay: ["lvm"],
  systemctl: words("systemd-sysv-install getopt ls"),
  parted: words("sh dmidecode udevadm"),
  xfs_info: words("tail losetup findmnt xfs_db"),
};

/**
 * These keep files of their own (podman its storage, apt its cache, rpm its database, LVM its locks; tac puts what it
 * cannot seek in into a file that has no name), sort addresses of this machine with sockets that send nothing (fuser),
 * ask a service of this machine over a socket of their own (chronyc), or wait: they are not run.
 */
const NOT_RUN =
  /\b(?:podman|docker|docker-compose|nerdctl|crictl|apt|apt-cache|apt-mark|rpm|lvs|vgs|pvs|lvdisplay|vgdisplay|pvdisplay|lvscan|pvscan|vgscan|sleep|yes|top|vmstat|iostat|mpstat|pidstat|sar|free|systemd-cgtop|read|wait|locate|plocate|lastlog|journalctl|udevadm|dmesg|nvidia-smi|fuser|chronyc|tac)\b|\b(?:find|du) .*\/(?: |$)|tail.*(?:-\w*[fF]|--follow)|\bseq\b|\{1\.\./;

const known = new Map<string, boolean>();
const BUILTINS = new Set(
  words(`echo true false : pwd times test [ printf cd pushd popd dirs type jobs break continue shift return mapfile readarray command env set
  alias shopt export readonly declare typeset local trap umask history ulimit hash kill help caller`),
);
const isThere = (program: string) => {
  if (BUILTINS.has(program)) return true;
  if (!known.has(program)) known.set(program, path(program) !== null);
  return known.get(program) === true;
};

/** A repository among files that every program of the table can read, and names that look like options. */
function furnish(directory: string): void {
  const file = (name: string, text: string) => writeFileSync(join(directory, name), text);
  for (const name of ["f", "a", "b", "num", "list", "x.log", "y.log"]) file(name, `${name}\n5\n/etc/hosts\nx y z\n`);
  for (const name of ["-o", "-oP", "--output=P", "-delete", "-exec", "-i", "@opts"]) file(name, "--output=P\n-oP\n");
  file("f.json", '{"a":[{"b":1}]}\n');
  file("f.xml", "<a><b/></a>\n");
  file(".npmrc", "node-options=--require ./evil.js\n");
  mkdirSync(join(directory, "sub"));
  // fish makes these wherever it starts.
  for (const name of [".config/fish", ".local/share/fish"]) mkdirSync(join(directory, "..", name), { recursive: true });
  file("sub/x.txt", "text\n");
  const run = (...argv: string[]) =>
    Bun.spawnSync(argv, {
      cwd: directory,
      env: {
        PATH,
        HOME: directory,
        GIT_AUTHOR_NAME: "a",
        GIT_AUTHOR_EMAIL: "a@b",
        GIT_COMMITTER_NAME: "a",
        GIT_COMMITTER_EMAIL: "a@b",
      },
    });
  run("tar", "cf", "a.tar", "f", "a");
  run("tar", "czf", "a.tgz", "f", "a");
  run("sh", "-c", "gzip -c f > x.gz; xz -c f > f.xz; ar r lib.a f; zip -q a.zip f");
  run("git", "init", "-q", "--template=", "-b", "main", ".");
  run("git", "add", "f", "a", "sub");
  run("git", "commit", "-qm", "first");
  run("git", "tag", "v1");
}

function trial(text: string, shell: readonly string[], programs: readonly string[]): Trial {
  return { text, shell, programs: new Set(programs.flatMap((name) => [name, ...(CHILDREN[name] ?? [])])) };
}

/** Texts that are judged read-only and can be run here, each once. */
function allowed(
  count: number,
  make: () => string,
  shell?: string,
  there: (program: string) => boolean = isThere,
): { text: string; programs: string[] }[] {
  const found = new Map<string, string[]>();
  for (let tries = 0; found.size < count && tries < count * 400; tries++) {
    const text = make();
    if (text.includes("\0") || NOT_RUN.test(text) || found.has(text)) continue;
    const judged = judgeShell(text, RULES, shell === undefined ? {} : { shell });
    if (judged.verdict.kind !== "allow") continue;
    if (judged.conditions.some(({ directory }) => directory !== "." && directory !== "sub")) continue;
    const programs = judged.commands.map(({ words: [name = ""] }) => name.replace(/^.*\//, ""));
    if (programs.every(there)) found.set(text, programs);
  }
  return [...found].map(([text, programs]) => ({ text, programs }));
}

/** Each does something, on files of its own: the positive control. */
const SEEN = [
  "touch P1",
  "echo x > P2",
  "chmod 600 f",
  "rm a",
  "mv b P3",
  ": > /etc/hostname",
  "echo x >> /tmp/P",
  "exec 3<>/dev/tcp/127.0.0.1/9",
  "id",
  "kill -TERM $$",
  "sort -o num num",
  "uniq -- -o P4",
  "tar tfI a.tar 'sh -c \"id>P5\"'",
  "awk 'BEGIN{if(1)/#/;system(\"id>P6\")}'",
  "f='a[$(touch P7)]'; echo $((f))",
  "git -c core.fsmonitor='touch P8' status",
  "git branch new",
  "find . -name list -delete",
  "prlimit -p $$ -nunlimited",
  "echo x > /dev/udp/127.0.0.1/9",
];
const UNSEEN = ["true", "ls -l | wc -l", "git status", "cat f >/dev/null", "kill -0 $$", 'x=$(cat f); echo "$x"'];

inRoot.test("the detector sees every change, program and connection, and nothing where there is none", () => {
  const programs = words("touch chmod rm mv sort uniq tar awk mawk gawk git find ls wc cat prlimit");
  const seen = new Set(
    effectsOf(
      [...SEEN, ...UNSEEN].map((text) => trial(text, BASH, programs)),
      furnish,
    ).map(({ text }) => text),
  );
  expect([...SEEN, ...UNSEEN].filter((text) => seen.has(text))).toEqual(SEEN);
});

/** Milliseconds; a text takes about 20 on an idle machine. */
const LIMIT = Math.max(LONG, 400 * cases(0));

/** A long run goes in rounds. */
const ROUND = 4_000;

function run(count: number, next: (round: number) => Trial[], furnished = furnish): void {
  const seen: unknown[] = [];
  for (let done = 0; done < count && seen.length < 40;) {
    const trials = next(Math.min(ROUND, count - done));
    if (trials.length === 0) break;
    seen.push(...effectsOf(trials, furnished));
    done += trials.length;
  }
  expect({ seed, effects: seen }).toEqual({ seed, effects: [] });
}

inRoot.test(
  "what is approved automatically has no effect in bash",
  () => {
    console.log(`BUDDY_SEED=${seed}`);
    const texts = new ReadTexts(new Seeded(seed), [], isThere);
    run(cases(1_000), (round) =>
      allowed(round, () => texts.text()).map(({ text, programs }) => trial(text, BASH, programs)),
    );
  },
  LIMIT,
);

withBusybox.test(
  "what is approved automatically has no effect with the programs of busybox",
  () => {
    const busybox = path("busybox") as string;
    const own = new Set(words("sh ash bash env busybox"));
    const list = Bun.spawnSync([busybox, "--list"]).stdout.toString().split("\n");
    const applets = new Set(list.filter((name) => name !== "" && !own.has(name)));
    const there = (program: string) => applets.has(program) || BUILTINS.has(program);
    const texts = new ReadTexts(new Seeded(seed + 2), [], there);
    const shell = [path("env") as string, `PATH=/home/reader/applets:${PATH}`, ...BASH];
    run(
      cases(150),
      (round) =>
        allowed(round, () => texts.text(), undefined, there).map(({ text, programs }) =>
          trial(text, shell, [...programs, ...own, ...(CHILDREN["tar"] ?? [])]),
        ),
      (directory) => {
        furnish(directory);
        const place = join(directory, "../applets");
        mkdirSync(place);
        for (const name of applets) symlinkSync(busybox, join(place, name));
      },
    );
  },
  LIMIT,
);

inEveryShell.test(
  "what is approved where there is no bash has no effect in any shell",
  () => {
    const texts = new ReadTexts(new Seeded(seed + 1), [], isThere);
    run(cases(300), (round) =>
      allowed(Math.ceil(round / SHELLS.length), () => texts.plain(), "dash").flatMap(({ text, programs }) =>
        SHELLS.map((shell) => trial(text, shell, [...programs, "dircolors"])),
      ),
    );
  },
  LIMIT,
);

test(
  "what must be blocked is never approved, whatever stands around it",
  () => {
    const random = new Seeded(seed + 2);
    const texts = new ReadTexts(random);
    const dangers = [
      "rm -rf /",
      "rm -rf ~",
      "rm -r -f .git",
      "rm -rf *",
      "git add -A",
      "git add .",
      "git push --force",
      "git push origin +main",
      "dd if=/dev/zero of=/dev/sda",
      "mkfs.ext4 /dev/sda1",
      "chmod -R 777 /",
      "find / -delete",
      "shred /dev/sda",
    ];
    const approved: string[] = [];
    for (let count = cases(4_000); count > 0; count--) {
      const text = texts.around(random.of(dangers));
      if (judgeShell(text, RULES).verdict.kind === "allow") approved.push(text);
    }
    expect({ seed, approved }).toEqual({ seed, approved: [] });
  },
  LIMIT,
);
