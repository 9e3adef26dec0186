/** Awkward commands and what every shell must make of them. */
import { expect } from "bun:test";
import { randomInt } from "node:crypto";
import type { RunOptions, RunResult } from "../../src/targets/target.ts";
import type { OpenedTarget } from "../support/tmux.ts";
import { quote } from "../../src/lib/quote.ts";
import { until } from "../support/until.ts";

export type ShellName = "bash" | "zsh" | "fish" | "dash" | "ash" | "mksh" | "direct" | "direct-sh";

export interface Place extends OpenedTarget {
  readonly shell: ShellName;
}

export interface Case {
  readonly name: string;
  readonly command: string | ((place: Place) => string);
  readonly check: (result: RunResult, place: Place) => void | Promise<void>;
  readonly options?: RunOptions;
  /** Before the command is sent. */
  readonly before?: (place: Place) => Promise<unknown>;
  /** While it runs: begins when the command has been sent. */
  readonly during?: (place: Place) => Promise<unknown>;
  /** Puts things right for the next case. */
  readonly after?: (place: Place) => Promise<unknown>;
  readonly in?: (shell: ShellName) => boolean;
  /** The pane or shell does not survive: what follows is a new one. */
  readonly loses?: boolean;
}

const pane = (shell: ShellName) => !shell.startsWith("direct");
const direct = (shell: ShellName) => shell.startsWith("direct");
const posix = (shell: ShellName) => shell !== "fish";
const posixPane = (shell: ShellName) => pane(shell) && posix(shell);

const exits =
  (output: string, code = 0) =>
  (result: RunResult) => {
    expect({ outcome: result.outcome, output: whole(result) }).toEqual({ outcome: { kind: "exited", code }, output });
  };
const kind = (result: RunResult) => result.outcome.kind;
/** What a person reads: in a pane one stream, in a direct shell both, one after the other. */
export const whole = (result: RunResult): string =>
  result.output.head + result.output.tail + (result.stderr?.head ?? "") + (result.stderr?.tail ?? "");

const waits = (what: string) => (result: RunResult) => {
  expect(result.outcome).toMatchObject({ kind: "waiting", for: what });
};
const keys =
  (...names: string[]) =>
  async (place: Place) => {
    const shared = await place.target.panes?.pane();
    await shared?.keys({ keys: names });
    await place.target.shell.wait({ waitMs: 5000 });
  };
/** Until the screen shows it. */
const shows = (text: string) => (place: Place) =>
  until(async () => (await place.tmux("capture-pane", "-p", "-S", "-", "-t", paneOf(place))).includes(text), text);
/** Its program is in the foreground: mksh that is hung up before that waits for it. busybox names itself instead. */
const sleeps = async (place: Place): Promise<void> => {
  await shows("sleep 1000")(place);
  const running = () => place.tmux("display-message", "-p", "-t", paneOf(place), "#{pane_current_command}");
  await until(async () => (await running()).includes("sleep") || place.shell === "ash", "sleep in the foreground");
};
const lastLine = async (place: Place) =>
  (await place.tmux("capture-pane", "-p", "-t", paneOf(place))).trimEnd().split("\n").at(-1) ?? "";
const paneOf = (place: Place) => (place.target.shell as unknown as { id: string }).id;

const long = (bytes: number) => `echo ${"x".repeat(bytes)} | wc -c | tr -d ' '`;

/** The last byte but one is 0xE9, which is no UTF-8. */
const anyName = `/tmp/b ${randomInt(1e9)} \u001b]7;x\u0007\u0018\t\u007f\n%41\\w$(echo hi)\`!é[]~\udce9 `;

export const CASES: readonly Case[] = [
  { name: "plain output", command: "echo hello", check: exits("hello\n") },
  { name: "an exit code", command: "sh -c 'exit 7'", check: exits("", 7) },
  { name: "no newline at the end", command: "printf abc", check: exits("abc") },
  { name: "no output at all", command: "true", check: exits("") },
  {
    name: "a command that is not there",
    command: "buddy-no-such-command",
    check: (r) => expect(r.outcome).toEqual({ kind: "exited", code: 127 }),
  },
  {
    name: "lines like the visible prompt",
    command: 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "[buddy $i: 0] $ "; done; echo REAL; false',
    in: posix,
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(r.outcome).toEqual({ kind: "exited", code: 1 });
      expect(whole(r)).toEndWith("[buddy 12: 0] $ \nREAL\n");
    },
  },
  {
    name: "marks without the key",
    command: "printf '\\033]7771;0123;P;99;0;1;/\\007\\033]7771;;X;1\\007'; echo after; sh -c 'exit 4'",
    check: exits("after\n", 4),
  },
  {
    name: "a mark that is cut off",
    command: "printf '\\033]7771;'; printf '\\033]7771;abc'; echo; echo after",
    check: (r) => {
      // Like a terminal: what follows an unfinished sequence belongs to it.
      expect(r.outcome).toEqual({ kind: "exited", code: 0 });
    },
  },
  { name: "a line wider than the pane", command: "printf '%0500d\\n' 7", check: exits(`${"0".repeat(499)}7\n`) },
  {
    name: "wide characters across the edge",
    command: `printf '${"漢字🙂é".repeat(30)}\\n'`,
    check: exits(`${"漢字🙂é".repeat(30)}\n`),
  },
  { name: "spaces at the end of a line", command: "printf 'a   \\n'", check: exits("a   \n") },
  { name: "a tab in the output", command: "printf 'a\\tb\\n'", check: exits("a\tb\n") },
  { name: "progress by carriage return", command: "printf '10%%\\r20%%\\r100%%\\n'", check: exits("100%\n") },
  { name: "a shorter text over a longer one", command: "printf 'abcdef\\rXY\\n'", check: exits("XYcdef\n") },
  { name: "backspaces", command: "printf 'abc\\b\\bXY\\n'", check: exits("aXY\n") },
  { name: "colours", command: "printf '\\033[1;31mred\\033[0m\\n'", check: exits("red\n") },
  {
    name: "a title and a link",
    command: "printf '\\033]0;title\\007\\033]8;;http://x\\033\\\\link\\033]8;;\\033\\\\\\n'",
    in: posix,
    check: exits("link\n"),
  },
  {
    name: "clear in between",
    command: "echo before; printf '\\033[H\\033[2J\\033[3J'; echo after",
    check: exits("before\nafter\n"),
  },
  { name: "scrollback erased", command: "echo before; printf '\\033[3J'; echo after", check: exits("before\nafter\n") },
  {
    name: "progress over several lines",
    command:
      "printf 'one 0%%\\ntwo 0%%\\n'; printf '\\033[2Aone 100%%\\n\\033[1Btwo\\r\\033[1A\\033[2Ktwo 100%%\\n'; echo end",
    check: (r) => {
      expect(whole(r)).toContain("one 100%\n");
      expect(whole(r)).not.toContain("one 0%");
      expect(whole(r)).toEndWith("end\n");
    },
  },
  {
    name: "a visit to the alternate screen",
    command: "printf '\\033[?1049h\\033[HTUI'; printf '\\033[?1049l'; echo out",
    check: exits("out\n"),
  },
  {
    name: "the alternate screen left on",
    command: "printf '\\033[?1049h'; echo inside",
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("inside");
    },
    after: (p) => p.target.shell.run("printf '\\033[?1049l'"),
  },
  { name: "several lines", command: "echo a\necho b\necho c", check: exits("a\nb\nc\n") },
  { name: "a loop over lines", command: "for i in 1 2 3\ndo\n  echo $i\ndone", in: posix, check: exits("1\n2\n3\n") },
  { name: "a here-document", command: "cat <<'X'\nl1 $HOME\n\tl2\nX", in: posix, check: exits("l1 $HOME\n\tl2\n") },
  {
    name: "a here-document and more",
    command: "cat <<X\nsum $((1+2))\nX\necho done",
    in: posix,
    check: exits("sum 3\ndone\n"),
  },
  { name: "a tab in the command", command: "printf '%s\\n' 'a\tb'", check: exits("a\tb\n") },
  { name: "exclamation marks", command: "echo \"hi!there\" 'a!!b' !", check: exits("hi!there a!!b !\n") },
  {
    name: "quotes, dollars and backslashes",
    command: "printf '%s\\n' \"it's\" '$HOME' '\\n' '`x`' '~'",
    check: exits("it's\n$HOME\n\\n\n`x`\n~\n"),
  },
  {
    name: "percent signs and braces",
    command: "printf '%s\\n' '100%' '%{x%}' '#{pane_id}' '{a,b}'",
    check: exits("100%\n%{x%}\n#{pane_id}\n{a,b}\n"),
  },
  { name: "a semicolon at the end", command: "echo a;", check: exits("a\n") },
  { name: "an escaped semicolon at the end", command: "echo a \\;", check: exits("a ;\n") },
  { name: "a leading space", command: " echo spaced", check: exits("spaced\n") },
  { name: "a trailing newline", command: "echo once\n", check: exits("once\n") },
  { name: "a comment behind a command", command: "echo a # not this", check: exits("a\n") },
  {
    name: "text in many scripts",
    command: "echo 'Grüße, мир, 世界, 👩‍👩‍👧, ﷽'",
    check: exits("Grüße, мир, 世界, 👩‍👩‍👧, ﷽\n"),
  },
  {
    name: "an unclosed quote",
    command: "echo 'abc",
    check: (r) => {
      expect(["incomplete", "exited"]).toContain(kind(r));
      if (r.outcome.kind === "exited") expect(r.outcome.code).not.toBe(0);
    },
  },
  {
    name: "an unclosed here-document",
    command: "cat <<X\nabc",
    in: posix,
    check: (r) => expect(["incomplete", "exited"]).toContain(kind(r)),
  },
  {
    name: "a block without end",
    command: "if true; then echo a",
    in: posix,
    check: (r) => {
      expect(["incomplete", "exited"]).toContain(kind(r));
      expect(whole(r)).not.toMatch(/^a$/m);
    },
  },
  {
    name: "a backslash at the end",
    command: "echo a \\",
    check: (r) => expect(["incomplete", "exited"]).toContain(kind(r)),
  },
  {
    name: "a syntax error",
    command: "echo )",
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(r.outcome).not.toEqual({ kind: "exited", code: 0 });
      expect(whole(r)).not.toBe("");
    },
  },
  {
    name: "only a comment",
    command: "# just a comment",
    before: (p) => p.target.shell.run("sh -c 'exit 9'"),
    check: exits(""),
  },
  { name: "nothing", command: "", check: exits("") },
  { name: "a command of 3 KB", command: long(3000), check: exits("3001\n") },
  { name: "a command of 5 KB", command: long(5000), check: exits("5001\n") },
  { name: "a command of 20 KB", command: long(20_000), check: exits("20001\n") },
  { name: "a command of 100 KB", command: long(100_000), check: exits("100001\n") },
  {
    name: "5000 lines",
    command: "seq 1 5000",
    check: exits(Array.from({ length: 5000 }, (_, i) => `${i + 1}\n`).join("")),
    options: { keep: 100_000 },
  },
  {
    name: "more than is kept",
    command: "seq 1 20000",
    options: { keep: 2000 },
    check: async (r, p) => {
      expect(r.output.head).toStartWith("1\n2\n");
      expect(r.output.tail).toEndWith("19999\n20000\n");
      expect(r.output.totalBytes).toBe(108_894);
      expect(r.output.omittedBytes).toBe(108_894 - r.output.head.length - r.output.tail.length);
      const page = await p.target.shell.readOutput(r.outputId ?? "", { offset: r.output.head.length, limit: 50 });
      expect((r.output.head + page.text).split("\n").slice(0, -1)).toEqual(
        Array.from({ length: (r.output.head + page.text).split("\n").length - 1 }, (_, i) => String(i + 1)),
      );
      const found = await p.target.shell.readOutput(r.outputId ?? "", { filter: "^1999.$" });
      expect(found).toMatchObject({ text: Array.from({ length: 10 }, (_, i) => `1999${i}\n`).join(""), done: true });
    },
  },
  {
    name: "bytes that are no text",
    command: "printf '\\377\\376\\000\\001\\202x\\303\\050\\200\\r\\005\\177\\n'; echo END",
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("END");
    },
    after: (p) => p.target.shell.run("printf '\\033(B\\033[?1049l\\017'"),
  },
  {
    name: "output as it comes",
    command: "echo one; echo two; printf three",
    check: () => {},
    before: async (p) => {
      let streamed = "";
      const result = await p.target.shell.run("echo one; echo two; printf three", {
        onOutput: ({ text }) => (streamed += text),
      });
      expect(streamed).toBe("one\ntwo\nthree");
      expect(whole(result)).toBe("one\ntwo\nthree");
    },
  },
  {
    name: "a directory is kept",
    command: "cd /usr/bin",
    check: (r, p) => {
      expect(r.cwd).toBe("/usr/bin");
      expect(p.target.shell.cwd).toBe("/usr/bin");
    },
    after: async (p) => {
      expect(whole(await p.target.shell.run("pwd"))).toBe("/usr/bin\n");
      await p.target.shell.run("cd /");
    },
  },
  {
    name: "a directory with an odd name",
    command: "mkdir -p '/tmp/b x\"; é'; cd '/tmp/b x\"; é'",
    check: (r) => expect(r.cwd).toBe('/tmp/b x"; é'),
    after: async (p) => {
      await p.target.shell.run("cd /; rmdir '/tmp/b x\"; é'");
    },
  },
  {
    name: "a directory of any name: control characters, line breaks, bytes that are not UTF-8",
    before: (p) => p.target.transport.run('mkdir "$1" && echo here >"$1/file"', { args: [anyName] }),
    command: `cd ${quote(anyName)}`,
    check: async (r, p) => {
      expect([r.outcome, r.cwd]).toEqual([{ kind: "exited", code: 0 }, anyName]);
      const { target } = p;
      expect((await target.shell.where()).cwd).toBe(anyName);
      expect(whole(await target.shell.run("cat file", { onlyIn: anyName }))).toBe("here\n");
      expect(whole(await target.shell.run("cat file", { unasked: { inNamespace: true } }))).toBe("here\n");
      expect(await target.files.read("file")).toMatchObject({ text: "here\n" });
      await target.files.write("made", "by write\n");
      const { id } = await target.background.start("cat made");
      let printed = "";
      await until(async () => {
        const look = await target.background.output(id);
        printed += look.stdout + look.stderr;
        return look.status !== "running";
      }, "it ends");
      expect(printed).toBe("by write\n");
      // The next shell begins there, too.
      await target.shell.run("exit 3");
      const again = await target.shell.run("cat file");
      expect([whole(again), again.cwd]).toEqual(["here\n", anyName]);
    },
    after: async (p) => {
      await p.target.shell.run("cd /");
      await p.target.transport.run('rm -r "$1"', { args: [anyName] });
    },
  },
  {
    name: "an exported variable is kept",
    command: "export BUDDY_TEST_KEPT=yes",
    in: posix,
    check: exits(""),
    after: async (p) => expect(whole(await p.target.shell.run("echo $BUDDY_TEST_KEPT"))).toBe("yes\n"),
  },
  {
    name: "a function is kept",
    command: "greet() { echo hi $1; }",
    in: posix,
    check: exits(""),
    after: async (p) => expect(whole(await p.target.shell.run("greet you"))).toBe("hi you\n"),
  },
  {
    name: "secrets do not get in",
    command: "env",
    check: (r) => {
      expect(whole(r)).not.toContain("BUDDY_TEST_SECRET");
      expect(whole(r)).not.toContain("BUN_OPTIONS");
      expect(whole(r)).not.toContain("BUN_BE_BUN");
    },
    options: { keep: 1_000_000 },
  },
  {
    name: "the key does not get into the environment",
    command: "env | grep -c '7771;'; env | grep -i __buddy",
    check: (r) => expect(whole(r)).toBe("0\n"),
  },
  {
    name: "stdout and stderr apart",
    command: "echo out; echo err >&2",
    in: direct,
    check: (r) => {
      expect(r.output.head).toBe("out\n");
      expect(r.stderr?.head).toBe("err\n");
    },
  },
  {
    name: "stdout and stderr sent elsewhere for good",
    command: "exec >/dev/null 2>&1; echo gone",
    in: (s) => s !== "fish",
    check: exits(""),
    after: async (p) => {
      const { outcome, output, stderr } = await p.target.shell.run("echo out; echo err >&2; sh -c 'exit 3'");
      expect({ outcome, output: output.head + (stderr?.head ?? "") }).toEqual({
        outcome: { kind: "exited", code: 3 },
        output: "out\nerr\n",
      });
    },
  },
  { name: "stdin is empty", command: 'cat; read x; echo "got:$x"', in: direct, check: exits("got:\n") },
  { name: "stdout redirected for good", command: "exec >/dev/null; echo gone", in: direct, check: exits("") },
  {
    name: "stray break and continue",
    command: "break; continue 2",
    in: direct,
    check: (r) => expect(kind(r)).toBe("exited"),
  },
  {
    name: "a program left behind does not hold the run",
    command: "sleep 1000 & echo started",
    in: posix,
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("started");
    },
    // TERM: bash tells of a child that was killed with KILL whenever it notices, in the output of a later command.
    // Again and again: a child of dash or ash that is not its program yet ignores it.
    after: (p) => p.target.shell.run("while kill $! 2>/dev/null; do sleep 0.05; done", { waitMs: 5000 }),
  },
  {
    name: "programs killed before they have begun",
    // bash may lose a signal that comes between fork and exec: then the program is waited for, so it ends by itself.
    command: "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 3 & kill $!; done; wait; echo done",
    in: direct,
    check: exits("done\n"),
  },
  {
    name: "output of a program left behind",
    command: "(until [ -e /tmp/buddy-go-$$ ]; do sleep 0.05; done; echo LATE) & echo now",
    in: posixPane,
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("now");
      expect(whole(r)).not.toContain("LATE");
    },
    after: (p) =>
      p.target.shell.run(
        "touch /tmp/buddy-go-$$; while kill -0 $! 2>/dev/null; do sleep 0.05; done; rm /tmp/buddy-go-$$",
        { waitMs: 5000 },
      ),
  },
  { name: "a silent worker is waited for", command: "sleep 1; echo ok", check: exits("ok\n") },
  {
    name: "set -e and a failure",
    command: "set -e; false; echo not here",
    in: posix,
    check: (r) => {
      expect(r.outcome).toEqual({ kind: "shell-ended", code: 1 });
      expect(r.notes.join()).toContain("lost");
    },
    loses: true,
  },
  {
    name: "exit",
    command: "echo exit; printf one; exit 3",
    check: (r) => expect([r.outcome, whole(r)]).toEqual([{ kind: "shell-ended", code: 3 }, "exit\none"]),
    loses: true,
  },
  {
    name: "exec of another program",
    command: "exec true",
    check: (r) => expect(r.outcome).toEqual({ kind: "shell-ended", code: 0 }),
    loses: true,
  },
  // With TERM, the trap of bash for its end gets the code of the last command. A shell of a pane ignores it.
  ...(
    [
      ["-9", posix, 137],
      ["-TERM", direct, 143],
    ] as const
  ).map(([signal, where, code]): Case => ({
    name: `the shell kills itself with ${signal}`,
    command: `echo one; kill ${signal} $$; sleep 1`,
    in: where,
    check: (r) => {
      expect([kind(r), whole(r)]).toEqual(["shell-ended", "one\n"]);
      // ssh says nothing of a signal.
      const { outcome } = r;
      if (outcome.kind === "shell-ended" && outcome.code !== code)
        expect([outcome.code, r.notes.join("\n")]).toEqual([255, expect.stringContaining("killed by a signal")]);
    },
    loses: true,
  })),
  {
    name: "messages have the line numbers of the command",
    command: "true\ntrue\nnosuchprogram",
    in: direct,
    // busybox counts the lines of an eval from 0.
    check: (r) => expect(r.stderr?.head).toMatch(/\b3: |\beval: line 2: /),
  },
  {
    name: "the directory survives the shell",
    command: "exit 0",
    before: (p) => p.target.shell.run("cd /usr"),
    check: (r) => expect(kind(r)).toBe("shell-ended"),
    after: async (p) => {
      expect(whole(await p.target.shell.run("pwd"))).toBe("/usr\n");
      await p.target.shell.run("cd /");
    },
    loses: true,
  },
  {
    name: "a shell that replaces the shell",
    command: "exec sh",
    in: pane,
    check: (r) => expect(kind(r)).toBe("waiting"),
    after: async (p) => {
      await (await p.target.panes?.pane())?.keys({ literalText: "exit", enter: true });
      await p.target.shell.wait({ waitMs: 5000 });
    },
    loses: true,
  },
  {
    name: "a shell in the shell",
    command: "sh",
    in: pane,
    check: (r) => {
      expect(r.outcome).toMatchObject({ kind: "waiting", for: "repl" });
    },
    after: async (p) => {
      await (await p.target.panes?.pane())?.keys({ literalText: "exit", enter: true });
      await p.target.shell.wait({ waitMs: 5000 });
    },
  },
  {
    name: "read waits for a line",
    command: 'read x; echo "got $x"',
    in: pane,
    check: (r, p) => waits(p.shell === "fish" ? "repl" : "line")(r),
    after: async (p) => {
      const busy = await p.target.shell.run("echo never");
      expect(busy.outcome).toMatchObject({ kind: "waiting" });
      expect(busy.notes.join()).toContain("Nothing was typed");
      await (await p.target.panes?.pane())?.keys({ literalText: "an answer; x", enter: true });
      const result = await p.target.shell.wait({ waitMs: 5000 });
      expect(result.outcome).toEqual({ kind: "exited", code: 0 });
      expect(whole(result)).toContain("got an answer; x\n");
    },
  },
  {
    name: "a password prompt goes on once answered",
    command: "bash -c 'read -r -s -p Password: x; echo; echo len ${#x}'",
    in: pane,
    before: async () => {},
    options: { waitMs: 20_000 },
    during: async (p) => {
      await shows("Password:")(p);
      await until(() => p.notices.some((n) => n.text === "password"), "the waiting is told");
      await p.types("sesame\n");
    },
    check: (r) => {
      expect(r.outcome).toEqual({ kind: "exited", code: 0 });
      expect(whole(r)).toContain("len 6");
      expect(whole(r)).not.toContain("sesame");
    },
  },
  { name: "cat waits for a line", command: "cat", in: pane, check: waits("line"), after: keys("C-d") },
  {
    name: "a pager",
    command: "less /etc/passwd",
    in: (s: ShellName) => pane(s) && s !== "ash",
    check: waits("full-screen"),
    after: keys("q"),
  },
  { name: "a REPL", command: "python3 -q", in: pane, check: waits("repl"), after: keys("C-d") },
  {
    name: "the time allowed runs out",
    command: "echo begun; sleep 1000",
    options: { waitMs: 300 },
    check: (r, p) => {
      expect(whole(r)).toBe("begun\n");
      expect(r.outcome).toEqual(
        pane(p.shell) ? { kind: "running", why: "deadline" } : { kind: "stopped", by: "deadline" },
      );
    },
    after: async (p) => {
      if (pane(p.shell)) await keys("C-c")(p);
    },
  },
  {
    name: "sent and left",
    command: "sleep 0.3; echo done later",
    options: { noWait: true },
    in: pane,
    check: (r) => expect(r.outcome).toEqual({ kind: "running", why: "no-wait" }),
    after: async (p) => {
      const later = await p.target.shell.wait({ waitMs: 10_000 });
      expect(later.outcome).toEqual({ kind: "exited", code: 0 });
      expect(whole(later)).toBe("done later\n");
    },
  },
  {
    name: "cancelled",
    command: "true",
    check: async (_, p) => cancels(p, "sleep 1001; echo not here"),
  },
  {
    name: "cancelled although it will not",
    command: "true",
    check: async (_, p) => cancels(p, "sh -c 'trap \"\" INT TERM; while :; do sleep 1002; done'"),
  },
  {
    name: "cancelled with all it started",
    command: "true",
    check: async (_, p) => cancels(p, "setsid sleep 1003 & sleep 1003"),
    in: direct,
  },
  {
    name: "stty -echo left behind",
    command: "stty -echo; echo q",
    in: pane,
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("q");
    },
    after: (p) => p.target.shell.run("stty echo"),
  },
  { name: "the prompt is changed", command: "PS1='x> '", in: posixPane, check: (r) => expect(kind(r)).toBe("exited") },
  {
    name: "hooks are removed",
    command: "PROMPT_COMMAND=; unset PROMPT_COMMAND; sh -c 'exit 5'",
    in: (s) => s === "bash",
    check: (r) => expect(r.outcome).toEqual({ kind: "exited", code: 5 }),
  },
  {
    name: "tracing is switched on",
    command: "set -x; echo traced",
    in: posix,
    check: (r) => {
      expect(kind(r)).toBe("exited");
      expect(whole(r)).toContain("traced\n");
      expect(r.output.head + r.output.tail).not.toContain("__buddy_before");
    },
    after: (p) => p.target.shell.run("set +x"),
  },
  {
    name: "unset variables are errors",
    command: "set -u",
    in: posix,
    check: (r) => expect(kind(r)).toBe("exited"),
    after: (p) => p.target.shell.run("set +u"),
  },
  {
    name: "Ctrl-C by the operator",
    command: "sleep 1000",
    in: pane,
    during: async (p) => {
      await sleeps(p);
      await p.tmux("send-keys", "-t", paneOf(p), "C-c");
    },
    check: (r) => expect(r.outcome).toEqual({ kind: "exited", code: 130 }),
  },
  {
    name: "Ctrl-Z by the operator",
    command: "sleep 1004",
    in: (s) => pane(s) && s !== "ash",
    during: async (p) => {
      await until(
        async () =>
          (await p.tmux("display-message", "-p", "-t", paneOf(p), "#{pane_current_command}")).includes("sleep"),
        "sleep runs",
      );
      await p.tmux("send-keys", "-t", paneOf(p), "C-z");
    },
    check: (r) => expect(kind(r)).toBe("exited"),
    after: (p) =>
      p.target.shell
        .run("kill %1; kill -CONT %1 2>/dev/null; wait %1 2>/dev/null; true", { waitMs: 5000 })
        .then(() => p.target.shell.run("true")),
  },
  {
    name: "a half-typed line of the operator",
    command: "echo mine",
    in: pane,
    before: async (p) => {
      await p.types("rm -rf ");
      await shows("rm -rf")(p);
    },
    check: (r) => {
      exits("mine\n")(r);
      expect(r.notes.join()).toContain("rm -rf");
    },
    // It is put back, and would stand in front of what the next one types.
    after: async (p) => {
      await until(async () => (await lastLine(p)).includes("rm -rf"), "the line is put back");
      await p.tmux("send-keys", "-t", paneOf(p), "C-u");
      await until(async () => !(await lastLine(p)).includes("rm -rf"), "the line is empty");
    },
  },
  {
    name: "a command of several lines begun by the operator",
    command: "echo mine",
    in: posixPane,
    before: async (p) => {
      await p.types("echo begun \\\n");
      await until(
        async () => (await p.tmux("capture-pane", "-p", "-t", paneOf(p))).trimEnd().split("\n").at(-1)?.includes(">"),
        "second prompt",
      );
    },
    check: (r) => exits("mine\n")(r),
    // Put back where the shell knows its first line.
    after: async (p) => {
      if (p.shell !== "bash" && p.shell !== "zsh") return;
      const screen = async () => await p.tmux("capture-pane", "-p", "-t", paneOf(p));
      await until(async () => /\nmine\n.*echo begun \\\s*$/.test(await screen()), "the lines are put back");
      await p.tmux("send-keys", "-t", paneOf(p), "C-c");
      await until(async () => !/echo begun \\\s*$/.test(await screen()), "the line is empty");
    },
  },
  {
    name: "the operator types while a command runs",
    command: "sleep 0.5; echo mine",
    in: pane,
    during: async (p) => {
      await shows("sleep 0.5")(p);
      await p.types("echo HUMAN\n");
    },
    check: (r) => {
      expect(r.outcome).toEqual({ kind: "exited", code: 0 });
      expect(whole(r)).toContain("mine\n");
      expect(whole(r)).not.toMatch(/^HUMAN/m);
    },
    after: (p) =>
      until(
        async () => /HUMAN[^]*HUMAN/.test(await p.tmux("capture-pane", "-p", "-t", paneOf(p))),
        "the operator's command ran",
      ),
  },
  {
    name: "the operator ran something before",
    command: "echo mine",
    in: pane,
    before: async (p) => {
      // In dash, what is typed before there is a prompt is not seen.
      await p.target.shell.run("true");
      await p.types("echo from-human\n");
      await shows("\nfrom-human")(p);
    },
    check: (r) => {
      exits("mine\n")(r);
      expect(r.notes.join()).toContain("operator ran");
    },
  },
  {
    name: "the operator is in copy mode",
    command: "echo mine",
    in: pane,
    before: (p) => p.tmux("copy-mode", "-t", paneOf(p)),
    check: exits("mine\n"),
  },
  {
    name: "the pane is resized meanwhile",
    command: "printf '%0300d\\n' 5; sleep 0.3; echo done",
    in: pane,
    during: async (p) => {
      await shows("00005")(p);
      await p.tmux("resize-window", "-t", paneOf(p), "-x", "60", "-y", "20");
    },
    check: exits(`${"0".repeat(299)}5\ndone\n`),
    after: (p) => p.tmux("resize-window", "-t", paneOf(p), "-x", "200", "-y", "50"),
  },
  {
    name: "many commands at once",
    command: "true",
    check: async (_, p) => {
      const results = await Promise.all(
        Array.from({ length: 50 }, (_unused, i) => p.target.shell.run(`echo begin ${i}; echo end ${i}`)),
      );
      for (const [i, result] of results.entries()) expect(whole(result)).toBe(`begin ${i}\nend ${i}\n`);
    },
  },
  {
    name: "the files are cleaned away",
    command: (p) => `rm -rf /tmp/buddy-*/${p.options.tmuxSocket}.* /dev/shm/buddy-*/${p.options.tmuxSocket}.*`,
    in: pane,
    check: (r) => expect(kind(r)).toBe("exited"),
    after: async (p) => {
      exits("restored\n")(await p.target.shell.run("echo restored", { waitMs: 10_000 }));
    },
  },
  {
    name: "the pane is killed",
    command: "sleep 1000",
    in: pane,
    during: async (p) => {
      await sleeps(p);
      await p.tmux("kill-pane", "-t", paneOf(p));
    },
    check: (r) => expect(kind(r)).toBe("lost"),
    after: told,
    loses: true,
  },
  {
    name: "the tmux server is killed",
    command: "sleep 1000",
    in: pane,
    during: async (p) => {
      await sleeps(p);
      await p.tmux("kill-server");
    },
    check: (r) => expect(kind(r)).toBe("lost"),
    after: told,
    loses: true,
  },
];

/** The next command runs in a new pane, and that is said. */
async function told(place: Place): Promise<void> {
  const next = await place.target.shell.run("echo anew");
  exits("anew\n")(next);
  expect(next.notes.join()).toContain("lost");
  expect(place.notices.some((notice) => notice.kind === "lost-state")).toBe(true);
}

/** Stopped on request, with nothing of it left running. */
/** The `10xx` in the command becomes a number of this run's own: other runs on the machine are not looked at. */
async function cancels(place: Place, command: string): Promise<void> {
  const stop = new AbortController();
  const number = String(randomInt(1_000_000, 10_000_000));
  const running = place.target.shell.run(command.replace(/\b10\d\d\b/g, number), { signal: stop.signal });
  const alive = async () => {
    // The brackets keep the search from finding itself.
    const found = await place.target.transport.run(
      'for f in $(grep -ls "$1" /proc/[0-9]*/cmdline); do case $(tr "\\000" " " <"$f") in "sleep "*) echo "$f" ;; esac; done 2>/dev/null',
      { args: [`[${number[0]}]${number.slice(1)}`] },
    );
    return found.stdout.toString().trim();
  };
  await until(async () => (await alive()) !== "", `sleep ${number} runs`);
  stop.abort();
  expect((await running).outcome).toEqual({ kind: "stopped", by: "user" });
  await until(async () => (await alive()) === "", `sleep ${number} is gone`);
}
