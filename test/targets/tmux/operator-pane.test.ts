/**
 * A pane of the operator's own tmux that buddy works in, on a private server: exact ends, nothing of theirs left
 * changed.
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { placeOf } from "../../../src/targets/place.ts";
import type { Target, TargetNotice } from "../../../src/targets/target.ts";
import { buddyError } from "../../support/errors.ts";
import { available, needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";
import { targetOptions } from "../../support/target-options.ts";

const { describe, test } = await needs("linux", "tmux", "bash");
const shells = await available("bash", "zsh", "fish", "dash", "busybox", "mksh");

setDefaultTimeout(60_000);

describe("--pane", () => {
  const directory = join(realpathSync(tmpdir()), `buddy-pane-${crypto.randomUUID().slice(0, 8)}`);
  const socket = join(directory, "tmux");
  const before = { TMUX: process.env["TMUX"], TMUX_PANE: process.env["TMUX_PANE"] };
  const notices: TargetNotice[] = [];
  let target: Target | undefined;

  const tmux = (...args: string[]): string => {
    const done = Bun.spawnSync(["tmux", "-u", "-S", socket, ...args], { env: { ...process.env, HOME: directory } });
    if (done.exitCode !== 0) throw new Error(`tmux ${args.join(" ")}: ${done.stderr}`);
    return done.stdout.toString().trimEnd();
  };
  const screen = (pane: string) => tmux("capture-pane", "-p", "-J", "-S", "-", "-t", pane).trimEnd();
  const lastLine = (pane: string) => screen(pane).split("\n").at(-1) ?? "";
  /** As the operator does it. */
  const type = (pane: string, line: string) => tmux("send-keys", "-t", pane, "-l", line);
  const enter = (pane: string, line: string) => (type(pane, line), tmux("send-keys", "-t", pane, "Enter"));
  const atPrompt = (pane: string) => until(() => /[%#$>] *$/.test(lastLine(pane)), `pane ${pane} shows a prompt`);
  const newPane = async (command: string): Promise<string> => {
    const pane = tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", command);
    await atPrompt(pane);
    return pane;
  };
  const open = async (pane: string): Promise<Target> => {
    target = await openTarget(
      targetOptions({
        place: placeOf({}),
        tmux: "auto",
        pane,
        onNotice: (notice) => notices.push(notice),
      }),
    );
    return target;
  };
  const close = async () => {
    await target?.[Symbol.asyncDispose]();
    target = undefined;
  };
  /** What the shell prints for a line of the operator's. */
  const answer = async (pane: string, line: string): Promise<string> => {
    await atPrompt(pane);
    const mark = `begin-${crypto.randomUUID().slice(0, 8)}`;
    enter(pane, `echo ${mark.replace("-", '"-"')}; ${line}; echo do""ne`);
    const printed = () => new RegExp(`^${mark}\n([^]*?)^done$`, "m").exec(screen(pane))?.[1];
    return until(printed, `${line} is done`);
  };

  beforeAll(() => {
    mkdirSync(directory, { mode: 0o700 });
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "work", "-x", "150", "-y", "40", "exec sleep 1000");
    process.env["TMUX"] = `${socket},1,0`;
    delete process.env["TMUX_PANE"];
  });
  afterEach(async () => {
    await close();
    notices.length = 0;
  });
  afterAll(() => {
    tmux("kill-server");
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    rmSync(directory, { recursive: true, force: true });
  });

  const started: Record<string, string> = {
    bash: "exec env -u HISTCONTROL PS1='mine $ ' bash --norc",
    zsh: "exec zsh -f",
    fish: `exec env XDG_CONFIG_HOME=${directory} XDG_RUNTIME_DIR=${directory} fish`,
    dash: "exec env PS1='mine $ ' dash",
    busybox: "exec env PS1='mine $ ' busybox ash",
    mksh: "exec env PS1='mine $ ' mksh",
  };
  const shown: Record<string, string> = {
    bash: 'echo "$PS1|${PROMPT_COMMAND-none}|${HISTCONTROL-none}"; declare -F | grep -c buddy; history | grep -c "[7]771"',
    zsh: 'print -r -- "$PROMPT|$precmd_functions|$(setopt)"; print -l ${(k)functions} ${(k)parameters} | grep -c buddy',
    fish: "functions fish_prompt | string match -v -r '^#' | md5sum; functions -a | grep -c buddy",
    dash: 'printf "%s\\n" "$PS1"; set | grep -c "^__buddy"',
    busybox: 'printf "%s\\n" "$PS1"; set | grep -c "^__buddy"',
    mksh: 'printf "%s\\n" "$PS1"; set | grep -c "^__buddy"',
  };

  test.each(shells)("%s: commands end exactly, and buddy leaves the shell as it was", async (name) => {
    const pane = await newPane(started[name]!);
    const was = await answer(pane, shown[name]!);
    const opened = await open(pane);
    expect(opened.identity).toMatchObject({
      user: (await opened.shell.where()).user,
      label: expect.stringContaining(pane),
    });
    const ran = await opened.shell.run("echo one; sh -c 'exit 7'");
    expect(ran.outcome).toEqual({ kind: "exited", code: 7 });
    expect(ran.output.head).toBe("one\n");
    // The key of the marks: who could read it could pretend that a command has ended.
    expect(screen(pane)).not.toMatch(/\b[\da-f]{24}\b/);
    expect((await opened.shell.run("echo a\\!b", { unasked: { inNamespace: false } })).output.head).toBe("a!b\n");
    // The editor of busybox takes lines of 1023 characters.
    const long = "x".repeat(1200);
    expect((await opened.shell.run(`echo ${long}`)).output.head).toBe(`${long}\n`);
    expect((await opened.shell.run(`cd ${directory}`)).cwd).toBe(directory);
    await opened.files.write(`${directory}/note`, "text\n");
    expect((await opened.files.read("note")).text).toBe("text\n");
    // As the operator does it: a question would name the directory.
    enter(pane, "cd /");
    await until(async () => (await opened.shell.where()).cwd === "/", "the shell says where it is");
    const secret = "printf '%s\\n' 'p4$w0rd\"and!\\quotes'";
    const used = await opened.shell.run(`${secret} | wc -c`, { shown: "printf a secret" });
    expect(used.output.head).toBe("20\n");
    expect((await opened.shell.run("set | grep -c 'p4[$]w'")).output.head).toBe("0\n");
    expect(screen(pane)).not.toContain("p4$w");
    expect(screen(pane)).toContain("printf a secret");
    await close();
    expect(await answer(pane, shown[name]!)).toBe(was);
  });

  test("what was approved for an inner shell does not run in the one around it, whenever the inner one ends", async () => {
    const made = join(directory, "made-outside");
    // A shell of someone else: it ends as soon as it has asked for the command that nobody sees, or when a line comes.
    const rc = join(directory, "hostile.rc");
    const program = join(directory, "su");
    writeFileSync(program, `#!/bin/sh\nbash --rcfile ${rc} -i\n`, { mode: 0o755 });
    const hostile = {
      secret: `sh() { [[ $2 == *";N"* ]] || { command sh "$@"; return; }
        [ -e ${directory}/first ] || { : >${directory}/first; command sh "$@"; return; }
        printf '\\033]7771;%s;N\\a' "$4" >/dev/tty; kill -9 $$; }`,
      // Reads one key where its prompt should be, so that the others are left to the shell around it.
      line: `PROMPT_COMMAND='[ ! -e ${directory}/ready ] || { printf "%s" "\${__buddy_m-}/x$__buddy_e"; read -rsn1; kill -9 $$; }'`,
    };
    for (const [how, script] of Object.entries(hostile)) {
      rmSync(join(directory, "first"), { force: true });
      writeFileSync(rc, `PS1='inner$ '\n${script}\n`);
      const pane = await newPane("bash --norc");
      const { shell } = await open(pane);
      await shell.run("true");
      enter(pane, program);
      await until(() => lastLine(pane).endsWith("inner$"), "the inner shell shows its prompt");
      await until(async () => (await shell.where()).program !== undefined, "the outer shell is seen to be busy");
      await target!.adopt!();
      await until(async () => (await target!.shell.where()).program === undefined, "the inner shell is at its prompt");
      if (how === "line") {
        writeFileSync(join(directory, "ready"), "");
        enter(pane, "cd /");
        await until(async () => (await target!.shell.where()).cwd === "/x", "it says that it is at its prompt");
      }
      const options = how === "secret" ? { shown: "touch ‹secret-1: path›" } : {};
      await target!.shell.run(`touch ${made}`, { waitMs: 5000, ...options });
      await until(() => /bash-[\d.]+[#$]$/.test(lastLine(pane).trim()), "the outer shell is back");
      enter(pane, "echo outer-$((40 + 2))");
      await until(() => screen(pane).includes("\nouter-42\n"), "the outer shell has read all that came");
      expect([how, existsSync(made)]).toEqual([how, false]);
      await close();
      tmux("kill-pane", "-t", pane);
    }
  });

  test("a mark that a command forges does not become the directory of a question", async () => {
    const pane = await newPane(started["bash"]!);
    const { shell } = await open(pane);
    const { cwd } = shell;
    await shell.run(`printf '\\033]7771;%s;B;/forged\\a' "$__buddy_k"`);
    await until(async () => (await shell.where()).cwd === "", "the directory is in doubt");
    enter(pane, "true");
    await until(async () => (await shell.where()).cwd === cwd, "the shell says where it is");
    await close();
  });

  test("an answer of the terminal before the key, as busybox gets it, made the key another one", async () => {
    const programs = join(directory, "programs");
    mkdirSync(programs);
    // Before the line is read, tmux has answered.
    writeFileSync(join(programs, "stty"), `#!/bin/sh\nprintf '\\033[6n' >/dev/tty\nPATH=\${PATH#*:} exec stty "$@"\n`, {
      mode: 0o755,
    });
    const pane = await newPane(`exec env PATH=${programs}:"$PATH" PS1='mine $ ' bash --norc`);
    const { shell } = await open(pane);
    expect((await shell.run("echo one")).output.head).toBe("one\n");
  });

  test("a half typed line is set aside and put back; sizes, windows and the session stay as they are", async () => {
    const pane = await newPane(started["bash"]!);
    const about = () => tmux("display-message", "-p", "-t", "work:", "#{window_id} #{window_width}x#{window_height}");
    const was = [about(), tmux("show-environment", "-t", "work"), tmux("show-options", "-t", "work")];
    const { shell } = await open(pane);
    await shell.run("PS1='other $ ' PROMPT_COMMAND=");
    expect((await shell.run("echo on")).output.head).toBe("on\n");
    type(pane, "echo half");
    await until(() => lastLine(pane).endsWith("echo half"), "the line is typed");
    const ran = await shell.run("echo mine");
    expect(ran.output.head).toBe("mine\n");
    await until(() => lastLine(pane).endsWith("$ echo half"), "the line is back");
    await close();
    await until(() => lastLine(pane).endsWith("$ echo half"), "the line is back after buddy left");
    expect([about(), tmux("show-environment", "-t", "work"), tmux("show-options", "-t", "work")]).toEqual(was);
  });

  test("a shell inside it, then out again; when the shell has ended nothing runs any more", async () => {
    const pane = await newPane("env PS1='outer $ ' bash --norc; exec env PS1='last $ ' bash --norc");
    const opened = await open(pane);
    await opened.shell.run("export PS1 PROMPT_COMMAND; inside=no");
    enter(pane, "PS1='inner $ ' bash --norc");
    await until(() => lastLine(pane) === "inner $", "the inner shell is there");
    // Not adopted: nothing is typed into it.
    const busy = await opened.shell.run("inside=yes");
    expect(busy.outcome).toMatchObject({ kind: "running", why: "busy" });
    expect(busy.notes.join()).toContain("/adopt");
    expect(lastLine(pane)).toBe("inner $");
    // Keys for it are judged as the lines of a shell.
    expect((await (await opened.panes!.pane()).where()).program).toBe("bash");
    await opened.adopt!();
    await opened.shell.run("inside=yes");
    expect((await opened.shell.run("echo $inside")).output.head).toBe("yes\n");
    enter(pane, "exit");
    await until(() => notices.some(({ text }) => text.includes("again")), "buddy is back in the outer one");
    expect((await opened.shell.run("echo $inside")).output.head).toBe("no\n");
    const decided = opened.now!();
    enter(pane, "exit");
    await until(() => opened.isAdopted === false, "the shell has ended");
    expect(notices.at(-1)?.text).toContain("/adopt");
    expect((await decided.shell.run("echo no")).outcome.kind).toBe("lost");
    await expect(opened.shell.run("echo no")).rejects.toThrow(buddyError("target"));
    await expect(opened.files.read("/etc/hosts")).rejects.toThrow(buddyError("target"));
    expect(lastLine(pane)).toBe("last $");
    await opened.adopt!();
    expect((await opened.shell.run("echo $$-$inside")).output.head).toMatch(/^\d+-\n$/);
    tmux("kill-pane", "-t", pane);
    await until(() => opened.isAdopted === false, "the pane is gone");
  });

  test("keys that would go elsewhere are not typed", async () => {
    const pane = await newPane(started["bash"]!);
    const other = tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", pane, started["bash"]!);
    await atPrompt(other);
    const opened = await open(pane);
    tmux("set-option", "-w", "-t", pane, "synchronize-panes", "on");
    const ran = await opened.shell.run("echo both");
    expect(ran.outcome).toMatchObject({ kind: "running", why: "busy" });
    expect(ran.notes.join()).toContain("synchronize-panes");
    expect(screen(other)).not.toContain("both");
    tmux("set-option", "-w", "-t", pane, "synchronize-panes", "off");
    const panes = opened.panes!;
    await expect(panes.pane({ target: other })).rejects.toThrow(buddyError("tool", pane));
    enter(pane, "read -s secret");
    await until(() => lastLine(pane).endsWith("read -s secret"), "read waits");
    await expect((await panes.pane()).keys({ literalText: "hidden" })).rejects.toThrow(buddyError("tool", "password"));
    tmux("send-keys", "-t", pane, "Enter");
    expect((await opened.shell.run("echo free")).output.head).toBe("free\n");
  });

  test.each(shells.filter((name) => name === "fish"))(
    "%s: no key goes to a silent read in a function",
    async (name) => {
      const pane = await newPane(started[name]!);
      const opened = await open(pane);
      await opened.shell.run("function asks; read -s -P 'Value? ' given; echo got:$given; end");
      enter(pane, "asks");
      await until(() => lastLine(pane).startsWith("Value?"), "read waits");
      const keys = (await opened.panes!.pane()).keys({ keys: ["x"] });
      await expect(keys).rejects.toThrow(buddyError("tool", "password"));
      tmux("send-keys", "-t", pane, "Enter");
      await until(() => screen(pane).includes("got:\n"), "nothing was typed");
    },
  );

  test("panes that cannot be worked in are named with the reason, and nothing is typed there", async () => {
    await expect(open("%4711")).rejects.toThrow(buddyError("target", "%4711", socket));
    const sleeping = tmux("list-panes", "-t", "work:0", "-F", "#{pane_id}");
    await expect(open(sleeping)).rejects.toThrow(buddyError("target", sleeping, "sleep"));
    const pane = await newPane(started["bash"]!);
    enter(pane, "printf '\\033[?1049hfull'; read x");
    await until(() => screen(pane).includes("full"), "it fills the screen");
    await expect(open(pane)).rejects.toThrow(buddyError("target", pane, "full-screen"));
    tmux("set-option", "-p", "-t", pane, "@buddy_managed", "1");
    await expect(open(pane)).rejects.toThrow(buddyError("target", pane, "buddy"));
    process.env["TMUX_PANE"] = sleeping;
    await expect(open(sleeping)).rejects.toThrow(buddyError("target", sleeping, "buddy"));
    delete process.env["TMUX_PANE"];
    process.env["TMUX"] = `${directory}/none,1,0`;
    await expect(open(pane)).rejects.toThrow(buddyError("target", `${directory}/none`));
    process.env["TMUX"] = `${socket},1,0`;
  });
});
