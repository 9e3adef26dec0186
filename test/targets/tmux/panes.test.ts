/** Managed tmux objects, the operator beside buddy, and a buddy that comes back: on real tmux. */
import { expect } from "bun:test";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import { openTarget } from "../../../src/targets/open.ts";
import { insideManagedPane } from "../../../src/targets/tmux/unmanaged-pane.ts";
import type { Pane, Panes, RunResult, Target } from "../../../src/targets/target.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { available, needs } from "../../support/needs.ts";
import { naming } from "../../support/errors.ts";

const { afterAll, beforeAll, describe, test } = await needs("tmux");
const asRoot = await needs("tmux", "root");
const inFish = await needs("tmux", "fish");
const SHELLS: readonly string[] = await available("bash", "zsh", "fish", "dash", "mksh");

const text = (result: RunResult) => result.output.head + result.output.tail;
let home: ReturnType<typeof temporaryHome>;
let place: OpenedTarget;
let panes: Panes;

beforeAll(async () => {
  home = temporaryHome();
  place = await openTestTarget("local", { agentName: "lab", shell: "bash" });
  panes = place.target.panes as Panes;
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const screen = async (of: OpenedTarget = place) =>
  await of.tmux("capture-pane", "-p", "-S", "-", "-t", (of.target.shell as Pane).id);
const refused = async (act: Promise<unknown>) => {
  const error = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BuddyError);
  return `${(error as BuddyError).message} ${(error as BuddyError).hint ?? ""}`;
};

describe("the session", () => {
  test("carries name, marks, window and title, and says how to attach", async () => {
    expect(place.target.identity).toMatchObject({
      label: "local",
      shellName: "bash",
      tmuxSession: "buddy-lab",
      attach: `tmux -L ${place.options.tmuxSocket} attach -t buddy-lab`,
    });
    const format = "#{session_name} #{window_name} #{pane_title} #{@buddy_managed} #{@buddy_owner}";
    expect((await place.tmux("list-panes", "-a", "-F", format)).trim()).toBe(
      "buddy-lab buddy-shared shared 1 buddy-lab",
    );
    expect((await place.tmux("show-options", "-v", "-t", "buddy-lab", "@buddy_managed")).trim()).toBe("1");
  });

  test("is named after the target when there is no name", async () => {
    await using other = await openTestTarget("local", { shell: "sh" });
    expect(other.target.identity.tmuxSession).toMatch(/^buddy-[0-9a-f]{12}$/);
  });

  test("nothing was typed, printed or remembered at set-up", async () => {
    await using other = await openTestTarget("local", { shell: "bash" });
    await until(async () => (await screen(other)).includes("[buddy 1: 0]"), "the prompt is drawn");
    expect((await screen(other)).trim()).toMatch(/^\[buddy 1: 0\] [^\n]*$/);
    expect(text(await other.target.shell.run("history"))).toBe("    1  history\n");
  });

  test("of another user is not touched", async () => {
    await place.tmux("new-session", "-d", "-s", "theirs", "sh");
    const error = await refused(openTarget({ ...place.options, tmuxSession: "theirs" }));
    expect(error).toMatch(naming("theirs", "--tmux NAME"));
    expect(
      (await place.tmux("list-panes", "-s", "-t", "theirs", "-F", "#{@buddy_managed}|#{window_name}")).trim(),
    ).not.toContain("buddy");
    await place.tmux("kill-session", "-t", "theirs");
  });

  test("buddy does not start inside it", async () => {
    const socket = (await place.tmux("display-message", "-p", "#{socket_path}")).trim();
    const inside = { TMUX: `${socket},1,0`, TMUX_PANE: (place.target.shell as Pane).id };
    expect(await refused(insideManagedPane(inside))).toContain("--no-tmux");
    await insideManagedPane({ TMUX: `${socket},1,0`, TMUX_PANE: "%999" });
    await insideManagedPane({});
  });

  asRoot.test(
    "a tmux server of another user that buddy was started in is not asked: it could write files",
    async () => {
      const theirs = mkdtempSync(join(tmpdir(), "buddy-theirs-"));
      chownSync(theirs, 65_534, 65_534);
      const [socket, file] = [join(theirs, "socket"), join(home.path, "written")];
      const they = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "tmux",
        "-f",
        "/dev/null",
        "-S",
        socket,
      ];
      const run = (...argv: string[]) =>
        Bun.spawnSync(argv, {
          cwd: "/",
          env: { PATH: process.env["PATH"], HOME: theirs, LC_ALL: "C.UTF-8", SHELL: "/bin/sh" },
        });
      try {
        run(...they, "new-session", "-d", "sh");
        run(...they, "set-buffer", "x");
        run(...they, "set-hook", "-g", "after-display-message", `save-buffer '${file}'`);
        await insideManagedPane({ TMUX: `${socket},1,0`, TMUX_PANE: "%0" });
        expect(existsSync(file)).toBe(false);
        // What would have happened.
        run("tmux", "-S", socket, "display-message", "-p", "x");
        expect(existsSync(file)).toBe(true);
      } finally {
        run(...they, "kill-server");
        rmSync(theirs, { recursive: true });
      }
    },
  );

  test("no tmux or an old one is reported, or an error when tmux is required", async () => {
    const bin = join(home.path, "bin");
    await Bun.$`mkdir -p ${bin}`.quiet();
    writeFileSync(join(bin, "tmux"), "#!/bin/sh\necho tmux 3.1c\n", { mode: 0o755 });
    const path = process.env["PATH"];
    process.env["PATH"] = `${bin}:${path}`;
    try {
      expect(await refused(openTarget({ ...place.options, tmux: "required" }))).toContain("3.2");
      const notices: string[] = [];
      await using direct = await openTarget({
        ...place.options,
        tmux: "auto",
        onNotice: (notice) => notices.push(notice.kind),
      });
      expect(direct.shell.kind).toBe("direct");
      expect(direct.panes).toBeUndefined();
      expect(notices).toEqual(["info"]);
    } finally {
      process.env["PATH"] = path;
    }
  });
});

describe("start-up files", () => {
  const prompts: Record<string, [file: string, content: string]> = {
    bash: [".bashrc", "PS1='my-own> '\nalias hi='echo aliased'\n"],
    zsh: [".zshrc", "PROMPT='my-own> '\nalias hi='echo aliased'\n"],
    fish: [
      ".config/fish/config.fish",
      "function fish_prompt; echo -n 'my-own> '; end\nfunction hi; echo aliased; end\n",
    ],
    dash: [".shrc", "PS1='my-own> '\nalias hi='echo aliased'\n"],
    mksh: [".mkshrc", "PS1='my-own> '\nalias hi='echo aliased'\n"],
  };
  for (const [shell, [file, content]] of Object.entries(prompts)) {
    if (!SHELLS.includes(shell)) continue;
    test(`of ${shell} still apply, behind the visible prompt`, async () => {
      await Bun.$`mkdir -p ${join(home.path, ".config/fish")}`.quiet();
      writeFileSync(join(home.path, file), content);
      const before = process.env["ENV"];
      if (shell === "dash") process.env["ENV"] = join(home.path, file);
      try {
        await using other = await openTestTarget("local", { shell });
        expect(text(await other.target.shell.run("hi"))).toBe("aliased\n");
        const last = await until(
          async () =>
            (await screen(other))
              .trimEnd()
              .split("\n")
              .find((line) => line.startsWith("[buddy 2: 0] ")),
          "prompt",
        );
        expect(last).toBe("[buddy 2: 0] my-own>");
        await other.target.shell.run("sh -c 'exit 7'");
        await until(async () => (await screen(other)).includes("[buddy 3: 7] my-own>"), "the exit code is shown");
      } finally {
        if (before === undefined) delete process.env["ENV"];
        else process.env["ENV"] = before;
        await Bun.$`rm -f ${join(home.path, file)}`.quiet();
      }
    });
  }

  test("that never reach a prompt are left out, and buddy says so", async () => {
    writeFileSync(join(home.path, ".bashrc"), "exec sh\n");
    try {
      await using other = await openTestTarget("local", { shell: "bash" });
      expect(other.notices.map((notice) => notice.text).join()).toContain("start-up files of bash");
      expect(text(await other.target.shell.run("echo $BASH_VERSION"))).not.toBe("\n");
    } finally {
      await Bun.$`rm -f ${join(home.path, ".bashrc")}`.quiet();
    }
  });
});

test("a bash without a line editor gets its commands typed", async () => {
  await using other = await openTestTarget("local", { shell: "bash" });
  expect((await other.target.shell.run("set +o emacs; set +o vi")).outcome).toEqual({ kind: "exited", code: 0 });
  const result = await other.target.shell.run("echo typed; sh -c 'exit 3'");
  expect(result.outcome).toEqual({ kind: "exited", code: 3 });
  expect(text(result)).toBe("typed\n");
  expect(text(await other.target.shell.run("echo again"))).toBe("again\n");
});

describe("panes", () => {
  test("are made, used beside each other, listed and ended", async () => {
    expect(await panes.createPane("build")).toEqual({ session: "buddy-lab", pane: "build", created: true });
    expect(await panes.createPane("build")).toMatchObject({ created: false });
    const build = await panes.pane({ pane: "build" });
    const [a, b] = await Promise.all([
      build.run("sleep 0.2; echo from build"),
      place.target.shell.run("echo from shared"),
    ]);
    expect([text(a), text(b)]).toEqual(["from build\n", "from shared\n"]);
    expect((await panes.list()).map(({ session, pane, shared }) => [session, pane, shared])).toEqual([
      ["buddy-lab", "shared", true],
      ["buddy-lab", "build", false],
    ]);
    await panes.killPane("build");
    expect((await panes.list()).map((one) => one.pane)).toEqual(["shared"]);
    expect(await refused(panes.pane({ pane: "build" }))).toContain("build");
  });

  test("a builtin that waits was listed as an idle shell", async () => {
    const shared = async () => (await panes.list()).find((one) => one.shared);
    await place.target.shell.run("true");
    expect((await shared())?.running).toBeUndefined();
    const pane = await panes.pane();
    await pane.keys({ literalText: "read answer", enter: true });
    await until(async () => (await shared())?.running === "read answer", "the pane says that it reads");
    await pane.keys({ keys: ["C-c"] });
    await until(async () => (await shared())?.running === undefined, "the prompt is back");
  });

  test("have limits, and the shared one stays", async () => {
    await panes.createPane("one");
    await panes.createPane("two");
    expect(await refused(panes.createPane("three"))).toContain("3");
    await refused(panes.killPane("shared"));
    expect(await refused(panes.killPane("nobody"))).toContain("nobody");
    await refused(panes.createPane("a b"));
    expect((await panes.list()).map((one) => one.pane)).toEqual(["shared", "one", "two"]);
    await panes.killPane("one");
    await panes.killPane("two");
  });

  test("of other sessions", async () => {
    const { session, created } = await panes.createSession("work");
    expect({ session, created }).toEqual({ session: "buddy-lab-work", created: true });
    expect(await panes.createSession("work")).toMatchObject({ created: false });
    expect(await refused(panes.createSession("more"))).toContain("2");
    const work = await panes.pane({ session: "work" });
    expect(text(await work.run("echo in work"))).toBe("in work\n");
    expect((await panes.list()).map((one) => `${one.session}/${one.pane}`)).toContain("buddy-lab-work/shared");
    for (const session of ["lab", "buddy-lab"]) await refused(panes.killSession(session));
    await panes.killSession("work");
    expect(await refused(panes.pane({ session: "work" }))).toContain("work");
    expect((await panes.list()).map((one) => one.session)).toEqual(["buddy-lab"]);
  });

  test("of the operator can be looked at, not changed", async () => {
    const id = (
      await place.tmux(
        "split-window",
        "-d",
        "-P",
        "-F",
        "#{pane_id}",
        "-t",
        (place.target.shell as Pane).id,
        "echo THEIRS; exec cat",
      )
    ).trim();
    const theirs = await panes.pane({ target: id });
    await until(async () => (await theirs.capture()).text.includes("THEIRS"), "their text");
    for (const act of [theirs.keys({ keys: ["Enter"] }), theirs.run("ls"), theirs.wait(), theirs.readOutput("x")]) {
      expect(await refused(act)).toMatch(naming(id));
    }
    expect(await refused(panes.pane({ target: "nowhere:9.9" }))).toContain("tmux");
    expect((await panes.pane({ target: (place.target.shell as Pane).id })).id).toBe((place.target.shell as Pane).id);
    await place.tmux("kill-pane", "-t", id);
  });

  test("that are killed are made again when next used, once for two who use them", async () => {
    await panes.createPane("gone");
    const gone = await panes.pane({ pane: "gone" });
    await place.tmux("kill-pane", "-t", gone.id);
    await until(async () => !(await panes.list()).some((one) => one.pane === "gone"), "it is gone");
    const [result] = await Promise.all([gone.run("echo anew"), gone.where(), gone.capture()]);
    expect(text(result)).toBe("anew\n");
    expect((await panes.list()).filter((one) => one.pane === "gone")).toHaveLength(1);
    expect(result.notes.join()).toContain("lost");
    await panes.killPane("gone");
  });
});

describe("looking and typing", () => {
  test("capture with its options", async () => {
    const shared = place.target.shell as Pane;
    await shared.run("printf '\\033[31mred\\033[0m  \\n'; printf '%0300d\\n' 1; seq 1 100");
    expect((await shared.capture()).text.split("\n").length).toBeLessThanOrEqual(50);
    expect((await shared.capture({ start: "-", end: "-" })).text).toContain("\n1\n2\n3\n");
    expect((await shared.capture({ start: "-" })).text).not.toContain("0".repeat(299));
    expect((await shared.capture({ start: "-", joinWrappedLines: true })).text).toContain(`${"0".repeat(299)}1`);
    expect((await shared.capture({ start: "-", includeEscapeSequences: true })).text).toContain("\u001b[31mred");
    expect(
      (await shared.capture({ start: "-", includeEscapeSequences: true, escapeNonPrintable: true })).text,
    ).toContain("\\033[31mred");
    expect((await shared.capture({ start: "-", preserveTrailingSpaces: true })).text).toContain("red  \n");
    const none = await shared.capture({ includeAlternateScreen: true, delayMs: 1 });
    expect(none.notice).toBeString();
    expect((await shared.capture({ start: 0, end: 0 })).text.split("\n").length).toBe(1);
    const stop = AbortSignal.abort();
    expect(shared.capture({ delayMs: 10_000, signal: stop })).rejects.toThrow();
  });

  test("the alternate screen of a program that went aside", async () => {
    const shared = place.target.shell as Pane;
    await shared.run("printf '\\033[?1049h\\033[HOVER'");
    expect((await shared.capture({ includeAlternateScreen: true })).notice).toBeUndefined();
    await shared.run("printf '\\033[?1049l'");
  });

  test("keys, text and both", async () => {
    const shared = place.target.shell as Pane;
    const waiting = await shared.run("cat");
    expect(waiting.outcome).toMatchObject({ kind: "waiting", for: "line" });
    await shared.keys({ literalText: "C-c; 'quoted' $HOME;", enter: true });
    await shared.keys({ literalText: "ü", keys: ["Enter", "C-d"], delayMs: 1 });
    const result = await shared.wait({ waitMs: 5000 });
    expect(result.outcome).toEqual({ kind: "exited", code: 0 });
    expect(text(result)).toContain("C-c; 'quoted' $HOME;\nC-c; 'quoted' $HOME;\nü\nü\n");
    await refused(shared.keys({}));
  });
});

test("a prompt of the shell behind a tmux server that does not answer is not taken for a question", async () => {
  const shared = place.target.shell as Pane;
  const server = Number(await place.tmux("display-message", "-p", "#{pid}"));
  const begun = Promise.withResolvers<void>();
  const running = shared.run("echo begun; sleep 0.2; echo over", { waitMs: 2000, onOutput: () => begun.resolve() });
  await begun.promise;
  process.kill(server, "SIGSTOP");
  try {
    expect((await running).outcome).toEqual({ kind: "running", why: "deadline" });
  } finally {
    process.kill(server, "SIGCONT");
  }
  const result = await shared.wait({ waitMs: 20_000 });
  expect([text(result), result.outcome]).toEqual(["begun\nover\n", { kind: "exited", code: 0 }]);
});

describe("a password prompt", () => {
  test("is reported at once, takes no text from buddy, and continues once the operator answered", async () => {
    const shared = place.target.shell as Pane;
    const told: string[] = [];
    const running = shared.run("bash -c 'read -rs -p Password: x; echo; echo len ${#x}'", {
      onWaiting: (waiting) => told.push(waiting.for),
    });
    await until(() => told.includes("password"), "it is told");
    expect(await refused(shared.keys({ literalText: "guess", enter: true }))).toMatch(naming("password"));
    await place.types("secret\n");
    const result = await running;
    expect(result.outcome).toEqual({ kind: "exited", code: 0 });
    expect(text(result)).toBe("Password:\nlen 6\n");
    expect(told).toEqual(["password"]);
  });

  inFish.test("in a fish function or script got keys", async () => {
    await using other = await openTestTarget("local", { shell: "fish" });
    const pane = other.target.shell as Pane;
    const script = join(home.path, "asks.fish");
    writeFileSync(script, "read -s -P 'Value? ' given; echo got:$given");
    await pane.run("function asks; read -s -P 'Value? ' given; echo got:$given; end");
    for (const command of ["asks", "asks | cat", `fish ${script}`]) {
      const running = pane.run(command, { waitMs: 20_000 });
      await until(async () => (await screen(other)).trimEnd().endsWith("Value?"), "read waits");
      for (const keys of [{ keys: ["x"] }, { literalText: "x" }, { keys: ["Space", "Enter"] }])
        expect(await refused(pane.keys(keys))).toMatch(naming("password"));
      await other.types("\n");
      await until(async () => /\nValue\? *\ngot:\n/.test(await screen(other)), "it got nothing");
      await running;
      await pane.run("clear");
    }
    // One that shows what is typed may be answered.
    const read = pane.run("read -P 'Name? ' given; echo got:$given", { waitMs: 20_000 });
    await until(async () => (await screen(other)).trimEnd().endsWith("Name?"), "read waits");
    await pane.keys({ literalText: "x", enter: true });
    expect(text(await read)).toEndWith("got:x\n");
  });

  test("that no one answers is reported when the time is up, and can be left with Ctrl-C", async () => {
    const shared = place.target.shell as Pane;
    const result = await shared.run("bash -c 'read -rs -p PIN: x'", { waitMs: 900 });
    const waiting = { kind: "waiting", for: "password", program: "bash" } as const;
    // A wait that is over before the first look reports it as well.
    expect([result.outcome, (await shared.wait({ waitMs: 1 })).outcome]).toEqual([waiting, waiting]);
    await shared.keys({ keys: ["C-c"] });
    expect((await shared.wait({ waitMs: 5000 })).outcome).toEqual({ kind: "exited", code: 130 });
  });
});

describe("commands in a queue", () => {
  test("wait their turn, and leave it when they are stopped", async () => {
    const stop = new AbortController();
    const first = place.target.shell.run("sleep 0.3; echo first");
    const second = place.target.shell.run("echo second", { signal: stop.signal });
    const third = place.target.shell.run("echo third");
    stop.abort();
    expect((await second).outcome).toEqual({ kind: "stopped", by: "user" });
    expect([text(await first), text(await third)]).toEqual(["first\n", "third\n"]);
  });
});

describe("the operator", () => {
  for (const shell of ["bash", "zsh"]) {
    test(`in the middle of a command in ${shell}: buddy's line is never joined to it, even when it comes too soon`, async () => {
      await using other = await openTestTarget("local", { shell });
      const pane = (other.target.shell as Pane).id;
      const touched = join(home.path, `touched-${shell}`);
      await other.types(`touch ${touched} \\\n`);
      await until(async () => (await screen(other)).trimEnd().endsWith(">"), "the second prompt");
      const directory = `/tmp/buddy-${process.getuid?.()}/${other.options.tmuxSocket}.${other.target.identity.tmuxSession}`;
      const file = `${readFileSync(`${directory}/run`, "utf8").trim()}/${pane.slice(1)}.next`;
      writeFileSync(file, "77\necho not now");
      const key = ["1b", "5b", "37", "37", "37", "31", "7e", ...(shell === "bash" ? ["0d"] : [])];
      await other.tmux("send-keys", "-t", pane, "-H", ...key);
      await until(async () => /\n\[buddy [23]: (130|1)\]/.test(await screen(other)), "the command was given up");
      expect(existsSync(touched)).toBe(false);
      expect(readFileSync(file, "utf8")).toBe("77\necho not now");
      expect(text(await other.target.shell.run("echo now"))).toBe("now\n");
    });
  }

  test("submits a command at the same moment: each output goes to its own", async () => {
    for (let round = 0; round < 15; round++) {
      const [result] = await Promise.all([
        place.target.shell.run(`echo mine ${round}`, { waitMs: 10_000 }),
        place.types(`echo theirs ${round}\n`),
      ]);
      if (result.outcome.kind !== "exited") throw new Error(JSON.stringify(result));
      // Keys pressed while it ran may be echoed into it by the terminal; what they ran never is.
      expect(text(result).replace(`echo theirs ${round}\n`, "")).toBe(`mine ${round}\n`);
      if (!result.notes.join().includes("set aside")) {
        await until(async () => (await screen()).includes(`theirs ${round}\n`), "theirs ran too");
      }
    }
  }, 60_000);

  test("watches with a terminal of another size", async () => {
    const attached = Bun.spawn(["tmux", "-L", place.options.tmuxSocket, "attach", "-t", "buddy-lab"], {
      env: { ...process.env, TERM: "xterm" },
      terminal: { cols: 61, rows: 17, data() {} },
    });
    await until(
      async () => (await place.tmux("list-clients", "-F", "#{client_control_mode}")).includes("0"),
      "attached",
    );
    expect(text(await place.target.shell.run("printf '%0200d\\n' 3; stty size"))).toMatch(/^0{199}3\n1[67] 61\n$/);
    attached.kill();
    await attached.exited;
    const size = async () => text(await place.target.shell.run("stty size"));
    await until(async () => (await size()) === "50 200\n", "the window has its size back");
  });

  test("runs a full-screen program: buddy waits its turn and says so", async () => {
    await place.types("less /etc/passwd\n");
    await until(
      async () =>
        (await place.tmux("display-message", "-p", "-t", (place.target.shell as Pane).id, "#{alternate_on}")).trim() ===
        "1",
      "less",
    );
    const busy = await place.target.shell.run("echo never typed");
    expect(busy.outcome.kind).not.toBe("exited");
    expect(busy.notes.join()).toContain("less /etc/passwd");
    expect(await screen()).not.toContain("never typed");
    await place.types("q");
    await until(async () => (await place.target.shell.run("echo free")).outcome.kind === "exited", "free again");
    expect(place.notices.some((notice) => notice.kind === "operator" && notice.text.includes("less /etc/passwd"))).toBe(
      true,
    );
  });
});

describe("a buddy that comes back", () => {
  test("finds pane, directory and the running command", async () => {
    await using first = await openTestTarget("local", { shell: "zsh" });
    const go = join(home.path, "go-on");
    await first.target.shell.run("cd /usr; export MARK=kept");
    await first.target.shell.run(
      `echo before; sh -c 'until [ -e ${go} ]; do sleep 0.05; done'; echo after; sh -c 'exit 4'`,
      { noWait: true },
    );
    const before = (first.target.shell as Pane).id;
    const notices: string[] = [];
    await using second: Target = await first.again((notice) => notices.push(notice.text));
    expect((second.shell as Pane).id).toBe(before);
    expect((await second.shell.run("echo too early")).outcome).toMatchObject({
      kind: "running",
      why: "busy",
    });
    writeFileSync(go, "");
    const result = await second.shell.wait({ waitMs: 10_000 });
    expect(result.outcome).toEqual({ kind: "exited", code: 4 });
    expect(text(result)).toBe("before\nafter\n");
    expect(notices.join()).toContain("echo before");
    expect(text(await second.shell.run("echo $PWD $MARK"))).toBe("/usr kept\n");
  });

  const FOUND = ["bash", "zsh", "fish", "dash"].flatMap((shell) =>
    [undefined, { inNamespace: false }].map(
      (unasked) => [shell, unasked === undefined ? "asked" : "unasked", unasked] as const,
    ),
  );

  test.each(FOUND)(
    "%s, %s: the text of the running command was the beginning of its output",
    async (shell, how, unasked) => {
      await using first = await openTestTarget("local", { shell });
      const go = join(home.path, `go-${shell}-${how}`);
      const command = `echo begun\nsh -c 'until [ -e ${go} ]; do sleep 0.05; done'\necho over`;
      await first.target.shell.run(command, { noWait: true, ...(unasked === undefined ? {} : { unasked }) });
      const screen = () => first.tmux("capture-pane", "-p", "-t", (first.target.shell as Pane).id);
      await until(async () => (await screen()).includes("\nbegun\n"), "it has begun");
      const notices: string[] = [];
      await using second: Target = await first.again((notice) => notices.push(notice.text));
      writeFileSync(go, "");
      const result = await second.shell.wait({ waitMs: 10_000 });
      expect([result.outcome, text(result)]).toEqual([{ kind: "exited", code: 0 }, "begun\nover\n"]);
      expect(notices.join()).toContain("echo begun");
      expect(notices.join()).not.toContain(".sh");
    },
  );

  test.each(["bash", "dash"])("continues in its %s pane when something cleaned its files away", async (shell) => {
    await using first = await openTestTarget("local", { shell });
    await first.target.shell.run("MARK=kept");
    const { tmuxSession } = first.target.identity;
    for (const place of ["/tmp", "/dev/shm"])
      await Bun.$`rm -rf ${place}/buddy-${process.getuid?.()}/${first.options.tmuxSocket}.${tmuxSession}`.quiet();
    await using second = await first.again();
    const result = await second.shell.run("echo $MARK", { waitMs: 10_000 });
    expect(result).toMatchObject({ outcome: { kind: "exited", code: 0 }, output: { head: "kept\n" } });
  });

  test("reports a shell that does not answer, instead of waiting for ever", async () => {
    await using first = await openTestTarget("local", { shell: "bash" });
    await first.target.shell.run("true");
    const { tmuxSession = "" } = first.target.identity;
    const directory = `/tmp/buddy-${process.getuid?.()}/${first.options.tmuxSocket}.${tmuxSession}`;
    writeFileSync(join(directory, "key"), `${"0".repeat(32)}\n`);
    await first.tmux("set-option", "-t", tmuxSession, "@buddy_key", "0".repeat(32));
    await using second = await first.again();
    const result = await second.shell.run("true");
    expect(result.outcome).toMatchObject({ kind: "lost", why: expect.any(String) });
  });

  test("output that tmux left out is filled in from the screen", async () => {
    const shared = place.target.shell as Pane;
    const running = shared.run("for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.1; done");
    await until(async () => (await screen()).includes("\nstep 2"), "it runs");
    const client = (await place.tmux("list-clients", "-F", "#{client_control_mode} #{client_name}"))
      .split("\n")
      .find((line) => line.startsWith("1 "));
    await place.tmux("refresh-client", "-t", client?.slice(2) ?? "", "-A", `${shared.id}:pause`);
    const result = await running;
    expect(result.outcome).toEqual({ kind: "exited", code: 0 });
    expect(text(result)).toBe(Array.from({ length: 8 }, (_, i) => `step ${i + 1}\n`).join(""));
    expect(result.notes).toHaveLength(1);
  });

  test("the key is private", async () => {
    const directory = `/tmp/buddy-${process.getuid?.()}/${place.options.tmuxSocket}.buddy-lab`;
    const { stdout } = Bun.spawnSync(["stat", "-c", "%a", directory, `${directory}/key`]);
    expect(stdout.toString()).toBe("700\n600\n");
    const key = readFileSync(`${directory}/key`, "utf8").trim();
    const { stdout: processes } = Bun.spawnSync([
      "sh",
      "-c",
      "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'",
    ]);
    expect(processes.toString()).not.toContain(key);
  });
});

test("a million lines, exact to the byte", async () => {
  const result = await place.target.shell.run("seq 1 1000000", { keep: 1000 });
  expect(result.output.totalBytes).toBe(6_888_896);
  const hash = new Bun.CryptoHasher("sha256");
  for (let offset = 0; ;) {
    const page = await place.target.shell.readOutput(result.outputId ?? "", { offset, limit: 1_000_000 });
    hash.update(page.text);
    offset = page.nextOffset;
    if (page.done) break;
  }
  const expected = Bun.spawnSync(["sh", "-c", "seq 1 1000000 | sha256sum"]).stdout.toString().slice(0, 64);
  expect(hash.digest("hex")).toBe(expected);
});

test("without a command there is nothing to wait for", async () => {
  await using other = await openTestTarget("local", { shell: "dash" });
  await refused(other.target.shell.wait());
  expect(await refused(other.target.shell.run("a\0b"))).toContain("NUL");
  expect((await other.target.shell.run("echo x", { signal: AbortSignal.abort() })).outcome).toEqual({
    kind: "stopped",
    by: "user",
  });
});

test.each(["kill-pane", "kill-session", "kill-server"])(
  "a command that comes right after %s runs in a new pane, or is said not to have run",
  async (kill) => {
    await using other = await openTestTarget("local", { shell: "bash" });
    const { shell, identity } = other.target;
    await shell.run("true");
    const what = kill === "kill-pane" ? (shell as Pane).id : (identity.tmuxSession ?? "");
    await other.tmux(kill, ...(kill === "kill-server" ? [] : ["-t", what]));
    const file = join(home.path, `after-${kill}`);
    const run = () => shell.run(`echo ran >>${file}; echo here`);
    let result = await run();
    if (result.outcome.kind === "lost") {
      expect(result.outcome).toMatchObject({ notRun: true });
      result = await run();
    }
    expect([result.outcome, text(result)]).toEqual([{ kind: "exited", code: 0 }, "here\n"]);
    expect(readFileSync(file, "utf8")).toBe("ran\n");
  },
);
