/** The compiled REPL on a real pseudo-terminal with a real emulator. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { startLoginServer } from "../support/login-server.ts";
import { needs } from "../support/needs.ts";
import { ReplBinary, shellCall, shellReply } from "../support/repl-binary.ts";
import { until } from "../support/until.ts";
import { QUESTION, REPL } from "../support/wording.ts";

const procps = await needs("ps");
const paned = await needs("tmux");
const TIMEOUT = 60_000;
/** Answers every prompt with itself. */
const echo = {
  reply: ({ messages }: { messages: readonly { role: string; content: string }[] }) => ({
    text: `You said: ${messages.findLast(({ role }) => role === "user")?.content.slice(0, 60) ?? ""}`,
  }),
};

describe("a conversation", () => {
  for (const [cols, rows] of [
    [80, 24],
    [40, 12],
    [200, 60],
  ] as const) {
    test(
      `on ${cols}×${rows}`,
      async () => {
        await using repl = new ReplBinary(echo);
        const pty = await repl.start({ cols, rows });
        const first = await pty.until(/> *$/);
        expect(first.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(7);
        expect(first).toContain("scripted-model");
        pty.type("hello there\r");
        const screen = await pty.until((text) => text.includes("You said: hello there") && /> *$/.test(text));
        expect(screen).toContain("> hello there\n");
        for (const line of screen.split("\n")) expect(Bun.stringWidth(line)).toBeLessThan(cols);
        pty.type("/quit\r");
        expect(await pty.exited).toBe(0);
        // The end of a process is known before its last words are read.
        await until(
          () => pty.emulator.raw.endsWith(`buddy resume ${/session (\S+):/.exec(pty.emulator.history())?.[1]}\r\n`),
          "how to resume is the last thing it says",
        );
        for (const mode of ["\x1b[?2004l", "\x1b[?1004l", "\x1b[?25h", "\x1b[?7h"])
          expect(pty.emulator.raw).toContain(mode);
      },
      TIMEOUT,
    );
  }

  test(
    "a long paste is data: it attaches no file, and a host that it names is asked about",
    async () => {
      const fetch = { toolCalls: [{ name: "fetch_url", args: { url: "https://pasted.vendor-site.com/" } }] };
      await using repl = new ReplBinary([fetch, { text: "understood" }]);
      repl.box.write("cwd/private.txt", "only for the operator\n");
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("why does this fail? ");
      pty.paste(`${"a line of a log\n".repeat(20)}see @private.txt and https://pasted.vendor-site.com/x`);
      await pty.until("[pasted 21 lines]");
      pty.key("enter");
      await pty.until("pasted.vendor-site.com is new in this session");
      await pty.until(QUESTION.asked);
      pty.type("n");
      await pty.until(QUESTION.reason);
      pty.key("enter");
      await pty.until("understood");
      expect(repl.prompts[0]).toContain("see @private.txt");
      expect(repl.prompts[0]).not.toContain("only for the operator");
    },
    TIMEOUT,
  );

  test(
    "every key does on the binary what it does in the editor",
    async () => {
      await using repl = new ReplBinary(echo);
      const pty = await repl.start();
      await pty.until(/> *$/);
      const cases: readonly (readonly [keys: readonly string[], prompt: string])[] = [
        [["a", "c", "left", "b", "ctrl-e", "d"], "abcd"],
        [["b", "home", "a", "end", "c"], "abc"],
        [["x", "ctrl-a", "a", "ctrl-f", "b", "ctrl-b", "ctrl-b", "0"], "0axb".replace("0ax", "a0x")],
        [["one two", "ctrl-w", "2", "ctrl-a", "ctrl-k", "ctrl-y", "!"], "one 2!"],
        [["one two", "alt-b", "ctrl-u", "x ", "alt-f", "."], "x two."],
        [["one two", "ctrl-a", "alt-d", "1"], "1 two"],
        [["ab", "left", "delete", "ctrl-h", "z"], "z"],
        [["first", "alt-enter", "second"], "first\nsecond"],
        [["漢字", "left", "-", "ctrl-e", "👨‍👩‍👧", "backspace", "e\u0301"], "漢-字e\u0301"],
        [["\x1bOH", "q", "\x1b[1~", "p", "\x1b[4~", "r", "\x1bOF", "s"], "pqrs"],
      ];
      for (const [keys, prompt] of cases) {
        const before = repl.prompts.length;
        pty.key(...keys, "enter");
        await until(() => repl.prompts.length > before, `the prompt ${prompt}`);
        expect(repl.prompts.at(-1)).toBe(prompt);
        await pty.until((screen) => !/task \d+ ·/.test(screen) && /> *$/.test(screen));
      }
      // History: the last one, one before, searched.
      pty.key("up", "ctrl-p", "down", "up", "ctrl-n");
      await pty.until(/> pqrs$/);
      pty.key("ctrl-u", "ctrl-r");
      pty.type("one");
      await pty.until("(search 'one') one 2!");
      pty.key("enter");
      await until(() => repl.prompts.at(-1) === "one 2!", "the line that was found");
      pty.key("ctrl-l");
      await pty.until((screen) => !screen.includes("pqrs"));
    },
    TIMEOUT,
  );

  test(
    "a session that another buddy has: both ways to it offer a copy",
    async () => {
      await using repl = new ReplBinary(echo);
      const one = await repl.start();
      await one.until(/> *$/);
      one.type("remember me\r");
      await one.until((screen) => screen.includes("You said: remember me") && /> *$/.test(screen));
      await until(
        () => readdirSync(join(repl.box.cwd, ".buddyx/locks")).some((name) => name.endsWith(".holder")),
        "held",
      );
      const two = await repl.start({ args: ["resume", "--last", "--no-tmux"] });
      await two.until(REPL.copy);
      two.type("y");
      await two.until(/resumed[\s\S]*> *$/);
      two.type("in the copy\r");
      await two.until((screen) => screen.includes("You said: in the copy") && /> *$/.test(screen));
      expect(repl.prompts).toEqual(["remember me", "in the copy"]);
      const held = readdirSync(join(repl.box.cwd, ".buddyx/sessions")).map((name) => name.slice(0, 19));
      expect(held).toHaveLength(2);
      const three = await repl.start();
      await three.until(/> *$/);
      three.type(`/session resume ${held[0]}\r`);
      await three.until(REPL.pickCopy);
      three.type("\r");
      await until(() => readdirSync(join(repl.box.cwd, ".buddyx/sessions")).length === 3, "a second copy");
      const four = await repl.start({ args: ["resume", held[0]!, "--no-tmux"] });
      await four.until(REPL.copy);
      four.type("n");
      expect(await four.exited).toBe(1);
    },
    TIMEOUT,
  );

  test(
    "prompts are remembered in a private file, shared by two buddies, unless that is switched off",
    async () => {
      await using repl = new ReplBinary(echo);
      const one = await repl.start();
      const two = await repl.start();
      for (const [pty, words] of [
        [one, "from one"],
        [two, "from two"],
        [one, "from one"],
      ] as const) {
        await pty.until(/> *$/);
        pty.type(`${words}\r`);
        await pty.until((screen) => screen.includes(`You said: ${words}`) && /> *$/.test(screen));
      }
      for (const pty of [one, two]) {
        pty.key("ctrl-d");
        expect(await pty.exited).toBe(0);
      }
      const path = join(repl.box.home, ".config/buddy/history");
      expect(readFileSync(path, "utf8")).toBe("from two\nfrom one\n");
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const three = await repl.start({ config: "[display]\npersist_history = false\n" });
      await three.until(/> *$/);
      three.type("secret\r");
      await three.until("You said: secret");
      three.key("ctrl-d");
      await three.exited;
      expect(readFileSync(path, "utf8")).not.toContain("secret");
      const four = await repl.start({ args: ["resume", "--last", "--no-tmux"] });
      await four.until("resumed");
      four.key("up");
      await four.until(/> from one$/);
    },
    TIMEOUT,
  );

  test(
    "a paste of 10 000 lines is folded and sent whole",
    async () => {
      await using repl = new ReplBinary(echo);
      const pty = await repl.start();
      await pty.until(/> *$/);
      const text = Array.from({ length: 10_000 }, (_, i) => `pasted line ${i}`).join("\r");
      pty.type("look: ");
      pty.paste(text);
      await pty.until(/> look: \[pasted 10000 lines\]$/);
      pty.key("enter");
      await until(() => repl.prompts.length === 1, "the prompt");
      expect(repl.prompts[0]).toBe(`look: ${text.replaceAll("\r", "\n")}`);
    },
    TIMEOUT,
  );
});

describe("while a task runs", () => {
  test(
    "typing, queueing and streaming continue side by side; Ctrl-C stops it",
    async () => {
      const gate = Promise.withResolvers<void>();
      await using repl = new ReplBinary([
        { text: "one **two** three ".repeat(400), delayMs: 3 },
        async () => {
          await gate.promise;
          return { text: "second answer" };
        },
        { text: "third answer" },
      ]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("first\r");
      await pty.until(/task 1 · writing/);
      for (const letter of "typed meanwhile") pty.type(letter);
      await pty.until("> typed meanwhile");
      pty.key("enter");
      await pty.until("queued 2: typed meanwhile");
      pty.type("/ps\r");
      // On a busy machine the first task may have ended by now.
      await pty.until(/2 {2}(queued|thinking)/);
      await pty.until(/task 2 · thinking/);
      pty.type("half");
      await pty.until("> half");
      pty.key("ctrl-c");
      await pty.until((screen) => !screen.includes("half"));
      pty.key("ctrl-c");
      await pty.until(REPL.ended(2, "cancelled"));
      pty.type("again\r");
      await pty.until("third answer");
      gate.resolve();
      expect(repl.prompts).toEqual(["first", "typed meanwhile", "again"]);
      pty.key("ctrl-c");
      await pty.until(REPL.pressAgain);
      pty.key("ctrl-c");
      expect(await pty.exited).toBe(0);
    },
    TIMEOUT,
  );

  test(
    "100 000 lines of a command's output, keys in between",
    async () => {
      await using repl = new ReplBinary([shellCall("seq 1 100000"), { text: "all printed" }]);
      const pty = await repl.start({ args: ["--no-tmux", "--approve", "all"] });
      await pty.until(/> *$/);
      pty.type("flood\r");
      for (const letter of "still here") {
        pty.type(letter);
        await pty.emulator.settle();
      }
      const screen = await pty.until((text) => text.includes("all printed") && text.endsWith("> still here"));
      expect(screen).toMatch(/…\d+ more lines/);
    },
    TIMEOUT,
  );

  test(
    "100 000 lines of answer, keys in between, every line in the scrollback once",
    async () => {
      const lines = Array.from({ length: 100_000 }, (_, i) => `line ${i}`);
      await using repl = new ReplBinary([{ text: `\`\`\`\n${lines.join("\n")}\n\`\`\`\nall said`, pieceChars: 2000 }]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("flood\r");
      for (const letter of "still here") {
        pty.type(letter);
        await pty.emulator.settle();
      }
      // What still changes stands below all that is finished, also while the terminal cannot keep up.
      const said = (text: string) => text.includes("all said") && text.endsWith("> still here");
      await pty.until(said, 50_000);
      const kept = pty.emulator
        .history()
        .split("\n")
        .filter((line) => line.startsWith("line "));
      const wrong = kept.findIndex((line, i) => line !== lines[100_000 - kept.length + i]);
      expect(wrong < 0 ? [] : kept.slice(Math.max(0, wrong - 3), wrong + 3)).toEqual([]);
      expect(kept.length).toBeGreaterThan(15_000);
    },
    TIMEOUT,
  );

  test(
    "a storm of sizes loses neither the line nor the output",
    async () => {
      await using repl = new ReplBinary([{ text: "word ".repeat(600), delayMs: 2 }, { text: "after" }]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("go\r");
      await pty.until(/writing/);
      pty.type("kept through it all");
      for (let i = 0; i < 40; i++) {
        pty.resize(30 + ((i * 37) % 90), 8 + ((i * 13) % 30));
        await pty.emulator.settle();
      }
      pty.resize(80, 24);
      await pty.until((text) => !/task 1 ·/.test(text) && text.endsWith("> kept through it all"));
      pty.key("enter");
      await pty.until("after");
    },
    TIMEOUT,
  );
});

describe("approvals", () => {
  test(
    "y runs it, n tells the model why, e changes it, a half-typed line comes back",
    async () => {
      const gate = Promise.withResolvers<void>();
      await using repl = new ReplBinary([
        async () => {
          await gate.promise;
          return shellReply("touch made-by-y");
        },
        { text: "made it" },
        shellCall("touch made-by-n"),
        { text: "left it" },
        shellCall("touch made-by-e"),
        { text: "changed it" },
      ]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("do it\r");
      await pty.until(/task 1 ·/);
      pty.type("half a line");
      await pty.until("> half a line");
      gate.resolve();
      const asked = await pty.until(QUESTION.asked);
      expect(asked).toMatch(/\S+@\S+\$ touch made-by-y -- approve\?/);
      expect(asked).toMatch(/(medium|high) risk/);
      pty.type("y");
      await pty.until((text) => text.includes("made it") && text.endsWith("> half a line"));
      expect(existsSync(join(repl.box.cwd, "made-by-y"))).toBe(true);
      pty.key("ctrl-u");
      pty.type("again\r");
      await pty.until(`touch made-by-n ${QUESTION.asked}`);
      // Pasted text is no answer.
      pty.paste("y");
      await pty.until(QUESTION.notCounted);
      pty.type("n");
      await pty.until(QUESTION.reason);
      pty.type("because I say so\r");
      await pty.until("left it");
      expect(existsSync(join(repl.box.cwd, "made-by-n"))).toBe(false);
      expect(JSON.stringify(repl.model.requests.at(-1)?.messages)).toContain("because I say so");
      pty.type("third\r");
      await pty.until(`touch made-by-e ${QUESTION.asked}`);
      pty.type("e");
      await pty.until("edit: touch made-by-e");
      pty.key("ctrl-w");
      pty.type("edited\r");
      await pty.until((text) => text.includes("changed it") || text.includes(`touch edited ${QUESTION.asked}`));
      if (pty.screen().includes(`touch edited ${QUESTION.asked}`)) pty.type("y");
      await pty.until("changed it");
      expect(pty.emulator.history()).toMatch(/● touch edited {2}run_shell/);
      expect(existsSync(join(repl.box.cwd, "edited"))).toBe(true);
      expect(existsSync(join(repl.box.cwd, "made-by-e"))).toBe(false);
    },
    TIMEOUT,
  );

  test(
    "/kill and a time-out deny; type-ahead does not approve",
    async () => {
      await using repl = new ReplBinary([shellCall("touch one"), shellCall("touch two")]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      // Everything at once: the y's were typed before anything was asked.
      pty.type("go\r/timeout 4s\ryy");
      await pty.until(QUESTION.asked);
      const after = await pty.until(REPL.ended(1, "timeout"));
      expect(after).toMatch(/> yy$/);
      expect(existsSync(join(repl.box.cwd, "one"))).toBe(false);
    },
    TIMEOUT,
  );
});

describe("commands", () => {
  test(
    "/session new, list, resume and last; the model gets the right conversation",
    async () => {
      await using repl = new ReplBinary(echo);
      const pty = await repl.start();
      await pty.until(/> *$/);
      const idle = (words: string) => (text: string) =>
        text.includes(words) && !/task \d+ ·/.test(text) && />\s*$/.test(text);
      pty.type("first topic\r");
      await pty.until(idle("You said: first topic"));
      pty.type("/session new\r");
      await pty.until("new session ");
      pty.type("second topic\r");
      await pty.until(idle("You said: second topic"));
      expect(repl.prompts).toEqual(["second topic"]);
      pty.key("ctrl-l");
      pty.type("/session\r");
      const listed = await pty.until(/\* [\w-]{19}.*second topic\n.*first topic/);
      const id = /^ {2}([\w-]{19}) .*first topic/m.exec(listed)?.[1] ?? "";
      pty.type("/model demo\r");
      await pty.until(idle("/model demo"));
      pty.type(`/session resume ${id.slice(0, 6)}\r`);
      await pty.until(new RegExp(`session ${id}, 1 `));
      await pty.until("You said: first topic");
      await pty.until("scripted-model (test)");
      pty.type("more\r");
      await pty.until(idle("You said: more"));
      expect(repl.prompts).toEqual(["first topic", "more"]);
      pty.type("/session resume nope\r");
      await pty.until(/^error: .*"nope"/m);
      pty.type("/login demo\r");
      await pty.until(/> \/login demo\n\S.*\bdemo\b/);
      // Its profile says how large the window is, though no catalog knows the model.
      pty.type("/status all\r");
      expect(await pty.until(/buddy +\d+\.\d+\.\d+\n/)).not.toContain("is assumed");
    },
    TIMEOUT,
  );

  test(
    "/login signs in without leaving, /model switches to it",
    async () => {
      await using server = startLoginServer({});
      await using repl = new ReplBinary(echo);
      const pty = await repl.start({
        env: { BUDDY_AUTH_ISSUER: server.url },
        config:
          '[models.account]\napi_base_url = "https://api.openai.com/v1"\napi = "responses"\nauth = "login"\nmodel = "m"\n',
      });
      await pty.until(/> *$/);
      pty.type("/login\r");
      await pty.until(REPL.usesKey);
      pty.type("/login account\r");
      await pty.until("ABCD-1234");
      const auth = join(repl.box.home, ".config/buddy/auth.json");
      await until(() => existsSync(auth), "the account is stored");
      expect(statSync(auth).mode & 0o777).toBe(0o600);
      await pty.until(/> *$/);
      pty.type("/model\r");
      await pty.until("› 3 test");
      pty.key("down", "enter");
      const screen = await pty.until(/\bm \(.*account\)/);
      expect(screen).toContain("completions → responses");
      expect(screen).toContain(REPL.signsIn);
    },
    TIMEOUT,
  );
});

describe("other terminals", () => {
  test(
    "NO_COLOR and --no-color: not one colour",
    async () => {
      for (const options of [{ env: { NO_COLOR: "1" } }, { args: ["--no-tmux", "--no-color"] }]) {
        await using repl = new ReplBinary([{ text: "# Title\n\n**bold** `code`\n\n```sh\nls # x\n```" }]);
        const pty = await repl.start(options);
        await pty.until(/> *$/);
        pty.type("x\r/status\r");
        await pty.until("ls # x");
        await pty.until("approvals");
        expect(pty.emulator.raw).not.toMatch(/\x1b\[[\d;]+m/);
      }
    },
    TIMEOUT,
  );

  for (const env of [{ TERM: "dumb" }, { BUDDY_PLAIN: "1" }]) {
    test(
      `${Object.keys(env)[0]}=${Object.values(env)[0]}: line by line, approvals too`,
      async () => {
        await using repl = new ReplBinary([{ text: "**hello**" }, shellCall("touch plain"), { text: "made" }]);
        const pty = await repl.start({ env: { ...env, NO_COLOR: "1" } });
        await pty.until(/> *$/);
        pty.type("hi\r");
        await pty.until((text) => text.includes("\nhello\n") && /> *$/.test(text));
        pty.type("make\r");
        await pty.until(/or \?: *$/);
        pty.type("y\r");
        await pty.until((text) => text.includes("made") && /> *$/.test(text));
        expect(existsSync(join(repl.box.cwd, "plain"))).toBe(true);
        pty.type("/status\r");
        await pty.until("approvals");
        expect(pty.emulator.raw).not.toContain("\x1b");
        pty.type("\x04");
        expect(await pty.exited).toBe(0);
      },
      TIMEOUT,
    );
  }

  test("a pipe on stdin is pointed to exec", async () => {
    using box = sandbox();
    const { code, stderr, stdout } = await box.run([], { stdin: "hi\n" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("buddy exec");
  });
});

describe("signals", () => {
  procps.test(
    "a kill -9 or a crash left raw mode, bracketed paste and focus reports behind",
    async () => {
      await using repl = new ReplBinary(echo);
      repl.configure();
      const binary = await buddyBinary();
      for (const signal of ["SIGKILL", "SIGQUIT"] as const) {
        // sh does not set the terminal right by itself, as bash would.
        const script = `"$0" --no-tmux; until stty -a | grep -q ' icanon'; do :; done; echo terminal is back; read line`;
        const pty = repl.spawn(["sh", "-c", script, binary]);
        await pty.until(/> *$/);
        const children = (...args: string[]) =>
          Bun.spawnSync(["pgrep", ...args])
            .stdout.toString()
            .trim();
        const pid = Number(children("-f", `^${binary} --no-tmux`, "-P", String(pty.pid)));
        expect(pid).toBeGreaterThan(0);
        await until(() => children("-f", "buddy-terminal", "-P", String(pid)) !== "", "the guard");
        process.kill(pid, signal);
        await pty.until("terminal is back");
        await until(() => pty.emulator.raw.includes("\x1b[?2004l\x1b[?1004l"), "the modes are off");
        pty.key("enter");
        await pty.exited;
      }
    },
    TIMEOUT,
  );

  procps.test(
    "SIGTERM, SIGHUP and a closed window end it with the right code and leave the terminal as it was",
    async () => {
      await using repl = new ReplBinary(echo);
      repl.configure();
      const binary = await buddyBinary();
      for (const [signal, code] of [
        ["TERM", 143],
        ["HUP", 129],
      ] as const) {
        const script = `"$0" --no-tmux & true; fg >/dev/null 2>&1; echo "code $?"; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo -e isig | tr '\\n' '+'; echo; read line`;
        const pty = repl.spawn(["bash", "--norc", "-ic", script, binary]);
        await pty.until("/help");
        await pty.until(/> *$/);
        const pid = Number(
          Bun.spawnSync(["pgrep", "-f", `^${binary} --no-tmux`, "-P", String(pty.pid)])
            .stdout.toString()
            .trim(),
        );
        expect(pid).toBeGreaterThan(0);
        process.kill(pid, `SIG${signal}`);
        const screen = await pty.until(/isig\+|echo\+/);
        expect(screen).toContain(`code ${code}`);
        for (const flag of ["icanon", "echo", "isig"]) expect(screen).toContain(flag);
        expect(pty.emulator.raw).toContain("\x1b[?2004l");
        pty.key("enter");
        await pty.exited;
      }
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.close();
      expect(await pty.exited).toBe(129);
    },
    TIMEOUT,
  );

  test(
    "SIGHUP while something runs asks once more; where the window is closed it leaves, and resuming names what runs",
    async () => {
      const args = {
        command: "sleep 1000",
        mode: "background",
        risk: "low",
        mutation: false,
        privesc: false,
        why: "w",
      };
      const start = { toolCalls: [{ name: "run_shell", args }] };
      await using repl = new ReplBinary([start, { text: "STARTED" }, start, { text: "AGAIN" }]);
      const pty = await repl.start();
      await pty.until(/> *$/);
      pty.type("go\r");
      await pty.until(/STARTED[\s\S]*> *$/);
      process.kill(pty.pid, "SIGHUP");
      await pty.until(REPL.quitAgain);
      process.kill(pty.pid, "SIGHUP");
      expect(await pty.exited).toBe(129);
      expect(pty.emulator.raw).toMatch(/: sh-\w+ {2}sleep 1000/);
      const other = await repl.start();
      await other.until(/> *$/);
      other.type("go\r");
      await other.until(/AGAIN[\s\S]*> *$/);
      other.close();
      expect(await other.exited).toBe(129);
      const resumed = await repl.start({ args: ["resume", "--last", "--no-tmux"] });
      const screen = await resumed.until(new RegExp(`${REPL.survivors}:\\s+sh-\\w+`));
      for (const id of new Set(screen.match(/sh-\w{8}/g))) {
        resumed.type(`/kill ${id}\r`);
        await resumed.until((shown) => shown.includes(`/kill ${id}`) && /> *$/.test(shown));
      }
      resumed.key("ctrl-d");
      expect(await resumed.exited).toBe(0);
    },
    TIMEOUT,
  );

  paned.test(
    "after kill -9 the next start and a resume name the command that still runs, and show no answer of another prompt",
    async () => {
      const marker = "touch begun; sleep 1000";
      await using repl = new ReplBinary([{ text: "FIRST ANSWER" }, shellCall(marker), { text: "never" }]);
      const args = ["--tmux", "--approve", "all"];
      const pty = await repl.start({ args });
      pty.type("hello\r");
      await pty.until(/FIRST ANSWER[\s\S]*> *$/);
      pty.type("wait long\r");
      await until(() => existsSync(join(repl.box.cwd, "begun")), "it runs");
      process.kill(pty.pid, "SIGKILL");
      await pty.exited;
      const next = await repl.start({ args });
      await next.until(/in the pane[^\n]*:\s+\S+ +sleep/);
      next.close();
      await next.exited;
      const resumed = await repl.start({ args: ["resume", "--last", "--tmux"] });
      const screen = await resumed.until(/in the pane[^\n]*:\s+\S+ +sleep/);
      expect(screen.replace(/\s+/g, " ")).toContain(`may still run or have taken effect: ${marker}`);
      expect(screen).not.toContain("FIRST ANSWER");
      resumed.type("/stop\r");
      await resumed.until("pressed Ctrl-C");
      resumed.close();
      await resumed.exited;
    },
    TIMEOUT,
  );

  test(
    "Ctrl-Z goes to the shell, fg comes back with the line",
    async () => {
      await using repl = new ReplBinary(echo);
      repl.configure();
      const pty = repl.spawn(["bash", "--norc", "--noprofile", "-i"], {
        env: { PS1: "shell$ ", BUDDY: await buddyBinary() },
      });
      await pty.until("shell$");
      pty.type('"$BUDDY" --no-tmux\r');
      await pty.until("/help");
      pty.type("half a line");
      await pty.until("> half a line");
      pty.key("ctrl-z");
      await pty.until(/Stopped[\s\S]*shell\$ *$/);
      pty.type("stty -a | grep -o ' icanon'; fg\r");
      await pty.until((screen) => screen.includes("icanon") && screen.endsWith("> half a line"));
      pty.type(" more\r");
      await pty.until("You said: half a line more");
      pty.type("/theme\r");
      await pty.until("high-contrast");
      pty.key("ctrl-z");
      await pty.until(/Stopped[\s\S]*Stopped[\s\S]*shell\$ *$/);
      pty.type("fg\r");
      await pty.until(/fg[\s\S]*high-contrast/);
      pty.key("escape");
      await pty.until(/> *$/);
      pty.key("ctrl-d");
      await pty.until(/shell\$ *$/);
      pty.type("exit\r");
      await pty.exited;
    },
    TIMEOUT,
  );
});
