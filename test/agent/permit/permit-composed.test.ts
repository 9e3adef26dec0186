/** May this call happen: policy, what the model declared, the operator's answer and the dry run, on a real shell. */
import { describe, expect, test } from "bun:test";
import { closeSync, existsSync, openSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ofType } from "../../support/agent.ts";
import { call, shell } from "../../support/calls.ts";
import { Here } from "../../support/in-process.ts";
import { until } from "../../support/until.ts";
import { RESULT } from "../../support/wording.ts";

const touch = (name: string, more = {}) => shell(`touch ${name}`, { mutation: true, risk: "medium", ...more });
const made = (here: Here, name: string) => existsSync(join(here.cwd, name));

describe("a command", () => {
  test("that is proved read-only is not asked about, unless the model declares more", async () => {
    await using here = new Here([shell("ls -a"), shell("ls -a", { privesc: true }), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
    });
    const { results, events } = await here.turn();
    expect(results[0]).toStartWith(".");
    expect(here.asked).toHaveLength(1);
    expect(here.asked[0]).toMatchObject({
      action: "ls -a",
      privesc: true,
      understated: false,
      editable: true,
      cwd: here.cwd,
      where: expect.stringMatching(/^\S+@\S+$/),
    });
    expect(ofType(events, "approval_answered")[0]).toMatchObject({ decision: "approved", by: "operator" });
  });

  test("that the model understates is shown as such, with the stricter traits", async () => {
    await using here = new Here([shell("sudo touch made", { risk: "low" }), { text: "done" }], {
      answer: () => ({ kind: "no" }),
    });
    const { results } = await here.turn();
    expect(here.asked[0]).toMatchObject({ understated: true, mutation: true, privesc: true });
    expect(here.asked[0]?.risk).not.toBe("low");
    expect(results[0]).toStartWith(`${RESULT.refused}. `);
  });

  test("`always` remembers its prefix for this session and nothing else", async () => {
    await using here = new Here(
      [shell("mkdir a", { mutation: true }), shell("mkdir b", { mutation: true }), touch("c"), { text: "done" }],
      {
        answer: ({ action }) => (action.startsWith("mkdir") ? { kind: "always" } : { kind: "no" }),
      },
    );
    const { events } = await here.turn();
    expect(here.asked.map(({ action }) => action)).toEqual(["mkdir a", "touch c"]);
    expect(ofType(events, "approval_answered").map(({ by }) => by)).toEqual(["operator", "prefix", "operator"]);
    expect([made(here, "a"), made(here, "b"), made(here, "c")]).toEqual([true, true, false]);
  });

  test("edited by the operator runs as edited, is judged again, and the model learns of it", async () => {
    const edits = ["touch edited", "rm -rf ~"];
    await using here = new Here([touch("made"), touch("made"), { text: "done" }], {
      answer: () => ({ kind: "edit", command: edits.shift() ?? "" }),
    });
    const { results, events } = await here.turn();
    expect(results[0]).toContain(": touch edited");
    expect(results[1]).toStartWith(RESULT.notAllowed);
    expect([made(here, "made"), made(here, "edited"), existsSync(here.home)]).toEqual([false, true, true]);
    expect(ofType(events, "approval_answered")[0]).toMatchObject({ edited: "touch edited", by: "operator" });
  });

  test("is refused where no one can be asked, and the turn says so", async () => {
    await using here = new Here([touch("made"), { text: "could not" }]);
    const { results, events, run } = await here.turn();
    expect(results[0]).toStartWith("Refused: ");
    expect(ofType(events, "done")[0]).toMatchObject({ status: "approval_needed", text: "could not" });
    expect(run.calls.turn.unapproved).toEqual(["touch made"]);
    expect(made(here, "made")).toBe(false);
  });

  test("is refused with --approve none, and approved for a duration only while it lasts", async () => {
    await using none = new Here([touch("made"), { text: "ok" }]);
    const refused = await none.turn({ "no-tmux": true, approve: "none" });
    expect(refused.results[0]).toStartWith("Refused: ");
    expect(ofType(refused.events, "approval_answered")[0]).toMatchObject({ decision: "denied", by: "mode" });
    await using timed = new Here([touch("one"), { text: "ok" }]);
    const { events } = await timed.turn({ "no-tmux": true, approve: "10m" });
    expect(ofType(events, "approval_answered")[0]).toMatchObject({ decision: "approved", by: "mode" });
    await using over = new Here([touch("one"), { text: "ok" }]);
    const run = await over.compose({ "no-tmux": true, approve: "1ms" });
    await until(() => run.approvals.mode.kind === "ask", "the duration to run out");
    for await (const event of run.agent.runTurn("go", new AbortController().signal)) void event;
    expect([made(timed, "one"), made(over, "one")]).toEqual([true, false]);
  });

  test("a question withdrawn by Ctrl-C ends the call", async () => {
    const stop = new AbortController();
    await using here = new Here([touch("made"), { text: "never" }], {
      answer: () => {
        stop.abort();
        return { kind: "cancelled" };
      },
    });
    const run = await here.compose();
    const events = [];
    for await (const event of run.agent.runTurn("go", stop.signal)) events.push(event);
    expect(ofType(events, "done")[0]?.status).toBe("cancelled");
    expect(ofType(events, "tool_finished")[0]).toMatchObject({ outcome: "cancelled" });
    expect(made(here, "made")).toBe(false);
  });
});

describe("configuration", () => {
  test("shell_allow, shell_denylist, safety and shell_confirm", async () => {
    await using here = new Here(
      [touch("allowed"), shell("terraform destroy -auto-approve"), shell("git add ."), { text: "done" }],
      { config: '[tools]\nshell_allow = ["touch"]\nshell_denylist = ["terraform destroy"]\n' },
    );
    const { results } = await here.turn();
    expect(made(here, "allowed")).toBe(true);
    expect(results[1]).toMatch(new RegExp(`^${RESULT.notAllowed}.*terraform destroy`));
    expect(results[2]).toMatch(new RegExp(`^${RESULT.notAllowed}.*git add`));
    await using off = new Here(
      [
        touch("made"),
        call("write_file", { path: "a.txt", content: "a" }),
        call("write_file", { path: ".git/hooks/x", content: "a" }),
        { text: "done" },
      ],
      { config: "[tools]\nshell_confirm = false\n", answer: () => ({ kind: "no" }) },
    );
    await off.turn();
    expect([made(off, "made"), made(off, "a.txt"), made(off, ".git/hooks/x")]).toEqual([true, true, false]);
    // Below .git even shell_confirm = false asks.
    expect(off.asked.map(({ action, risk }) => [action, risk])).toEqual([[`write ${off.cwd}/.git/hooks/x`, "high"]]);
  });

  test("shell_roots: a command elsewhere is not run", async () => {
    await using here = new Here([shell("ls", { risk: "low" }), shell("cd /usr && ls"), { text: "done" }], {
      config: '[tools]\nshell_roots = ["/nonexistent"]\n',
      answer: () => ({ kind: "no" }),
    });
    const { results } = await here.turn();
    expect(
      results.filter((result) => [RESULT.notAllowed, RESULT.refused].some((start) => String(result).startsWith(start))),
    ).toHaveLength(2);
  });

  test("sensitive paths are refused, also through a link", async () => {
    await using here = new Here(
      [
        call("write_file", { path: "~/.ssh/authorized_keys", content: "x" }),
        call("write_file", { path: "link/authorized_keys", content: "x" }),
        call("write_file", { path: "~/.config/buddy/buddy.toml", content: "x" }),
        { text: "done" },
      ],
      { answer: () => ({ kind: "yes" }) },
    );
    here.write("home/.ssh/known_hosts", "");
    Bun.spawnSync(["ln", "-s", join(here.home, ".ssh"), join(here.cwd, "link")]);
    const { results } = await here.turn();
    for (const result of results) expect(result).toStartWith(RESULT.notAllowed);
    expect(here.asked).toEqual([]);
    expect(existsSync(join(here.home, ".ssh/authorized_keys"))).toBe(false);
  });

  test("a link that leads to a file of keys is asked about like the file, one that leads elsewhere is not", async () => {
    const reads = ["cat notes", "cat < notes", "cat keys/id_x", "cat *", "cat keys/*", "cd keys && cat id_x"];
    await using here = new Here(
      [...reads.map((text) => shell(text)), shell("ls -l notes"), shell("cat plain"), { text: "done" }],
      { answer: () => ({ kind: "no" }) },
    );
    here.write("home/.vault-token", "s.1");
    here.write("home/.ssh/id_x", "x");
    here.write("cwd/text", "hello");
    for (const [to, name] of [
      [join(here.home, ".vault-token"), "notes"],
      [join(here.home, ".ssh"), "keys"],
      ["text", "plain"],
    ] as const)
      symlinkSync(to, join(here.cwd, name));
    const { results } = await here.turn();
    expect(here.asked.map(({ action }) => action)).toEqual(reads);
    expect(results.at(-1)).toBe("hello");
  });

  test("a pipe is asked about: what is read from it is gone for others", async () => {
    const reads = ["cat pipe", "grep -c x < pipe"];
    const pipe = Promise.withResolvers<number>();
    await using here = new Here(
      [
        ...reads.map((text) => shell(text)),
        // A pipe to this process, and something else to the command that opens it.
        async () => shell(`cat /dev/fd/${await pipe.promise} /dev/stdin < plain`),
        shell("ls pipe"),
        { text: "done" },
      ],
      { answer: () => ({ kind: "no" }) },
    );
    Bun.spawnSync(["mkfifo", join(here.cwd, "pipe")]);
    here.write("cwd/plain", "");
    const opened = openSync(join(here.cwd, "pipe"), "r+");
    pipe.resolve(opened);
    const { results } = await here.turn();
    closeSync(opened);
    expect(here.asked.map(({ action }) => action)).toEqual(reads);
    expect(results.at(-1)).toBe("pipe");
  });

  test("a secret in a file is not shown in another form", async () => {
    const forms = [
      "od -c notes.txt",
      "od -An -tx1 notes.txt",
      "od -x notes.txt",
      "base64 notes.txt",
      "base64 -w 20 notes.txt",
      "fold -w1 notes.txt",
      "fold -w5 notes.txt",
      "sed 's/./& /g' notes.txt",
      "grep -o . notes.txt",
      "cut -d= -f2 notes.txt",
      "awk -F= '{print $2}' notes.txt",
      "tail -c 22 notes.txt",
    ];
    await using here = new Here([...forms.map((text) => shell(text)), shell("od -c plain.txt"), { text: "done" }]);
    const [key, word] = ["qT7mZp29LwYx4KdVa8", "harmless"];
    here.write("cwd/notes.txt", `APP=shop\nAPI_KEY=${key}\n`);
    here.write("cwd/plain.txt", `${word}\n`);
    const { results } = await here.turn();
    expect(here.asked).toEqual([]);
    const shown = results.map((result) => String(result).replaceAll(/\s/g, ""));
    const spellings = [
      key,
      Buffer.from(key).toString("hex"),
      "cVQ3bVpwMjlMd1l4",
      "VDdtWnAyOUx3WXg0",
      "N21acDI5THdZeDRL",
    ];
    expect(shown.filter((text) => spellings.some((one) => text.includes(one)))).toEqual([]);
    expect(shown.at(-1)).toContain(word);
  });

  test("reading a device is asked about", async () => {
    await using here = new Here([call("read_file", { path: "/proc/kmsg" }), { text: "done" }], {
      answer: () => ({ kind: "no" }),
    });
    await here.turn();
    expect(here.asked[0]).toMatchObject({ action: "read /proc/kmsg" });
  });

  test("fetch_confirm asks about an address; switches take tools away", async () => {
    await using here = new Here([call("fetch_url", { url: "http://127.0.0.1:9/" }), { text: "done" }], {
      config: "[tools]\nfetch_confirm = true\nfiles_enabled = false\nsearch_enabled = false\n",
      answer: () => ({ kind: "no", reason: "offline" }),
    });
    const { results } = await here.turn();
    expect(results[0]).toBe(`${RESULT.refused}: offline`);
    expect(here.asked[0]).toMatchObject({ action: "fetch http://127.0.0.1:9/", where: "this machine" });
    const offered = here.model.requests[0]!.tools.map(({ name }) => name);
    expect(offered).toContain("fetch_url");
    expect(offered.filter((name) => name.endsWith("_file") || name === "web_search")).toEqual([]);
    await using none = new Here([call("run_shell", {}), call("fetch_url", {}), { text: "done" }], {
      config: "[tools]\nshell_enabled = false\nfetch_enabled = false\n",
    });
    const refused = (await none.turn()).results;
    expect(refused[0]).toStartWith('error: there is no tool "run_shell". Available: ');
    expect(refused[1]).toStartWith('error: there is no tool "fetch_url". Available: ');
  });
});

test("a dry run describes what would change, with the verdict and the difference, and reads on", async () => {
  await using here = new Here([
    touch("made"),
    call("write_file", { path: "a.txt", content: "one\n" }),
    shell("echo read-only"),
    shell("ls", { mode: "background" }),
    call("kill_shell", { shell_id: "sh-1" }),
    { text: "done" },
  ]);
  const { results } = await here.turn({ "no-tmux": true, "dry-run": true, approve: "all" });
  expect(results[0]).toStartWith(`${RESULT.dryRun}run: touch made\npolicy: ask (`);
  expect(results[1]).toStartWith(`${RESULT.dryRun}write: ${here.cwd}/a.txt\npolicy: `);
  expect(results[1]).toEndWith("+one");
  expect(results[2]).toBe("read-only");
  expect(results[3]).toStartWith(`${RESULT.dryRun}run: ls\npolicy: allow (`);
  expect(results[4]).toBe(`${RESULT.dryRun}do: end sh-1`);
  expect([made(here, "made"), made(here, "a.txt")]).toEqual([false, false]);
  expect(here.model.requests[0]!.messages[0]!.content).toContain("dry run");
});

test("the rules of a machine that the text names hold, too: ssh from here does not go around them", async () => {
  const change = (command: string) => shell(command, { mutation: true, risk: "medium" });
  await using here = new Here(
    [
      change("ssh root@prod.example.com 'rm -r /srv/x'"),
      change("cd /; ssh -J stage web 'systemctl stop db'"),
      change("scp x other:/etc/x"),
      { text: "done" },
    ],
    {
      config: '[rules."prod.example.com"]\nmode = "read-only"\n[rules.stage]\nmode = "guarded"\nlabel = "STAGE"\n',
      answer: () => ({ kind: "no" }),
    },
  );
  const { results } = await here.turn({ "no-tmux": true });
  expect(results[0]).toContain("root@prod.example.com is read-only");
  expect(here.asked.map(({ action, typed, label }) => [action, typed, label])).toEqual([
    ["cd /; ssh -J stage web 'systemctl stop db'", "stage", "STAGE"],
    ["scp x other:/etc/x", undefined, undefined],
  ]);
});
