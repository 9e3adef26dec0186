/** What a command that nobody was asked about must and must not do, in every shell and on every transport. */
import { expect } from "bun:test";
import type { RunResult } from "../../src/targets/target.ts";
import { fishQuote, quote } from "../../src/lib/quote.ts";
import { until } from "../support/until.ts";
import { type Place, whole } from "./shell-cases.ts";

export interface UnaskedCase {
  readonly name: string;
  readonly run: (place: Place, unasked: (text: string) => Promise<RunResult>) => Promise<void>;
}

const isPosix = ({ shell }: Place) => shell !== "fish";
const approved = (place: Place, text: string) => place.target.shell.run(text, { waitMs: 15_000 });
const here = async (place: Place) => whole(await approved(place, "pwd")).trim();

const PLANTED_PROGRAMS =
  "env bash sh nsenter unshare setpriv ls git tar grep sort cat printf readlink od tr rm tee".split(" ");

/** $1 directory, then names of programs: each leaves a file there when it runs. */
const PLANT = `d=$1; shift
for p; do printf '#!/bin/sh\\n: >%s/ran-%s\\n' "$d" "$p" >"$d/$p"; chmod 755 "$d/$p"; done
printf ': >%s/ran-start\\n' "$d" >"$d/start"
printf 'open(__file__ + ".ran", "w")\\n' >"$d/sitecustomize.py"
printf 'system(": >%s/ran-perl"); 1;\\n' "$d" >"$d/Plant.pm"
mkdir -p "$d/git"; for f in "$d/.gitconfig" "$d/git/config"; do
  printf '[core]\\n\\tfsmonitor = ": >%s/ran-git"\\n[diff]\\n\\texternal = ": >%s/ran-git"\\n' "$d" "$d" >"$f"; done`;

const planted = (dir: string): Readonly<Record<string, string>> => ({
  // What the loader is asked for: each program that gets it leaves a file.
  LD_DEBUG: "statistics",
  LD_DEBUG_OUTPUT: `${dir}/ran-ld`,
  LD_LIBRARY_PATH: dir,
  BASH_ENV: `${dir}/start`,
  ENV: `${dir}/start`,
  TAR_OPTIONS: `--checkpoint=1 --checkpoint-action=exec=${dir}/sort`,
  PERL5OPT: "-MPlant",
  PERL5LIB: dir,
  PYTHONPATH: dir,
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "core.fsmonitor",
  GIT_CONFIG_VALUE_0: `${dir}/sort`,
  GIT_CONFIG_GLOBAL: `${dir}/.gitconfig`,
  GIT_EXTERNAL_DIFF: `${dir}/sort`,
  GIT_DIR: dir,
  XDG_CONFIG_HOME: dir,
  HOME: dir,
  GREP_OPTIONS: "--help",
  LESSOPEN: `|${dir}/sort %s`,
  LANGUAGE: "../../x",
  TZ: `${dir}/start`,
  KUBECONFIG: `${dir}/start`,
  UNKNOWN_TO_ALL: "x",
});
const HARMLESS = { LC_TIME: "POSIX", TERM: "dumb", http_proxy: "http://127.0.0.1:9/" };

const READS =
  "ls -d /; tar cf - /etc/passwd 2>/dev/null | cat >/dev/null; echo a | grep a; git -C / status; git --no-pager log; " +
  "perl -e 1; python3 -c 1; find / -maxdepth 0; sh -c :; bash -c :; date; sort /dev/null";

export const UNASKED: readonly UnaskedCase[] = [
  {
    name: "output and exit code",
    run: async (_, unasked) => {
      const result = await unasked("echo out; ls /dev/null/none 2>/dev/null; sh -c 'exit 7'");
      expect({ outcome: result.outcome, text: whole(result) }).toEqual({
        outcome: { kind: "exited", code: 7 },
        text: "out\n",
      });
    },
  },
  {
    name: "several lines, quotes, no newline at the end",
    run: async (_, unasked) => {
      expect(whole(await unasked("echo 'a  b'\necho \"c'd\"\nprintf e"))).toBe("a  b\nc'd\ne");
    },
  },
  {
    name: "it reads from the terminal",
    run: async (place, unasked) => {
      const pane = await place.target.panes?.pane();
      if (pane === undefined) return;
      expect((await unasked('read -r line && echo "got:$line"')).outcome).toMatchObject({
        kind: "waiting",
        for: "line",
      });
      await pane.keys({ literalText: "the line", enter: true });
      const ended = await place.target.shell.wait({ waitMs: 15_000 });
      expect(ended.outcome).toEqual({ kind: "exited", code: 0 });
      expect(whole(ended)).toEndWith("got:the line\n");
    },
  },
  {
    name: "keys go to the program that reads, not to the shell below it",
    run: async (place, unasked) => {
      const pane = await place.target.panes?.pane();
      if (pane === undefined) return;
      expect((await unasked("cat")).outcome).toMatchObject({ kind: "waiting", for: "line" });
      expect((await pane.where()).program).toBe("cat");
      await pane.keys({ keys: ["C-d"] });
      expect((await place.target.shell.wait({ waitMs: 15_000 })).outcome).toEqual({ kind: "exited", code: 0 });
      expect((await pane.where()).program).toBeUndefined();
    },
  },
  {
    name: "no one is asked for its password, now or when it is waited for again",
    run: async (place) => {
      const pane = await place.target.panes?.pane();
      if (pane === undefined || place.target.locks.shell !== "bash") return;
      const asked: string[] = [];
      const options = {
        waitMs: 15_000,
        password: ({ prompt }: { readonly prompt: string }) => (asked.push(prompt), Promise.resolve(undefined)),
        onWaiting: ({ program }: { readonly program: string }) => void asked.push(program),
      };
      const text = `printf '[sudo] password for you: '; read -s typed; echo "got:$typed"`;
      const waits = { kind: "waiting", for: "password", uninvited: true };
      expect(
        (await place.target.shell.run(text, { ...options, unasked: { inNamespace: true } })).outcome,
      ).toMatchObject(waits);
      expect((await place.target.shell.wait(options)).outcome).toMatchObject(waits);
      expect(asked).toEqual([]);
      await pane.keys({ keys: ["C-c"] });
      expect((await place.target.shell.wait({ waitMs: 15_000 })).outcome.kind).toBe("exited");
    },
  },
  ...[
    "sleep 300",
    "ls / | timeout 300 sleep 300",
    "cd /; timeout 300 sleep 300",
    "setsid sleep 300",
    ": <(sleep 300); sleep 300; exit 3",
  ].map((program) => ({
    name: `Ctrl-C ends it: ${program}`,
    run: async (place: Place) => {
      const pane = await place.target.panes?.pane();
      if (pane === undefined || (place.target.locks.shell !== "bash" && program !== "sleep 300")) return;
      let seen = "";
      const run = place.target.shell.run(`echo begun; ${program}`, {
        waitMs: 15_000,
        unasked: { inNamespace: true },
        onOutput: ({ text }) => (seen += text),
      });
      await until(() => seen.includes("begun"), "its output");
      await pane.keys({ keys: ["C-c"] });
      expect((await run).outcome).toEqual({ kind: "exited", code: 130 });
    },
  })),
  {
    name: "what passes Ctrl-C on to `timeout` is neither a job nor waited for, and has nothing to do with its result",
    run: async (place, unasked) => {
      if (place.target.locks.shell !== "bash") return;
      for (const before of ["", "cd .; "]) {
        const result = await unasked(
          `${before}timeout 9 sh -c 'exit 3'; echo "$? \${!-none} $#"; jobs; wait; ls /proc/$$/fd/7`,
        );
        expect(whole(result)).toStartWith("3 none 0\nls:");
      }
    },
  },
  {
    name: "it ends early with its code, and where it was then is kept",
    run: async (place, unasked) => {
      const before = await here(place);
      for (const [text, code] of [
        ["cd /usr; exit 3; echo no", 3],
        ["set -e; cd /usr; ls -d . >/dev/null; sh -c 'exit 4'; echo no", 4],
        ["cd /usr || exit 1; trap; exit 5", 5],
      ] as const) {
        const result = await unasked(text);
        expect({ outcome: result.outcome, cwd: result.cwd }).toEqual({
          outcome: { kind: "exited", code },
          cwd: "/usr",
        });
        expect(whole(result)).not.toContain("no\n");
        await unasked(`cd ${before}`);
      }
    },
  },
  {
    name: "nothing of its end is shown with set -x, and no trap is its own",
    run: async (place, unasked) => {
      if (place.target.locks.shell !== "bash") return;
      const lines = whole(await unasked("trap; set -x; echo a; exit 3"))
        .replaceAll(/^\++/gm, "+")
        .trim()
        .split("\n");
      // Without a terminal stdout and stderr are apart.
      expect(lines.sort()).toEqual(["+ echo a", "+ exit 3", "a"]);
    },
  },
  {
    name: "a syntax error is a result",
    run: async (_, unasked) => {
      const { outcome } = await unasked("if");
      expect(outcome.kind === "exited" && outcome.code !== 0).toBe(true);
    },
  },
  {
    name: "a change of directory is taken over",
    run: async (place, unasked) => {
      const before = await here(place);
      const result = await unasked("cd /etc && cd .. && cd usr");
      expect(result.cwd).toBe("/usr");
      expect(await here(place)).toBe("/usr");
      await unasked(`c"d" ${before}`);
      expect(await here(place)).toBe(before);
    },
  },
  {
    name: "also into one with a line break in its name",
    run: async (place, unasked) => {
      const before = await here(place);
      const odd = `/tmp/buddy-odd-${crypto.randomUUID()}/two\nlines`;
      await place.target.transport.run('mkdir -p "$1"', { args: [odd] });
      expect((await unasked(`cd '${odd}'`)).cwd).toBe(odd);
      expect(await here(place)).toBe(odd);
      await unasked(`cd ${before}`);
      await place.target.transport.run('rm -r "${1%/*}"', { args: [odd] });
    },
  },
  {
    name: "a change of directory inside parentheses is not",
    run: async (place, unasked) => {
      const before = await here(place);
      expect((await unasked("(cd /etc; pwd)")).cwd).toBe(before);
      expect(await here(place)).toBe(before);
    },
  },
  {
    name: "of what an approved command exported, or planted where that leads, only what is harmless comes along",
    run: async (place, unasked) => {
      const dir = whole(await approved(place, "mktemp -d")).trim();
      const { transport } = place.target;
      await transport.run(PLANT, { args: [dir, ...PLANTED_PROGRAMS] });
      const exported = Object.entries({ ...planted(dir), ...HARMLESS });
      const lines = exported.map(([name, value]) =>
        isPosix(place) ? `export ${name}=${quote(value)}` : `set -gx ${name} ${fishQuote(value)}`,
      );
      // PATH last: the shell must still find its programs.
      lines.push(isPosix(place) ? `PATH=${quote(dir)}:$PATH` : `set -gx PATH ${fishQuote(dir)} $PATH`);
      await transport.run('printf "%s\\n" "$2" >"$1/activate"', { args: [dir, lines.join("\n")] });
      const before = await here(place);
      // The operator's own prompt asks git.
      if (place.shell === "fish") await approved(place, "function __buddy_user_prompt; end");
      await approved(place, isPosix(place) ? `. ${dir}/activate` : `source ${dir}/activate`);
      try {
        await transport.run('rm -f "$1"/ran*', { args: [dir] });
        const outside = (text: string) =>
          place.target.shell.run(text, { waitMs: 15_000, unasked: { inNamespace: false } });
        for (const run of [unasked, outside])
          for (const text of ["env", "cd /; env", READS, `cd / && ${READS}`, "sh -c 'ls; env' | sort"]) {
            const lines = whole(await run(text)).split("\n");
            const reached = Object.entries(planted(dir)).filter(([name, value]) => lines.includes(`${name}=${value}`));
            // Counted alike by buddy's own setting for git.
            expect(reached.map(([name]) => name).filter((name) => name !== "GIT_CONFIG_COUNT")).toEqual([]);
            for (const [name, value] of text.includes("env") ? Object.entries(HARMLESS) : [])
              expect(lines).toContain(`${name}=${value}`);
          }
        const started = await place.target.background.start(READS, { unasked: { inNamespace: false } });
        await until(async () => (await place.target.background.output(started.id)).status !== "running", "it ends");
        const { stdout } = await transport.run('cd "$1" && ls', { args: [dir] });
        const ran = stdout.toString().match(/^ran.*/gm) ?? [];
        expect(ran).toEqual([]);
      } finally {
        const names = exported.map(([name]) => name).filter((name) => !["HOME", "TERM"].includes(name));
        await approved(
          place,
          isPosix(place)
            ? `PATH=\${PATH#*:}; unset ${names.join(" ")}`
            : `set -e PATH[1]; ${names.map((name) => `set -e ${name}`).join("; ")}`,
        );
        await approved(
          place,
          isPosix(place)
            ? `HOME=${quote(place.target.transport.facts.home)}`
            : `set -gx HOME ${fishQuote(place.target.transport.facts.home)}`,
        );
        await approved(place, `cd ${before}`);
        await transport.run('rm -rf "$1"', { args: [dir] });
      }
    },
  },
  {
    name: "LC_ALL is what the shell exports, set or not",
    run: async (place, unasked) => {
      const look = "echo ${LC_ALL-unset}; sh -c 'echo ${LC_ALL-unset}'";
      expect(whole(await unasked(look))).toBe("unset\nunset\n");
      await approved(place, isPosix(place) ? "export LC_ALL=POSIX" : "set -gx LC_ALL POSIX");
      try {
        expect(whole(await unasked(look))).toBe("POSIX\nPOSIX\n");
      } finally {
        await approved(place, isPosix(place) ? "unset LC_ALL" : "set -e LC_ALL");
      }
    },
  },
  {
    name: "functions, variables that are not exported and buddy's own do not",
    run: async (place, unasked) => {
      await approved(
        place,
        isPosix(place) ? "hidden=no; date() { echo hijacked; }" : "set -g hidden no; function date; echo hijacked; end",
      );
      try {
        expect(whole(await unasked("echo ${hidden-unset} ${__buddy_key-unset} ${__buddy_run-unset}"))).toBe(
          "unset unset unset\n",
        );
        expect(whole(await unasked("date +x"))).toBe("x\n");
      } finally {
        await approved(place, isPosix(place) ? "unset -f date; unset hidden" : "functions -e date; set -e hidden");
      }
    },
  },
  {
    name: "a shell inside it takes over no exported function and reads no start-up file",
    run: async (place, unasked) => {
      if (place.shell !== "bash") return;
      await approved(place, "date() { echo hijacked; }; export -f date; export BASH_ENV=/nonexistent/start");
      try {
        expect(
          whole(await unasked("bash -c 'date +x'; echo ${BASH_ENV-unset}; echo y | xargs bash -c 'date +$0'")),
        ).toBe("x\nunset\ny\n");
      } finally {
        await approved(place, "unset -f date; unset BASH_ENV");
      }
    },
  },
  {
    name: "a program in the working directory is not run, even if PATH names that directory",
    run: async (place, unasked) => {
      const before = await here(place);
      const dir = whole(await approved(place, "mktemp -d")).trim();
      const programs = "only-here ls env sed grep nsenter setpriv";
      const make = `cd ${dir}; for name in ${programs}; do printf '#!/bin/sh\\necho hijacked; exit 1\\n' >$name; chmod 755 $name; done`;
      await approved(place, `sh -c ${quote(make)}; cd ${dir}`);
      await approved(
        place,
        isPosix(place) ? "kept=$PATH; PATH=.::bin:$PATH" : "set -g kept $PATH; set -gx PATH . bin $PATH",
      );
      try {
        expect(whole(await approved(place, "only-here"))).toBe("hijacked\n");
        expect(whole(await unasked("ls -d /etc; echo x | sed s/x/y/; which ls >/dev/null; env ls -d /etc"))).toBe(
          "/etc\ny\n/etc\n",
        );
      } finally {
        await approved(place, isPosix(place) ? "PATH=$kept" : "set -gx PATH $kept");
        await approved(place, `cd ${before}; rm -r ${dir}`);
      }
    },
  },
  {
    name: "git does not write to its index, also where the shell exports settings for git",
    run: async (place) => {
      if (!isPosix(place) || whole(await approved(place, "command -v git")) === "") return;
      // Outside the read-only file systems: this has to hold by itself.
      const outside = (text: string) =>
        place.target.shell.run(text, { waitMs: 15_000, unasked: { inNamespace: false } });
      const dir = whole(await approved(place, "mktemp -d")).trim();
      const git = `git -C ${dir} -c user.name=a -c user.email=a@b`;
      await approved(
        place,
        `${git} init -q; echo x >${dir}/f; ${git} add f; ${git} commit -qm x; touch -t 200101010000 ${dir}/f`,
      );
      await approved(place, "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=test.name GIT_CONFIG_VALUE_0=no");
      try {
        const index = `cksum ${dir}/.git/index`;
        const before = whole(await approved(place, index));
        expect(whole(await outside(`git -C ${dir} diff; git config test.name; ${index}`))).toBe(before);
      } finally {
        await approved(place, `unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0; rm -rf ${dir}`);
      }
    },
  },
  {
    name: "make of BSD, which takes --version for -v ersion, gets an empty file instead of the Makefile",
    run: async (_, unasked) => expect(whole(await unasked(`sh -c 'echo "$MAKEFLAGS"'`))).toBe("-f /dev/null\n"),
  },
  {
    name: "nothing it sets outlives it",
    run: async (place, unasked) => {
      await unasked("left=1; set -f; ls() { echo hijacked; }");
      const look = isPosix(place) ? "echo ${left-unset}" : "set -q left; and echo set; or echo unset";
      expect(whole(await approved(place, look))).toBe("unset\n");
    },
  },
  {
    name: "options and IFS of the shell change nothing",
    run: async (place, unasked) => {
      if (!isPosix(place)) return;
      await approved(place, "IFS=,; set -xv; set -u; set -f");
      try {
        const result = await unasked("echo a b | tr -d ' '; ls -d /e*c");
        expect(whole(result)).toBe("ab\n/etc\n");
      } finally {
        await approved(place, "set +xv +u +f; unset IFS");
      }
    },
  },
  {
    // It would be lost between fork and exec.
    name: "its shell does not catch Ctrl-C while it starts a program",
    run: async (place, unasked) => {
      if (place.shell.startsWith("direct")) return;
      const look = "while read -r name mask; do case $name in SigCgt:) echo $mask ;; esac; done </proc/$$/status";
      for (const text of [look, `cd /; ${look}`, `set -e; ${look}; exit`, `cat <(ls /) >/dev/null; ${look}`]) {
        const caught = whole(await unasked(text)).trim();
        // INT is the second bit.
        expect(caught).toMatch(/^[\da-f]*[014589cd]$/);
      }
    },
  },
  {
    name: "it gets no open file but the first three",
    run: async (place, unasked) => {
      if (isPosix(place)) await approved(place, "exec 5</dev/null");
      // The directory that ls itself reads is the fourth. By 9, a pipe, buddy finds what a text leaves behind.
      const open = whole(await unasked("cd /; ls /proc/self/fd"))
        .trim()
        .split(/\s+/);
      expect(open.filter((file) => file !== "9")).toEqual(["0", "1", "2", "3"]);
      if (isPosix(place)) await approved(place, "exec 5<&-");
    },
  },
  {
    name: "where there is a namespace, it can write nowhere",
    run: async (place, unasked) => {
      const namespace = await place.target.locks.settled;
      const name = `buddy-namespace-${crypto.randomUUID()}`;
      const result = await unasked(`for d in . /tmp /dev/shm "$HOME"; do : >"$d/${name}"; done`);
      const found = await place.target.transport.run(
        `n=0; for d in "$1" /tmp /dev/shm "$HOME"; do if [ -e "$d/$2" ]; then n=1; rm -f "$d/$2"; fi; done; exit $n`,
        { args: [place.target.shell.cwd, name] },
      );
      expect(found.code).toBe(namespace.kind === "ready" ? 0 : 1);
      expect(result.outcome.kind).toBe("exited");
    },
  },
  {
    name: "the hooks of the pane do not grow with it",
    run: async (place, unasked) => {
      if (place.shell !== "bash") return;
      const hooks = async () => whole(await approved(place, 'echo "${#PS0} ${#PROMPT_COMMAND[*]}"'));
      await unasked("true");
      const before = await hooks();
      await unasked("echo a");
      await unasked("echo b");
      expect(await hooks()).toBe(before);
    },
  },
  {
    name: "the pane shows its text and not how it is started",
    run: async (place, unasked) => {
      if (place.target.panes === undefined) return;
      await unasked("echo shown$((40 + 2))");
      const pane = (place.target.shell as unknown as { id: string }).id;
      await until(async () => {
        const screen = await place.tmux("capture-pane", "-p", "-J", "-t", pane);
        return screen.includes("echo shown$((40 + 2))") && screen.includes("shown42");
      }, "the text");
      const lines = (await place.tmux("capture-pane", "-p", "-J", "-t", pane)).split("\n");
      // Above it are the commands of other cases.
      const from = lines.findLastIndex((line) => line.includes("echo shown$((40 + 2))")) - 1;
      expect(lines.slice(Math.max(0, from)).join("\n")).not.toMatch(/nsenter|bash -p/);
    },
  },
];
