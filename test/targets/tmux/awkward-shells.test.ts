/** Shells that end, are hardened or stand still: what a pane makes of them. */
import { expect } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Pane, RunOptions, RunResult } from "../../../src/targets/target.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { available, needs } from "../../support/needs.ts";

const { afterAll, beforeAll, describe, test } = await needs("tmux");
const zsh = await needs("tmux", "zsh");
const SHELLS = await available("bash", "zsh", "fish", "dash");

const text = (result: RunResult) => result.output.head + result.output.tail;
const root = join(import.meta.dir, "../../..");
let home: ReturnType<typeof temporaryHome>;

beforeAll(() => {
  home = temporaryHome();
});

afterAll(() => home[Symbol.dispose]());

describe("a new shell starts where the last one was", () => {
  test.each(SHELLS)("after Ctrl-D in %s, also where the operator had changed it", async (shell) => {
    await using place = await openTestTarget("local", { shell });
    await place.target.shell.run("cd /usr");
    await place.types("cd /usr/lib\n");
    await until(() => place.target.shell.cwd === "/usr/lib", "the operator is there");
    await place.tmux("send-keys", "-t", (place.target.shell as Pane).id, "C-d");
    const notice = await until(() => place.notices.find((one) => one.kind === "lost-state"), "it ended");
    expect(notice.text).toContain("/usr/lib");
    const { cwd } = await place.target.shell.run("true");
    expect(cwd).toBe("/usr/lib");
    // A command that comes while the shell ends runs in the next one, and says so.
    for (const round of [1, 2, 3]) {
      await (place.target.shell as Pane).keys({ keys: ["C-d"] });
      const result = await place.target.shell.run(`echo ${round}`);
      expect(text(result)).toBe(`${round}\n`);
      expect(result.notes.join("\n")).toContain(" /usr/lib");
    }
  });

  test("after TMOUT", async () => {
    await using place = await openTestTarget("local", { shell: "bash" });
    await place.target.shell.run("cd /usr/share; TMOUT=1");
    const notice = await until(() => place.notices.find((one) => one.kind === "lost-state"), "it ended");
    expect(notice.text).toContain("/usr/share");
    expect(text(await place.target.shell.run("pwd"))).toBe("/usr/share\n");
  });
});

describe.each(await available("bash", "dash", "busybox"))("where sh is %s", (sh) => {
  test("a pane works, and a shell that stops itself was one that had ended", async () => {
    const bin = mkdtempSync(join(tmpdir(), "buddy-sh-"));
    symlinkSync(Bun.which(sh) ?? "", join(bin, "sh"));
    const before = process.env["PATH"];
    process.env["PATH"] = `${bin}:${before}`;
    try {
      await using place = await openTestTarget("local", { shell: "bash" });
      const { shell } = place.target;
      const pid = text(await shell.run("echo $$"));
      const stopped = await shell.run("kill -STOP $$; echo back");
      expect([stopped.outcome, text(stopped)]).toEqual([{ kind: "exited", code: 0 }, "back\n"]);
      expect(text(await shell.run("echo $$"))).toBe(pid);
      const killed = await shell.run("echo one; kill -9 $$");
      expect([killed.outcome.kind, text(killed)]).toEqual(["shell-ended", "one\n"]);
      expect(text(await shell.run("echo two"))).toBe("two\n");
    } finally {
      process.env["PATH"] = before;
      rmSync(bin, { recursive: true });
    }
  });
});

test("start-up files that wait for input took 12 s without a word", async () => {
  const file = join(home.path, ".bashrc");
  writeFileSync(file, "cat\n");
  try {
    await using place = await openTestTarget("local", { shell: "bash" });
    const warned = place.notices.filter(({ kind }) => kind !== "info").map((one) => one.text);
    expect(warned).toEqual([expect.stringMatching(/start-up files of bash.*\bcat\b/)]);
    expect(text(await place.target.shell.run("echo mine"))).toBe("mine\n");
  } finally {
    rmSync(file);
  }
}, 60_000);

test("start-up files that take long are waited for, and named", async () => {
  const file = join(home.path, ".bashrc");
  const go = join(home.path, "go");
  writeFileSync(file, `until [ -e ${go} ]; do sleep 0.05; done\nexport SLOW=read\n`);
  try {
    await using opened = await openTestTarget("local", {
      shell: "bash",
      onNotice: ({ kind, text: said }) => {
        if (kind === "info" && said.includes("bash")) writeFileSync(go, "");
      },
    });
    expect(text(await opened.target.shell.run("echo $SLOW"))).toBe("read\n");
    expect(existsSync(go)).toBe(true);
  } finally {
    rmSync(file);
    rmSync(go, { force: true });
  }
}, 60_000);

test("start-up files that take long are waited for when a shell ended, too; what then waits for input is named", async () => {
  const file = join(home.path, ".bashrc");
  const go = join(home.path, "go");
  const slow = `until [ -e ${go} ]; do sleep 0.05; done; rm ${go}\n`;
  const delays: string[] = [];
  try {
    await using place = await openTestTarget("local", { shell: "bash" });
    writeFileSync(file, `${slow}export SLOW=read\n`);
    await place.target.shell.run("exit 3");
    const onDelay = (why: string) => {
      delays.push(why);
      writeFileSync(go, "");
    };
    expect(text(await place.target.shell.run("echo $SLOW", { onDelay }))).toBe("read\n");
    expect(delays).toEqual([expect.stringContaining("bash")]);
    writeFileSync(file, `${slow}cat\n`);
    const said: string[] = [];
    await using other = await openTestTarget("local", {
      shell: "bash",
      onNotice: ({ kind, text: notice }) => {
        said.push(notice);
        if (kind === "info" && notice.includes("bash")) writeFileSync(go, "");
      },
    });
    expect(said.at(-1)).toMatch(/\bbash\b.*\bcat\b/);
    expect(text(await other.target.shell.run("echo mine"))).toBe("mine\n");
  } finally {
    rmSync(file);
    rmSync(go, { force: true });
  }
}, 60_000);

describe("start-up files of a login", () => {
  /** Starts bash as the pane of a login does, and counts how often each file was read. */
  async function readByLogin(files: Readonly<Record<string, string>>): Promise<string> {
    const directory = join(home.path, "login");
    mkdirSync(join(directory, "buddy"), { recursive: true });
    await Bun.$`rm -rf ${directory} && mkdir -p ${directory}/buddy`.quiet();
    writeFileSync(join(directory, "buddy/key"), "k\n");
    writeFileSync(join(directory, "buddy/run"), `${directory}/buddy\n`);
    for (const [name, body] of Object.entries(files)) {
      writeFileSync(join(directory, name), `echo ${name} >>${directory}/read\n${body}\n`);
    }
    const child = Bun.spawn(["bash", "--rcfile", join(root, "templates/shell-init/bash.sh"), "-i"], {
      env: { ...process.env, HOME: directory, BUDDY_DIR: `${directory}/buddy`, BUDDY_LOGIN: "1", BUDDY_PLAIN: "" },
      stdin: Buffer.from("exit\n"),
      stdout: "ignore",
      stderr: "ignore",
    });
    await child.exited;
    return readFileSync(join(directory, "read"), "utf8").trim().split("\n").join(" ");
  }

  test(".bashrc was read twice under Debian's .profile", async () => {
    const read = await readByLogin({ ".profile": '[ -f "$HOME/.bashrc" ] && . "$HOME/.bashrc"', ".bashrc": "" });
    expect(read).toBe(".profile .bashrc");
  });

  test(".bashrc is read where no profile names it, or only a comment does", async () => {
    expect(await readByLogin({ ".bash_profile": "# not .bashrc", ".bashrc": "" })).toBe(".bash_profile .bashrc");
    expect(await readByLogin({ ".bashrc": "" })).toBe(".bashrc");
    const system = "[ -r /etc/bashrc ] && . /etc/bashrc; [ -r /etc/bash.bashrc ] && : /etc/bash.bashrc";
    expect(await readByLogin({ ".profile": system, ".bashrc": "" })).toBe(".profile .bashrc");
  });

  test("only the first profile is read, also when it fails", async () => {
    expect(await readByLogin({ ".bash_profile": "false", ".profile": "" })).toBe(".bash_profile");
  });

  test("a loop over several files", async () => {
    const loop = "for f in ~/.{aliases,bashrc}; do [ -r $f ] && . $f; done";
    const files = { ".bash_profile": loop, ".aliases": "", ".bashrc": "" };
    expect(await readByLogin(files)).toBe(".bash_profile .aliases .bashrc");
  });

  test(".bash_profile that reads .profile that reads .bashrc", async () => {
    const files = { ".bash_profile": ". ~/.profile", ".profile": ". ~/.bashrc", ".bashrc": "" };
    expect(await readByLogin(files)).toBe(".bash_profile .profile .bashrc");
  });
});

describe("a hardened bash", () => {
  test.each(["PROMPT_COMMAND", "PS1", "PS0", "PS2", "HISTCONTROL", "IFS"])(
    "with a read-only %s keeps its start-up files",
    async (name) => {
      const rc = `${name}=${name === "PROMPT_COMMAND" ? "true" : "'> '"}\nreadonly ${name}\nMARK=kept\n`;
      writeFileSync(join(home.path, ".bashrc"), rc);
      try {
        await using place = await openTestTarget("local", { shell: "bash" });
        expect(place.notices.filter(({ kind }) => kind !== "info")).toEqual([]);
        const result = await place.target.shell.run('echo "$MARK"; (exit 3)', { waitMs: 10_000 });
        expect(result.outcome).toEqual({ kind: "exited", code: 3 });
        expect(text(result)).toBe("kept\n");
        const again = await place.target.shell.run("cd /usr && pwd", { waitMs: 10_000 });
        expect([text(again), again.cwd]).toEqual(["/usr\n", "/usr"]);
      } finally {
        await Bun.$`rm -f ${join(home.path, ".bashrc")}`.quiet();
      }
    },
  );
});

const READ_ONLY = [
  ["bash", "PROMPT_COMMAND PS1"],
  ["bash", "PROMPT_COMMAND PS0 PS1 PS2 IFS"],
  ["zsh", "precmd_functions preexec_functions"],
  ["zsh", "zshaddhistory_functions"],
  ["zsh", "IFS"],
].filter(([shell]) => SHELLS.some((one) => one === shell)) as [string, string][];

test.each(READ_ONLY)("%s: a read-only %s cost 12 s and what the start-up files export", async (shell, names) => {
  const file = `.${shell}rc`;
  writeFileSync(join(home.path, file), `readonly ${names}\nexport MARK=kept\n`);
  try {
    await using place = await openTestTarget("local", { shell });
    expect(text(await place.target.shell.run('echo "$MARK"'))).toBe("kept\n");
  } finally {
    rmSync(join(home.path, file));
  }
});

const READ_AGAIN = (
  [
    ["bash", ".bashrc", "unset PROMPT_COMMAND\nPROMPT_COMMAND='echo hook'\nPS1='$ '\n"],
    ["zsh", ".zshrc", "precmd_functions=(hook)\nhook() { echo hook }\nprecmd() { hook }\nPROMPT='%% '\n"],
  ] as const
).filter(([shell]) => SHELLS.includes(shell));

test.each(READ_AGAIN)("%s: %s that was read again made the pane useless", async (shell, file, rc) => {
  writeFileSync(join(home.path, file), rc);
  try {
    await using place = await openTestTarget("local", { shell });
    const run = async (command: string) => {
      const result = await place.target.shell.run(command, { waitMs: 30_000 });
      return [result.outcome, text(result)];
    };
    expect(await run(`. ~/${file}`)).toEqual([{ kind: "exited", code: 0 }, ""]);
    expect(await run(`source ~/${file}; printf one; (exit 3)`)).toEqual([{ kind: "exited", code: 3 }, "one"]);
    expect(await run("echo two")).toEqual([{ kind: "exited", code: 0 }, "two\n"]);
    expect(await run(`. "~/${file}`)).toEqual([expect.objectContaining({ kind: "incomplete" }), ""]);
    // Nothing reports that the operator's line has ended.
    await place.types(`. ~/${file}\n`);
    const pane = (place.target.shell as Pane).id;
    const screen = async () => await place.tmux("capture-pane", "-p", "-t", pane);
    await until(async () => /\n[$%]\s*$/.test(await screen()), "a prompt without buddy's part");
    expect(await run("echo three")).toEqual([{ kind: "exited", code: 0 }, "three\n"]);
    expect(place.notices.filter(({ kind }) => kind === "operator")).toHaveLength(1);
  } finally {
    rmSync(join(home.path, file));
  }
});

test("a write that the terminal does not take was called waiting for input", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const pane = (place.target.shell as Pane).id;
  const begun = join(tmpdir(), `buddy-begun-${crypto.randomUUID()}`);
  const command = `stty ixon; : >${begun}; seq 1 200000; rm ${begun}; stty -ixon`;
  const running = place.target.shell.run(command, { waitMs: 4000, keep: 100 });
  // Before that it would be a key for the line editor.
  await until(() => existsSync(begun), "it has begun");
  await place.tmux("send-keys", "-t", pane, "C-s");
  const result = await running;
  await place.tmux("send-keys", "-t", pane, "C-q");
  expect(["running", "exited"]).toContain(result.outcome.kind);
  expect((await place.target.shell.wait({ waitMs: 30_000 })).outcome).toEqual({ kind: "exited", code: 0 });
});

describe("the operator types while a command comes", () => {
  const screen = async (place: OpenedTarget) =>
    await place.tmux("capture-pane", "-p", "-J", "-t", (place.target.shell as Pane).id);

  test.each(SHELLS)(
    "the second line that the model's keys entered was said to be the operator's: %s",
    async (shell) => {
      await using place = await openTestTarget("local", { shell });
      const pane = place.target.shell as Pane;
      await pane.run("true");
      await pane.keys({ literalText: "echo one\necho two\n" });
      await until(async () => /(?<!echo )two$/m.test(await screen(place)), "both ran");
      const { notes } = await pane.run("true");
      expect(notes.filter((note) => note.includes("send-keys"))).toHaveLength(2);
      await place.types("echo three\n");
      await until(async () => /(?<!echo )three$/m.test(await screen(place)), "the operator's ran");
      expect((await pane.run("true")).notes.join()).toMatch(/"echo three".*\b0\b/);
      expect(place.notices.filter(({ kind }) => kind === "operator")).toHaveLength(1);
    },
  );

  test.each(SHELLS)("a half-typed line in %s is put back, and runs when they press Enter", async (shell) => {
    // fish would show the rest of a line that it finds there.
    rmSync(join(home.path, ".bash_history"), { force: true });
    await using place = await openTestTarget("local", { shell });
    await place.types("echo 'half");
    await until(async () => (await screen(place)).includes("echo 'half"), "it is typed");
    const first = await place.target.shell.run("echo mine");
    expect(text(first)).toBe("mine\n");
    expect(first.notes.join()).toContain("echo 'half");
    await until(async () => /\] [^\n]*echo 'half\s*$/.test(await screen(place)), "it is back");
    expect(await screen(place)).not.toContain("__buddy");
    const second = await place.target.shell.run("echo again");
    expect([text(second), second.notes]).toEqual(["again\n", []]);
    await until(async () => (await screen(place)).trimEnd().endsWith("echo 'half"), "it is back again");
    await place.types(" done'\n");
    await until(async () => (await screen(place)).includes("\nhalf done\n"), "it ran as a whole");
    await until(
      () => place.notices.some((one) => one.kind === "operator" && one.text.includes("half done")),
      "noticed",
    );
  });

  test("a line was cut in the middle and its Enter ran the rest: the command waits for a pause", async () => {
    await using place = await openTestTarget("local", { shell: "bash" });
    const delays: string[] = [];
    await place.types("echo one");
    await until(async () => (await screen(place)).includes("echo one"), "they type");
    const running = place.target.shell.run("echo mine", { onDelay: (why) => delays.push(why) });
    await until(() => delays.length === 1, "the command waits");
    await place.types(" two\n");
    expect(text(await running)).toBe("mine\n");
    expect(await screen(place)).toContain("\none two\n");
    expect(delays).toHaveLength(1);
  });

  test.each(SHELLS)("a command of several lines was given up under their hands: %s", async (shell) => {
    await using place = await openTestTarget("local", { shell });
    const delays: string[] = [];
    await place.target.shell.run("true");
    await place.types("echo 'one\n");
    await until(async () => /'one\n.*\S?/.test(await screen(place)), "its first line is entered");
    await place.types("two");
    await until(async () => /two\s*$/.test(await screen(place)), "they type on");
    const running = place.target.shell.run("echo mine", { onDelay: (why) => delays.push(why) });
    await until(() => delays.length === 1, "the command waits");
    await place.types(" three'\n");
    const result = await running;
    expect([text(result), result.notes.length]).toEqual(["mine\n", 1]);
    expect(await screen(place)).toContain("\none\ntwo three\n");
  });

  test.each(SHELLS.filter((shell) => shell !== "dash"))(
    "a half-typed command of several lines was lost: %s puts it back",
    async (shell) => {
      await using place = await openTestTarget("local", { shell });
      await place.target.shell.run("true");
      await place.types("echo 'one\n");
      await until(async () => /'one\n.*\S?/.test(await screen(place)), "its first line is entered");
      await place.types("two");
      await until(async () => /two\s*$/.test(await screen(place)), "they type the second");
      const first = await place.target.shell.run("echo mine");
      expect([text(first), first.notes]).toEqual(["mine\n", [expect.stringContaining("'one two")]]);
      await until(async () => /mine\n.*echo 'one\n\s*two\s*$/.test(await screen(place)), "it is back");
      const second = await place.target.shell.run("echo again");
      expect([text(second), second.notes]).toEqual(["again\n", []]);
      await until(async () => /again\n.*echo 'one\n\s*two\s*$/.test(await screen(place)), "it is back again");
      await place.types(" three'\n");
      await until(async () => /\none\n\s*two three\n/.test(await screen(place)), "it ran as a whole");
    },
  );
});

const BEGUN = (await available("bash", "zsh", "fish")).flatMap((shell) =>
  ["C-x", "Escape", "C-v", "C-r"].map((key) => [shell, key] as const),
);

const REDRAWN = (await available("mksh", "busybox")).map((name) => (name === "busybox" ? "busybox ash" : name));

describe("the operator has begun something else when a command comes", () => {
  const shown = async (place: OpenedTarget, what: string) =>
    until(
      async () =>
        (await place.tmux("capture-pane", "-p", "-J", "-t", (place.target.shell as Pane).id)).trimEnd().endsWith(what),
      `the screen ends with ${what}`,
    );

  test.each(BEGUN)("%s, %s: bash ran their line, with the rest of buddy's key in it", async (shell, key) => {
    const ran = join(home.path, `ran-${crypto.randomUUID()}`);
    await using place = await openTestTarget("local", { shell });
    const pane = (place.target.shell as Pane).id;
    if (key !== "C-r") {
      await place.types(`touch ${ran}`);
      await shown(place, ran);
    }
    await place.tmux("send-keys", "-t", pane, key);
    const result = await place.target.shell.run("echo mine", { waitMs: 60_000 });
    expect([result.outcome, text(result)]).toEqual([{ kind: "exited", code: 0 }, "mine\n"]);
    expect(existsSync(ran)).toBe(false);
    expect(place.notices.filter(({ kind }) => kind === "operator")).toEqual([]);
    if (key === "C-r") return;
    // As they had it.
    await shown(place, `touch ${ran}`);
    await place.tmux("send-keys", "-t", pane, "C-c");
  });

  test.each(SHELLS)("output that was stopped with Ctrl-S continues in %s", async (shell) => {
    await using place = await openTestTarget("local", { shell });
    await place.tmux("send-keys", "-t", (place.target.shell as Pane).id, "C-s");
    const result = await place.target.shell.run("echo mine", { waitMs: 60_000 });
    expect([result.outcome, text(result)]).toEqual([{ kind: "exited", code: 0 }, "mine\n"]);
  });

  test.each(REDRAWN)("%s draws its prompt again: a half-typed line was said to have run", async (shell) => {
    await using place = await openTestTarget("local", { shell });
    // On the screen, and heard by buddy, which is not the same moment.
    const half = async () => {
      await shown(place, "echo half");
      await until(async () => (await place.target.shell.where()).typed === "echo half", "buddy knows the line");
    };
    await place.types("echo half");
    await half();
    for (const word of ["one", "two"]) {
      const result = await place.target.shell.run(`echo ${word}`);
      expect(text(result)).toBe(`${word}\n`);
      expect(result.notes.join("\n")).not.toMatch(/exit code/);
      await half();
    }
    expect(place.notices.filter(({ kind }) => kind === "operator")).toEqual([]);
  });
});

/** mksh and busybox report no line: buddy reads the screen, and on a busy machine a line may be gone by then. */
const SEEN_ON_SCREEN = { retry: 3 };
const WRAPPED = [...SHELLS, ...REDRAWN].filter((shell) => shell !== "dash");

test.each(WRAPPED)(
  "a line of several rows in %s came back with blanks in it, and another one was said to have run",
  async (shell) => {
    await using place = await openTestTarget("local", { shell });
    const pane = (place.target.shell as Pane).id;
    // A prompt of one length: at some, busybox's line is reported twice.
    await place.target.shell.run("cd /");
    await place.tmux("resize-window", "-t", pane, "-x", "40");
    await until(async () => text(await place.target.shell.run("stty size")).endsWith(" 40\n"), "the shell is narrow");
    const line = "echo one two three four five six seven eight nine ten";
    // Key by key, as by hand: editors draw the end of a row otherwise than the end of a paste.
    for (const key of line) await place.types(key);
    await until(async () => (await place.target.shell.where()).typed.endsWith("nine ten"), "it is typed");
    const { notes } = await place.target.shell.run("echo mine");
    // mksh scrolls a line that is too long.
    const seen = shell === "mksh" ? "nine ten" : line;
    expect(notes.join("\n")).toContain(`${seen}"`);
    await until(async () => (await place.target.shell.where()).typed.endsWith("nine ten"), "it is back");
    await place.types("\n");
    const said = await until(() => place.notices.find(({ kind }) => kind === "operator"), "it ran");
    expect(said.text).toContain(`${seen}"`);
    const screen = await place.tmux("capture-pane", "-p", "-J", "-t", pane);
    expect(screen).toContain("\none two three four five six seven eight nine ten\n");
  },
);

/** What has the names of commands that buddy's own lines use. */
const USED =
  "cd read printf echo test kill wait sleep stty cat grep ls umask type command rm mkfifo readlink env true od tr";
const SPECIAL = "[ return exec eval trap set unset";
const define = (names: string, one: (name: string) => string) => names.split(" ").map(one).join("\n");
const no = (name: string) => `${name}() { /bin/echo no; }`;
const alias = (name: string) => `alias '${name}'='/bin/echo no'`;
const NAMED: Readonly<Record<string, string>> = {
  "bash functions": define(`${USED} ${SPECIAL} builtin local shopt enable`, no),
  "zsh functions": define(`${USED} ${SPECIAL} builtin local print setopt`, (name) => no(`'${name}'`)),
  "dash functions": define(USED, no),
  "mksh functions": define(USED, no),
  "bash aliases": define(`${USED} ${SPECIAL} shopt alias`, alias),
  "zsh aliases": define(`${USED} ${SPECIAL} print typeset setopt alias`, alias),
  "dash aliases": define(`${USED} ${SPECIAL} alias`, alias),
  "mksh aliases": define(`${USED} ${SPECIAL} alias`, alias),
};
const WITH_MKSH: readonly string[] = await available("bash", "zsh", "fish", "dash", "mksh");

/** Start-up files, and what a pane made of them. */
const AWKWARD = (
  [
    ["bash", "set -e", "was left without its start-up files"],
    ["bash", "set +o emacs", "lost the output of what was not one line"],
    ["bash", "readonly PROMPT_COMMAND=true", "was taken for a program after a command that ran unasked"],
    ["bash", "PS1='$ '; readonly PS1", "was silent after a command that had failed unasked"],
    ["bash", "readonly __buddy_id=5", "accepted no command"],
    ["bash", "readonly tag=1 line=2 code=3 i=4 mark=5 before=6", "accepted no command"],
    ["bash", "alias builtin=no .=no", "ran nothing that was not one line"],
    ["bash", ".() { echo no; }; :() { echo no; }", "ran nothing that was not one line"],
    ["bash", "enable -n printf builtin", "reported no end of a command"],
    ["bash", "read() { echo no; }; bind() { echo no; }", "was left without its start-up files"],
    ["bash", "alias printf='echo no' history='echo no'", "ran nothing unasked"],
    ["bash", "printf() { echo no; }", "had more in its output"],
    ["bash", "export LC_ALL=xx_YY.UTF-8", "complained about the locale in the output"],
    ["bash", "IFS=0123456789", "lost the exit code of what ran unasked"],
    ["bash", "export POSIXLY_CORRECT=1", "is in posix mode"],
    ["zsh", "unsetopt zle", "accepted no command"],
    ["zsh", "typeset -r PS2", "reported no end of a command"],
    ["zsh", "emulate ksh", "added 200 spaces to every output"],
    ["zsh", "emulate -R ksh", "added 200 spaces to every output"],
    ["zsh", "emulate csh", "did not run what was not one line"],
    ["zsh", "setopt errexit nounset", "ended"],
    ["zsh", "zle() { echo no }", "accepted no command"],
    ["zsh", "read() { echo no }; alias setopt=no local=no builtin=no", "was left without its start-up files"],
    ["zsh", "alias .=no", "ran nothing that was not one line"],
    ["zsh", "bindkey -N mine emacs; bindkey -A mine main", "accepted no command"],
    ["zsh", "alias -g print=no; alias printf=no", "started no command"],
    ["fish", "function printf; echo no; end", "had more in its output"],
    ["dash", "alias printf='echo no'", "lost all output"],
    ["dash", "alias .=no command=no", "accepted no command"],
    ["dash", "set -e", "ended when something failed unasked"],
    ["dash", "IFS=0123456789", "lost every exit code"],
    ["dash", "readonly PS2", "was left without its start-up files"],
    ["dash", "readonly IFS", "was left without its start-up files"],
    ["dash", "readonly PS1", "took 3 s and was left without its start-up files"],
    ["dash", "eval() { echo no; }", "was left without all of its start-up files for an error in one"],
    ["bash", "functions", "ran nothing: they had the names of commands that buddy uses"],
    ["bash", "aliases", "had more in its output: they had the names of commands that buddy uses"],
    ["bash", "enable -n read kill umask local declare trap shopt mapfile return", "reported no end of a command"],
    ["zsh", "functions", "ran nothing: they had the names of commands that buddy uses"],
    ["zsh", "aliases", "had more in its output: they had the names of commands that buddy uses"],
    ["zsh", "disable read printf print umask bindkey zle", "was left without its start-up files"],
    ["dash", "functions", "was left without them: they had the names of commands that buddy uses"],
    ["dash", "aliases", "had more in its output: they had the names of commands that buddy uses"],
    ["mksh", "functions", "was left without them: they had the names of commands that buddy uses"],
    ["mksh", "aliases", "had more in its output: they had the names of commands that buddy uses"],
  ] as const
).filter(([shell]) => WITH_MKSH.includes(shell));

test.each(AWKWARD)("a %s with %s %s", async (shell, rc) => {
  const file = join(
    home.path,
    { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish", dash: ".shrc", mksh: ".mkshrc" }[shell],
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `export KEPT=kept\n${NAMED[`${shell} ${rc}`] ?? rc}\n`);
  if (shell === "dash") process.env["ENV"] = file;
  try {
    await using place = await openTestTarget("local", { shell });
    const run = async (command: string, more: RunOptions = {}) => {
      const result = await place.target.shell.run(command, { waitMs: 30_000, ...more });
      return [text(result), result.outcome];
    };
    const exited = (code: number) => ({ kind: "exited", code }) as const;
    expect(await run("/bin/echo one $KEPT")).toEqual(["one kept\n", exited(0)]);
    expect(await run("/bin/echo one\n/bin/echo two")).toEqual(["one\ntwo\n", exited(0)]);
    expect(await run("echo three; exit 5", { unasked: { inNamespace: false } })).toEqual(["three\n", exited(5)]);
    await place.target.locks.settled;
    expect(await run("echo four; exit 6", { unasked: { inNamespace: true } })).toEqual(["four\n", exited(6)]);
    expect(await run("cd /usr/lib && pwd", { unasked: { inNamespace: false } })).toEqual(["/usr/lib\n", exited(0)]);
    expect(place.target.shell.cwd).toBe("/usr/lib");
    expect(await run("/bin/echo five")).toEqual(["five\n", exited(0)]);
    expect(place.notices.filter(({ kind }) => kind !== "warning")).toEqual([]);
  } finally {
    rmSync(file);
    delete process.env["ENV"];
  }
});

test("a bash that starts in posix mode reads none of its start-up files, and came to no prompt", async () => {
  process.env["POSIXLY_CORRECT"] = "1";
  try {
    await using place = await openTestTarget("local", { shell: "bash" });
    expect(text(await place.target.shell.run("echo $POSIXLY_CORRECT; set -o | grep posix"))).toMatch(
      /^1\nposix\s+on\n$/,
    );
    expect((await place.target.shell.run("exit 3")).outcome).toEqual({ kind: "shell-ended", code: 3 });
    expect(text(await place.target.shell.run("echo $POSIXLY_CORRECT"))).toBe("1\n");
  } finally {
    delete process.env["POSIXLY_CORRECT"];
  }
});

/** What traps and options print: about the command it is output, about buddy's own lines it is not. */
const PRINTS = (
  [
    ["bash", "trap 'echo x' DEBUG", "x\none\n", "one\ntwo\n"],
    ["bash", "set -T; trap 'echo x' DEBUG", "x\none\n", "x\none\nx\ntwo\n"],
    ["bash", "set -v", "one\n", "echo one\none\necho two\ntwo\n"],
    ["bash", "trap 'echo error' ERR", "one\n", "one\ntwo\n"],
    ["zsh", "trap 'echo x' DEBUG", "x\none\n", "x\none\nx\ntwo\n"],
    ["zsh", "TRAPDEBUG() { print x }", "x\none\n", "x\none\nx\ntwo\n"],
    ["zsh", "trap 'echo error' ZERR", "one\n", "one\ntwo\n"],
    ["fish", "function late --on-event fish_preexec; echo hook; end", "one\n", "one\ntwo\n"],
    ["fish", "set -g fish_trace 1", "> echo one\none\n", "--> echo one\none\n--> echo two\ntwo\n"],
    ["dash", "set -v", "echo one\none\n", "echo one\none\necho two\ntwo\n"],
    ["mksh", "set -v", "echo one\none\n", "echo one\none\necho two\ntwo\n"],
    ["mksh", "set -x", "+ echo one\none\n", "+ echo one\none\n+ echo two\ntwo\n"],
    [
      "mksh",
      "PS4='> '; set -xv",
      "echo one\n> echo one\none\n",
      "echo one\n> echo one\none\necho two\n> echo two\ntwo\n",
    ],
  ] as const
).filter(([shell]) => SHELLS.some((one) => one === shell) || REDRAWN.some((one) => one === shell));

test.each(PRINTS)("%s, %s: what it prints about buddy's own lines was output", async (shell, set, one, lines) => {
  await using place = await openTestTarget("local", { shell });
  await place.target.shell.run(set);
  const run = async (command: string, more: RunOptions = {}) => {
    const result = await place.target.shell.run(command, { waitMs: 30_000, ...more });
    return [text(result), result.outcome];
  };
  const exited = (code: number) => ({ kind: "exited", code }) as const;
  expect(await run("echo one")).toEqual([one, exited(0)]);
  expect(await run("echo one\necho two")).toEqual([lines, exited(0)]);
  expect(await run("echo three; exit 5", { unasked: { inNamespace: false } })).toEqual(["three\n", exited(5)]);
  const screen = await place.tmux("capture-pane", "-p", "-S", "-500", "-t", (place.target.shell as Pane).id);
  expect([screen.includes("three"), /\b[0-9a-f]{32}\b/.test(screen)]).toEqual([true, false]);
});

const mksh = await needs("tmux", "mksh", "dash");

mksh.test("a shell that took the place of mksh was given a command, and another was said to be typed", async () => {
  const made = join(home.path, `made-${crypto.randomUUID()}`);
  await using place = await openTestTarget("local", { shell: "mksh" });
  await place.types("\n");
  await place.types("PS1='outer> ' exec dash\n");
  const screen = () => place.tmux("capture-pane", "-p", "-t", (place.target.shell as Pane).id);
  await until(async () => (await screen()).trimEnd().endsWith("outer>"), "the other shell is at its prompt");
  const result = await place.target.shell.run(`touch ${made}`, { waitMs: 10_000 });
  expect([result.outcome.kind === "exited", existsSync(made)]).toEqual([false, false]);
  expect(result.notes.join()).not.toContain('"');
  await place.types("exit\n");
  await until(() => place.notices.some(({ kind }) => kind === "lost-state"), "a new shell comes");
  expect(text(await place.target.shell.run("echo mine"))).toBe("mine\n");
  expect(place.notices.map((one) => one.text).join()).not.toContain('"…"');
});

zsh.test("a search in zsh's vi mode, which only Ctrl-C ends, made the pane useless", async () => {
  const file = join(home.path, ".zshrc");
  writeFileSync(file, "bindkey -v\nzle-line-init() { zle -K vicmd }\nzle -N zle-line-init\n");
  try {
    await using place = await openTestTarget("local", { shell: "zsh" });
    const pane = (place.target.shell as Pane).id;
    await place.tmux("send-keys", "-t", pane, "/", "x");
    const screen = () => place.tmux("capture-pane", "-p", "-t", pane);
    await until(async () => (await screen()).includes("\n?x_"), "they search");
    const result = await place.target.shell.run("echo mine", { waitMs: 60_000 });
    expect([result.outcome, text(result), result.notes]).toEqual([{ kind: "exited", code: 0 }, "mine\n", []]);
  } finally {
    rmSync(file);
  }
});

const busybox = await needs("tmux", "busybox");

busybox.test("a password that a busybox shell reads was a program that runs", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const result = await place.target.shell.run(`busybox sh -c 'stty -echo; printf "Password: "; read x; stty echo'`, {
    waitMs: 3000,
  });
  expect(result.outcome).toMatchObject({ kind: "waiting", for: "password" });
  // A command that comes right behind Ctrl-C waits for the prompt.
  await (place.target.shell as Pane).keys({ keys: ["C-c"] });
  expect(text(await place.target.shell.run("stty echo; echo after"))).toBe("after\n");
});

const fish = await needs("tmux", "fish");

fish.test(
  "a password that fish reads got keys",
  async () => {
    await using place = await openTestTarget("local", { shell: "fish" });
    const pane = place.target.shell as Pane;
    const { outcome } = await pane.run("read --local -s secret; echo got", { waitMs: 5000 });
    expect(outcome).toMatchObject({ kind: "waiting", for: "password" });
    await expect(pane.keys({ keys: ["a", "Enter"] })).rejects.toThrow("password");
    await pane.keys({ keys: ["C-c"] });
    expect((await pane.run("read -l name", { waitMs: 5000 })).outcome).toMatchObject({ kind: "waiting", for: "repl" });
    await pane.keys({ keys: ["a", "Enter"] });
    expect(text(await pane.run("echo after"))).toBe("after\n");
  },
  60_000,
);

const VI = { bash: "set -o vi", zsh: "bindkey -v" } as const;
const ANSWERED = [...(await available("bash", "zsh", "fish", "dash", "mksh")), "bash vi", "zsh vi"].filter((one) =>
  SHELLS.some((shell) => one.startsWith(shell) || one === "mksh"),
);

test.each(ANSWERED)("answers of the terminal were typed, run, or swallowed the next command in %s", async (name) => {
  const [shell = "", mode] = name.split(" ");
  const file = join(home.path, `.${shell}rc`);
  if (mode === "vi") writeFileSync(file, VI[shell as keyof typeof VI]);
  try {
    await using place = await openTestTarget("local", { shell });
    for (const asked of [
      "[c",
      "[>c\\033[>q\\033[18t",
      "]11;?\\a\\033P$qm\\033\\\\",
      "[5n\\033[c\\033[6n'; sleep '0.1",
    ]) {
      await place.target.shell.run(`printf '\\033${asked}'`);
      const next = await place.target.shell.run("echo next");
      expect([text(next), next.outcome, next.notes]).toEqual(["next\n", { kind: "exited", code: 0 }, []]);
    }
    // What follows is the operator's again.
    await place.types("echo theirs\n");
    const said = await until(() => place.notices.find(({ kind }) => kind === "operator"), "their command is noticed");
    expect(said.text).toContain('"echo theirs"');
  } finally {
    rmSync(file, { force: true });
  }
});

const RIGHT: Readonly<Record<string, readonly [file: string, text: string]>> = {
  zsh: [".zshrc", "RPROMPT='%D{%H:%M} right'\n"],
  fish: [".config/fish/config.fish", "function fish_right_prompt; echo right; end\n"],
};
const WITH_RIGHT = (await available("zsh", "fish")).map(String);

test.each(WITH_RIGHT)(
  "a prompt at the right in %s was a line that the operator types, at every command",
  async (shell) => {
    const [name, rc] = RIGHT[shell]!;
    const file = join(home.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, rc);
    try {
      await using place = await openTestTarget("local", { shell });
      const delays: string[] = [];
      const options = { onDelay: (why: string) => delays.push(why) };
      for (const word of ["one", "two"]) {
        expect(text(await place.target.shell.run(`echo ${word}`, options))).toBe(`${word}\n`);
      }
      await place.types("echo theirs\n");
      const said = await until(() => place.notices.find(({ kind }) => kind === "operator"), "their command is noticed");
      expect(said.text).toContain('"echo theirs"');
      expect(delays).toEqual([]);
    } finally {
      rmSync(file);
    }
  },
);

describe("hooks that print before the prompt", () => {
  /** As powerlevel10k does: an early prompt with output redirected, options switched on late, a hook put in front. */
  const themed = `
print -n 'early prompt'
exec {saved}>&1 >/dev/null
theme_precmd() {
  if (( saved )); then exec >&$saved {saved}>&-; saved=0; setopt prompt_sp prompt_cr; fi
  precmd_functions=(theme_precmd \${precmd_functions:#theme_precmd})
  print -rn -- \${(pl.COLUMNS-1.. .)}$'\\r'
  print 'from the hook'
  PROMPT='themed> '
}
theme_init() { setopt prompt_sp; }
precmd_functions+=(theme_precmd theme_init)
precmd() { print 'from precmd'; }
`;

  zsh.test("zsh with a theme lost the first character and added 200 spaces", async () => {
    writeFileSync(join(home.path, ".zshrc"), themed);
    try {
      await using place = await openTestTarget("local", { shell: "zsh" });
      for (const word of ["one", "two", "three"]) {
        const result = await place.target.shell.run(`printf 'x${word}'; (exit 4)`);
        expect([text(result), result.outcome]).toEqual([`x${word}`, { kind: "exited", code: 4 }]);
      }
      expect(text(await place.target.shell.run("echo line"))).toBe("line\n");
      expect(text(await place.target.shell.run("echo $?"))).toBe("0\n");
    } finally {
      await Bun.$`rm -f ${join(home.path, ".zshrc")}`.quiet();
    }
  });

  /** As bash-preexec does: at the first prompt it puts its own in front of what is there. */
  const preexec = `
late() {
  PROMPT_COMMAND=("__precmd
\${PROMPT_COMMAND[0]/late/:}" "\${PROMPT_COMMAND[@]:1}")
}
__precmd() { local code=$?; echo from the hook; return $code; }
PROMPT_COMMAND=late
`;

  const postexec = "function late --on-event fish_postexec; echo from the hook; end";

  test.each([
    ["bash with a hook that puts itself in front", "bash", ".bashrc", preexec],
    ["bash with a PS0 that prints", "bash", ".bashrc", "PS0='at \\t\\n'"],
    ["fish with a hook behind commands", "fish", ".config/fish/config.fish", postexec],
    [
      "zsh with options that change how a script is read",
      "zsh",
      ".zshrc",
      "setopt nounset ignorebraces ksharrays errreturn",
    ],
  ])("%s", async (_, shell, name, startUp) => {
    const file = join(home.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, startUp);
    try {
      await using place = await openTestTarget("local", { shell });
      for (const word of ["one", "two", "three"]) {
        const result = await place.target.shell.run(`echo ${word}; sh -c 'exit 4'`);
        expect([text(result), result.outcome]).toEqual([`${word}\n`, { kind: "exited", code: 4 }]);
      }
      expect(place.notices.filter(({ kind }) => kind !== "info")).toEqual([]);
    } finally {
      rmSync(file);
    }
  });
});

const EVERY = [...(await available("bash", "zsh", "fish", "dash", "mksh")), ...(await available("busybox"))].map(
  (shell) => (shell === "busybox" ? "busybox ash" : shell),
);

test.each(EVERY)(
  "wide, combined and unknown characters that were half typed in %s came back as others",
  async (shell) => {
    await using place = await openTestTarget("local", { shell });
    const file = join(home.path, `typed-${crypto.randomUUID()}`);
    const long = "a日b本c ".repeat(30).trim();
    for (const typed of ["日本 e\u0301 ß?", "👍🏽 👨‍👩‍👧", ...(shell === "bash" || shell === "dash" ? [long] : [])]) {
      const ran = place.notices.filter(({ kind }) => kind === "operator").length;
      // At a whole prompt: dash does not draw again what was typed before it.
      await place.target.shell.run("true");
      await (place.target.shell as Pane).capture();
      await place.types(`printf %s '${typed}' >${file}`);
      await until(
        async () => (await place.target.shell.where()).typed.includes(file.slice(-8)),
        "buddy knows the line",
      );
      expect(text(await place.target.shell.run("echo mine"))).toBe("mine\n");
      await until(async () => (await place.target.shell.where()).typed.includes(file.slice(-8)), "it is back");
      await place.types("\n");
      await until(
        () => place.notices.filter(({ kind }) => kind === "operator").length > ran,
        "buddy knows that it ran",
      );
      expect(readFileSync(file, "utf8")).toBe(typed);
      rmSync(file);
    }
  },
);

test.each(EVERY.filter((shell) => shell !== "dash"))(
  "a line that the model edited in %s was reported as if it had only been typed",
  async (shell) => {
    await using place = await openTestTarget("local", { shell });
    const pane = place.target.shell as Pane;
    await pane.keys({ literalText: "cho edited", keys: ["Home", "e", "End", "Left", "-", "Enter"] });
    const { notes } = await pane.run("echo next");
    // mksh draws its prompt again over what was edited.
    expect(notes.join("\n")).toMatch(shell === "mksh" ? /edite-d|A line/ : /"echo edite-d", typed with send-keys/);
    expect(place.notices.filter(({ kind }) => kind === "operator")).toEqual([]);
    // What it leaves in the line is not the operator's.
    await pane.keys({ literalText: "echo half", keys: ["Left"] });
    const after = await pane.run("echo after");
    expect([text(after), after.notes]).toEqual(["after\n", []]);
  },
  SEEN_ON_SCREEN,
);
