/** Every tool on every kind of target: the capability matrix, row by row, on the compiled binary. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { quote } from "../../src/lib/quote.ts";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { buddyBinary } from "../support/buddy.ts";
import { type Container, containerTarget } from "../support/container.ts";
import { call, DECLARED, type ExecRig, execRig, shell } from "../support/exec.ts";
import { sshTarget } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { missing, needs, type Need } from "../support/needs.ts";
import { QUESTION, RESULT } from "../support/wording.ts";

const pane = await needs("tmux");

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const OCTAL = [...PNG].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

setDefaultTimeout(90_000);

interface Kind {
  readonly name: string;
  readonly needs: readonly Need[];
  readonly tmux: boolean;
  readonly flags: (at: Fixtures) => readonly string[];
  readonly env?: (at: Fixtures) => Readonly<Record<string, string>>;
  readonly label: (at: Fixtures) => string;
}

/** What this machine can have of them. */
interface Fixtures {
  readonly ssh?: Awaited<ReturnType<typeof sshTarget>>;
  readonly plain?: Container;
  readonly tmux?: Container;
}

const KINDS: readonly Kind[] = [
  { name: "local", needs: [], tmux: false, flags: () => ["--no-tmux"], label: () => "local" },
  { name: "local+tmux", needs: ["tmux"], tmux: true, flags: () => ["--tmux"], label: () => "local" },
  {
    name: "ssh",
    needs: ["sshd"],
    tmux: false,
    flags: (at) => ["--ssh", at.ssh!.host, "--no-tmux"],
    env: (at) => ({ PATH: at.ssh!.env["PATH"] ?? "" }),
    label: (at) => `ssh ${at.ssh!.host}`,
  },
  {
    name: "ssh+tmux",
    needs: ["sshd", "tmux"],
    tmux: true,
    flags: (at) => ["--ssh", at.ssh!.host, "--tmux"],
    env: (at) => ({ PATH: at.ssh!.env["PATH"] ?? "" }),
    label: (at) => `ssh ${at.ssh!.host}`,
  },
  {
    name: "container",
    needs: ["podman"],
    tmux: false,
    flags: (at) => ["--container", at.plain!.name],
    env: (at) => at.plain!.env,
    label: (at) => `container ${at.plain!.name}`,
  },
  {
    name: "container+tmux",
    needs: ["podman", "tmux"],
    tmux: true,
    flags: (at) => ["--container", at.tmux!.name],
    env: (at) => at.tmux!.env,
    label: (at) => `container ${at.tmux!.name}`,
  },
];

let at: Fixtures;
beforeAll(async () => {
  const [ssh, podman] = await Promise.all([missing("sshd"), missing("podman")]);
  at = {
    ...(ssh === undefined ? { ssh: await sshTarget() } : {}),
    ...(podman === undefined
      ? { plain: await containerTarget({ image: "busybox" }), tmux: await containerTarget({ image: "tmux" }) }
      : {}),
  };
});
afterAll(async () => {
  await at.plain?.[Symbol.asyncDispose]();
  await at.tmux?.[Symbol.asyncDispose]();
});

for (const kind of KINDS) {
  const { describe } = await needs(...kind.needs);
  describe(kind.name, () => onTarget(kind));
}

const outcomes = (events: readonly { type: string; [key: string]: unknown }[]) =>
  events.filter(({ type }) => type === "tool_finished").map((event) => event["outcome"]);

function onTarget(kind: Kind): void {
  async function run(
    turns: readonly Turn[],
    check: (
      rig: ExecRig,
      run: { code: number; events: { type: string; [key: string]: unknown }[]; stderr: string },
    ) => void | Promise<void>,
  ): Promise<void> {
    await using rig = execRig([...turns, { text: "done" }], { env: kind.env?.(at) ?? {} });
    const flags = [...kind.flags(at), "--approve", "all", "--max-iterations", "60"];
    await check(rig, await rig.events([...flags, "go"], { timeoutMs: 80_000 }));
  }

  test("read_file of a picture: where the shell is, by its bytes", async () => {
    await run(
      [
        shell(`mkdir -p /tmp/pictures && cd /tmp/pictures && printf '${OCTAL}' > dot.png`),
        call("read_file", { path: "dot.png" }),
        shell("rm -r /tmp/pictures"),
      ],
      (rig) => {
        expect(JSON.stringify(rig.requests[2]!.body["messages"])).toContain(
          `data:image/png;base64,${PNG.toString("base64")}`,
        );
      },
    );
  });

  test("run_shell: output, exit code, state that stays, who and where in every event", async () => {
    await run(
      [
        shell("echo hello"),
        shell("cd /tmp && export X=7"),
        shell('pwd; echo "$X"'),
        shell("echo out; echo err >&2; sh -c 'exit 3'"),
        shell("printf 'a\\nb'"),
      ],
      (rig, { code, events }) => {
        expect(code).toBe(0);
        const [hello, moved, state, failed, open] = rig.results() as string[];
        expect(hello).toBe("hello");
        expect(moved).toBe("[cwd: /tmp]");
        expect(state).toBe("/tmp\n7");
        expect(failed).toStartWith(`${RESULT.failed(3)}\n`);
        expect(failed).toContain("out");
        expect(failed).toContain("err");
        expect(open).toBe("a\nb");
        expect(events[0]!["target"]).toBe(kind.label(at));
        expect(events.at(-1)!["target"]).toMatch(new RegExp(`^${kind.label(at).replace("ssh ", "ssh ([^@]+@)?")}$`));
        const known = events.filter((event) => event.type === "session").at(-1);
        expect(known).toMatchObject({
          user: expect.any(String),
          host: expect.any(String),
          machine: expect.any(String),
        });
        expect("attach" in known!).toBe(kind.tmux);
        expect(events.find((event) => event.type === "tool_finished" && event["exit_code"] === 3)).toMatchObject({
          ok: false,
          outcome: "exited",
        });
      },
    );
  });

  test("run_shell: a command that takes too long", async () => {
    await run(
      [
        shell("echo begun; sleep 60", { wait: 1 }),
        ...(kind.tmux ? [call("send-keys", { keys: ["C-c"], ...DECLARED }), call("shell_output", { wait: 20 })] : []),
        shell("echo after"),
      ],
      (rig, { events }) => {
        const results = rig.results() as string[];
        expect(results[0]).toStartWith(`${RESULT.timedOut("1s")}\n`);
        expect(results[0]).toContain("begun");
        expect(outcomes(events)[0]).toBe(kind.tmux ? "running" : "stopped");
        if (kind.tmux) expect(results[2]).toContain("130");
        expect(results.at(-1)).toBe("after");
      },
    );
  });

  test("run_shell wait=false: into the pane where there is one, refused elsewhere", async () => {
    await run(
      [shell("echo sent", { wait: false }), ...(kind.tmux ? [call("shell_output", { wait: 10 })] : [])],
      (rig, { events }) => {
        const results = rig.results() as string[];
        if (!kind.tmux) return expect(outcomes(events)).toEqual(["failed"]);
        expect(results[0]).toStartWith(RESULT.sent);
        expect(results[1]).toContain("sent");
      },
    );
  });

  test("background shells: start, output, list, kill", async () => {
    const started = (rig: ExecRig) => rig.results()[0] as { shell_id: string; pid: number; output_file: string };
    let rigNow: ExecRig | undefined;
    const id = () => started(rigNow!).shell_id;
    await using rig = execRig(
      [
        shell("echo one; echo two >&2; while :; do sleep 1; done", { mode: "background" }),
        () => call("shell_output", { shell_id: id() }),
        call("list_shells"),
        () => call("kill_shell", { shell_id: id() }),
        () => call("kill_shell", { shell_id: id() }),
        () => call("shell_output", { shell_id: id(), filter: "(" }),
        call("shell_output", { shell_id: "sh-none" }),
        { text: "done" },
      ],
      { env: kind.env?.(at) ?? {} },
    );
    rigNow = rig;
    const { code, events } = await rig.events([...kind.flags(at), "--approve", "all", "go"], { timeoutMs: 80_000 });
    expect(code).toBe(0);
    const results = rig.results() as (Record<string, unknown> & string)[];
    expect(results[0]).toMatchObject({
      shell_id: expect.any(String),
      pid: expect.any(Number),
      output_file: expect.stringContaining("/"),
    });
    expect(results[1]).toMatchObject({ status: "running" });
    expect(JSON.stringify(results[2])).toContain(id());
    expect(results[3]).toMatchObject({ status: "killed" });
    expect(results[4]).toMatchObject({ status: "killed", note: expect.any(String) });
    expect(outcomes(events).slice(4)).toEqual(["killed", "failed", "failed"]);
    expect(results[5]).toContain("filter");
    expect(results[6]).toContain("sh-none");
  });

  test("files: write, read, edit", async () => {
    const path = `/tmp/buddy-journey-${process.pid}-${kind.name.replace("+", "-")}.txt`;
    try {
      await run(
        [
          call("write_file", { path, content: "one\ntwo\nthree\n" }),
          call("read_file", { path, offset: 2, limit: 1 }),
          call("edit_file", { path, old_text: "two\n", new_text: "2\n" }),
          call("edit_file", { path, old_text: "twoo", new_text: "x" }),
          call("read_file", { path }),
          call("read_file", { path: "/nonexistent/file" }),
          shell(`rm ${path}`, { mutation: true }),
        ],
        (rig, { events }) => {
          const [written, part, edited, absent, whole, missing] = rig.results() as string[];
          expect(outcomes(events).slice(0, 6)).toEqual(["done", "done", "done", "failed", "done", "failed"]);
          expect(written).toMatch(new RegExp(`^created ${path}: 14 `));
          expect(part).toMatch(/^two\n\n\[1 .*offset=3\]$/);
          expect(edited).toContain("-two\n+2");
          expect(absent).toContain("old_text");
          expect(whole).toBe("one\n2\nthree\n");
          expect(missing).toContain("/nonexistent/file");
        },
      );
    } finally {
      rmSync(path, { force: true });
    }
  });

  test("panes: offered and working with tmux, otherwise neither", async () => {
    const turns = [
      shell("echo on-screen"),
      call("capture-pane", {}),
      call("tmux-create-pane", { pane: "extra", ...DECLARED }),
      shell("echo in-extra", { pane: "extra" }),
      call("capture-pane", { pane: "extra", start: "-", join_wrapped_lines: true }),
      call("send-keys", { pane: "extra", literal_text: "printf typed-%s 42", enter: true, ...DECLARED }),
      call("capture-pane", { pane: "extra", delay: "300ms" }),
      call("tmux-kill-pane", { pane: "extra", ...DECLARED }),
      call("tmux-kill-pane", { pane: "shared", ...DECLARED }),
      call("tmux-create-session", { session: "other", ...DECLARED }),
      call("send-keys", { ...DECLARED }),
    ];
    await run(turns, (rig, { events }) => {
      const results = rig.results() as string[];
      const ended = outcomes(events);
      const offered = new Set(rig.requests.at(-1)!.tools.map((tool) => tool.name));
      const needTmux = [
        "capture-pane",
        "send-keys",
        "tmux-create-session",
        "tmux-kill-session",
        "tmux-create-pane",
        "tmux-kill-pane",
      ];
      // The list of a session stays the same bytes: where tmux is not ruled out before the target is open, it is
      // offered.
      const possible = kind.tmux || !kind.flags(at).includes("--no-tmux");
      expect(needTmux.filter((name) => offered.has(name))).toEqual(possible ? needTmux : []);
      expect(ended.at(-1)).toBe("invalid");
      if (!kind.tmux) return expect(ended.slice(1, 5)).toEqual(Array(4).fill("failed"));
      expect(results[1]).toContain("on-screen");
      expect(results[2]).toContain("pane extra");
      expect(results[3]).toBe("in-extra");
      expect(results[4]).toContain("in-extra");
      expect(results[5]).toContain("sent");
      expect(results[6]).toContain("typed-42");
      expect(results[7]).toContain("pane extra");
      expect(ended.slice(1, 10)).toEqual(["done", "done", "exited", ...Array(4).fill("done"), "failed", "failed"]);
    });
  });

  test("output that was cut can be read to its last byte", async () => {
    await using rig = execRig(
      [
        shell("i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done"),
        (request) => {
          const { result } = JSON.parse(request.messages.at(-1)!.content) as { result: string };
          const [, id, offset] = /shell_output output_id="([^"]+)" offset=(\d+)/.exec(result)!;
          return call("shell_output", { output_id: id, offset: Number(offset), limit: 2000 });
        },
        (request) => {
          const { result } = JSON.parse(request.messages.at(-1)!.content) as { result: { output_id: string } };
          return call("shell_output", { output_id: result.output_id, filter: "^line-12345$" });
        },
        { text: "done" },
      ],
      { env: kind.env?.(at) ?? {} },
    );
    await rig.events([...kind.flags(at), "--approve", "all", "go"], { timeoutMs: 80_000 });
    const [cut, page, found] = rig.results() as [string, { text: string; total_bytes: number }, { text: string }];
    const [, head, omitted, tail] = /^([\s\S]*)\n\[(\d+) bytes left out here; [^\]]*\]\n([\s\S]*)$/.exec(cut)!;
    const all = Array.from({ length: 20_000 }, (_, n) => `line-${n}\n`).join("");
    expect(all.startsWith(head!)).toBe(true);
    expect(all.trimEnd().endsWith(tail!.trimEnd())).toBe(true);
    expect(page.total_bytes).toBe(all.length);
    expect(all.slice(head!.length).startsWith(page.text)).toBe(true);
    expect(head!.length + Number(omitted) + tail!.length).toBeWithin(all.length - 1, all.length + 1);
    expect(found.text.trim()).toBe("line-12345");
  });
}

pane.test(
  "local, without tmux of its own, inside a pane of the operator's: that pane can be captured and typed into",
  async () => {
    await using rig = execRig([
      call("capture-pane", {}),
      call("send-keys", { literal_text: "typed-by-buddy", ...DECLARED }),
      call("capture-pane", { pane: "other" }),
      { text: "done" },
    ]);
    const binary = await buddyBinary();
    const tmux = ["tmux", "-L", rig.socket, "-f", "/dev/null"];
    const line = `echo operator-was-here; ${quote(binary)} exec -q --no-tmux --approve all go >out.txt 2>&1; echo "rc $?" >>out.txt; cat`;
    Bun.spawnSync([...tmux, "new-session", "-d", "-s", "op", "-x", "80", "-y", "20", "sh", "-c", line], {
      cwd: rig.box.cwd,
      env: rig.box.env,
    });
    const inTmux = (...args: string[]) => Bun.spawnSync([...tmux, ...args], { env: rig.box.env }).stdout.toString();
    // What is typed into the pane that buddy itself reads is asked about in person.
    await until(() => inTmux("capture-pane", "-p", "-t", "op").includes(QUESTION.asked), "the question");
    inTmux("send-keys", "-t", "op", "y");
    const out = join(rig.box.cwd, "out.txt");
    await until(() => existsSync(out) && readFileSync(out, "utf8").includes("rc "), "the run to end");
    expect(readFileSync(out, "utf8")).toBe("done\nrc 0\n");
    const [screen, sent, other] = rig.results() as string[];
    expect(screen).toContain("operator-was-here");
    expect(sent).toContain("sent");
    expect(other).toMatch(/\btmux\b/);
    const offered = rig.requests[0]!.tools.map((tool) => tool.name);
    expect(offered).toContain("capture-pane");
    expect(offered).not.toContain("tmux-create-pane");
    await until(() => /^typed-by-buddy/m.test(inTmux("capture-pane", "-p", "-t", "op")), "the keys to arrive");
  },
);

test("shell_roots: commands stay below them", async () => {
  await using rig = execRig([shell("pwd"), shell("cd / && ls"), shell("cd sub && pwd"), { text: "done" }], {
    config: "",
  });
  rig.box.write("cwd/sub/x", "");
  rig.box.write(
    "home/.config/buddy/buddy.toml",
    (await Bun.file(join(rig.box.home, ".config/buddy/buddy.toml")).text()).replace(
      "[tmux]",
      `[tools]\nshell_roots = [${JSON.stringify(rig.box.cwd)}]\n[tmux]`,
    ),
  );
  const { code, events } = await rig.events(["--no-tmux", "--approve", "all", "go"]);
  expect(code).toBe(0);
  expect(outcomes(events)).toEqual(["exited", "denied", "exited"]);
  const [inside, outside, below] = rig.results() as string[];
  expect(inside).toBe(rig.box.cwd);
  expect(outside).toContain("shell_roots");
  expect(below).toBe(join(rig.box.cwd, "sub"));
  expect(existsSync(rig.box.cwd)).toBe(true);
});
