/**
 * Calls of each intent under each rule, mode and answer, on one machine and on three, through every front. What each front
 * prints, its events, session file, audit lines and exit code are kept in golden/; GOLDEN=write stores them anew.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { call, type ExecRig, execRig, shell } from "../support/exec.ts";
import { machines, type Machines } from "../support/machines.ts";
import { needs } from "../support/needs.ts";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { onTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const { beforeAll, test } = await needs("linux", "sshd");
setDefaultTimeout(300_000);

/** A call of the model, and the lines that a person types at its questions; without a terminal there are none. */
type Step = readonly [call: Turn, ...answers: string[]];

interface World {
  readonly args: readonly string[];
  readonly config?: string;
  /** Whether there is a terminal to ask on. */
  readonly terminal: boolean;
  readonly machines?: 3;
  readonly steps: readonly Step[];
}

const change = (command: string, more = {}) => shell(command, { risk: "medium", mutation: true, ...more });
const HIGH = { risk: "high", mutation: true };
const NO_TERMINAL = { terminal: false } as const;
const write = (path: string) => call("write_file", { path, content: "one\ntwo\n" });
const edit = (path: string) => call("edit_file", { path, old_text: "two", new_text: "2" });
const RULES = (mode: string) => `[rules.local]\nmode = "${mode}"\nlabel = "PROD"\n`;

const WORLDS: Readonly<Record<string, World>> = {
  "nobody-to-ask": {
    ...NO_TERMINAL,
    args: [],
    steps: [
      [shell("echo read-only")],
      [change("touch made")],
      [shell("chmod 600 made")],
      [change("rm -rf /", HIGH)],
      [write("a.txt")],
      [call("read_file", { path: "b.txt" })],
      [call("kill_shell", { shell_id: "sh-1" })],
    ],
  },
  "approve-all": {
    ...NO_TERMINAL,
    args: ["--approve", "all"],
    steps: [
      [change("touch made")],
      [change("touch made; false")],
      [change("rm -rf /", HIGH)],
      [write("a.txt")],
      [edit("b.txt")],
      [change("ufw enable", HIGH)],
    ],
  },
  "approve-none": {
    ...NO_TERMINAL,
    args: ["--approve", "none"],
    steps: [[change("touch made")], [shell("echo read")]],
  },
  "approve-for-a-time": { ...NO_TERMINAL, args: ["--approve", "1h"], steps: [[change("touch made")]] },
  lists: {
    ...NO_TERMINAL,
    args: [],
    config: '[tools]\nshell_allow = ["touch"]\nshell_denylist = ["mkdir"]\n',
    steps: [[change("touch made")], [change("mkdir made")], [change("chmod 600 b.txt")]],
  },
  unconfirmed: {
    ...NO_TERMINAL,
    args: [],
    config: "[tools]\nshell_confirm = false\n",
    steps: [[change("touch made")], [write("a.txt")]],
  },
  "read-only": {
    ...NO_TERMINAL,
    args: ["--approve", "all"],
    config: RULES("read-only"),
    steps: [[shell("echo read-only")], [change("touch made")], [write("a.txt")]],
  },
  "dry-run": {
    ...NO_TERMINAL,
    args: ["--dry-run", "--approve", "all"],
    steps: [[change("touch made")], [write("a.txt")], [shell("echo read-only")]],
  },
  answers: {
    terminal: true,
    args: [],
    steps: [
      [change("touch made"), "y"],
      [change("touch made"), "n", "not now"],
      [change("touch made"), "later", "yes"],
      [change("mkdir one"), "a"],
      [change("mkdir two")],
      [change("chmod 600 made"), "e", "chmod 640 made"],
      [change("chmod 600 made"), "e", "rm -rf /"],
      [write("a.txt"), "v", "y"],
      [edit("a.txt"), "n", ""],
      [change("touch stopped"), "s"],
    ],
  },
  guarded: {
    terminal: true,
    args: ["--approve", "all"],
    config: RULES("guarded"),
    steps: [
      [change("touch made")],
      [change("rm -r one", HIGH), "y", "db1", "y", "local"],
      [change("rm -r two", HIGH), "n", ""],
    ],
  },
  "three-nobody-to-ask": {
    ...NO_TERMINAL,
    args: [],
    machines: 3,
    steps: [[shell("echo read-only")], [change("touch ~/made")]],
  },
  "three-approve-all": {
    ...NO_TERMINAL,
    args: ["--approve", "all", "--parallel", "1"],
    machines: 3,
    steps: [[change("touch ~/made; cat ~/name")], [change("test $MACHINE != web2")]],
  },
  "three-answers": {
    terminal: true,
    args: [],
    machines: 3,
    steps: [
      [change("touch ~/made"), "y"],
      [change("touch ~/made"), "s", "web[1-2]"],
      [change("touch ~/made"), "c", "y"],
      [change("touch ~/made"), "n", "not there"],
      [call("write_file", { path: "~/a.txt", content: "one\n" }), "y"],
    ],
  },
  "three-guarded": {
    terminal: true,
    args: ["--approve", "all"],
    machines: 3,
    config: '[rules.web3]\nmode = "guarded"\n',
    steps: [[change("dd if=/dev/zero of=~/made count=0 status=none", HIGH), "y", "web3"]],
  },
};

let lab: Machines;

beforeAll(async () => {
  await buddyBinary();
  lab = await machines(["web1", "web2", "web3"]);
});

test.each(Object.entries(WORLDS))("%s", async (name, world) => {
  const sections: string[] = [];
  /** What the front before has left, by file. */
  const before = new Map<string, string>();
  for (const front of FRONTS) {
    if (front.startsWith("run")) {
      for (const [at, [{ toolCalls: [{ args } = { args: {} }] = [] } = {}, ...answers]] of world.steps
        .map(asReply)
        .entries()) {
        const { command } = args as { command?: string };
        if (command === undefined) continue;
        sections.push(await throughFront(before, front, world, [[world.steps[at]![0], ...answers]], command));
      }
    } else if (world.terminal || front !== "repl") sections.push(await throughFront(before, front, world, world.steps));
  }
  const text = `${sections.join("\n")}\n`;
  const path = join(import.meta.dir, "golden", `${name}.txt`);
  if (process.env["GOLDEN"] === "write") writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, "utf8"));
});

const FRONTS = ["exec", "exec --json", "run", "run --json", "repl"] as const;
type Front = (typeof FRONTS)[number];

function asReply([turn, ...answers]: Step): [Extract<Turn, { toolCalls?: unknown }>, ...string[]] {
  return [turn as Extract<Turn, { toolCalls?: unknown }>, ...answers];
}

async function throughFront(
  before: Map<string, string>,
  front: Front,
  world: World,
  steps: readonly Step[],
  command?: string,
): Promise<string> {
  const turns = steps.map(([turn]) => turn);
  const targets = world.machines === undefined ? "" : '[targets.web]\nssh = "web[1-3]"\n';
  await using rig = execRig([...turns, { text: "done" }], { config: `${world.config ?? ""}${targets}` });
  // Of the same length wherever tests have their directories: lines wrap alike.
  const cwd = mkdtempSync("/tmp/golden-");
  using _ = { [Symbol.dispose]: () => rmSync(cwd, { recursive: true, force: true }) };
  writeFileSync(join(cwd, "b.txt"), "one\ntwo\n");
  for (const machine of lab.names) {
    mkdirSync(lab.home(machine), { recursive: true });
    for (const file of ["made", "a.txt"]) await Bun.$`rm -rf ${join(lab.home(machine), file)}`.quiet();
  }
  const [program, ...flags] = front === "repl" ? [] : front.split(" ");
  const on = world.machines === undefined ? [] : ["--on", "web"];
  const prompt = front === "repl" ? [] : [command ?? "go"];
  const argv = [program, ...flags, "--no-tmux", ...on, ...world.args, ...prompt].filter((one) => one !== undefined);
  const answers = steps.flatMap(([, ...lines]) => lines);
  const { code, ...streams } = await run(rig, cwd, front, argv, world.terminal, answers);
  const files = { session: sessionOf(cwd), audit: auditOf(rig) };
  const shown = command === undefined ? front : `${front} ${command}`;
  const clean = cleaner(rig, cwd);
  const blocks = Object.entries({ ...streams, ...files }).map(
    ([what, text]) => [what, clean(text, what, world).trimEnd()] as const,
  );
  const lines = blocks.flatMap(([what, text]) => {
    if (text === "") return [];
    const isKnown = before.get(what) === text;
    before.set(what, text);
    return [`-- ${what}`, isKnown ? "(as before)" : text];
  });
  return [`== ${shown}: exit ${code}`, ...lines].join("\n");
}

interface Streams {
  readonly code: number;
  readonly terminal: string;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  rig: ExecRig,
  cwd: string,
  front: Front,
  argv: readonly string[],
  terminal: boolean,
  answers: readonly string[],
): Promise<Streams> {
  const binary = await buddyBinary();
  const env = { ...rig.box.env, PATH: lab.env.PATH, TERM: "dumb", NO_COLOR: "1", BUDDY: binary };
  const { dir } = rig.box;
  if (!terminal) {
    const child = Bun.spawn(["setsid", "-w", binary, ...argv], {
      cwd,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, terminal: "", stdout, stderr };
  }
  const streams = front === "repl" ? "" : ' </dev/null >"$0/stdout" 2>"$0/stderr"';
  const there = onTerminal(["sh", "-c", `"$BUDDY" "$@"${streams}`, dir, ...argv], env, cwd);
  let code: number | undefined;
  void there.child.exited.then((ended) => (code = ended));
  const left = [...(front === "repl" ? ["go"] : []), ...answers];
  let terminalText = "";
  for (let seen = 0; ;) {
    const fresh = () => there.text().slice(seen);
    const asked = () => ASKS.exec(fresh())?.[0];
    await until(() => code !== undefined || asked(), `a question or the end of ${argv.join(" ")}`, {
      timeoutMs: 60_000,
    }).catch((error: unknown) => {
      throw new Error(there.text(), { cause: error });
    });
    const label = asked();
    terminalText += fresh();
    seen = there.text().length;
    if (label === undefined) break;
    // What is asked without an answer in the table is refused.
    const refusal = label.startsWith("Reason") ? "" : "n";
    const answer = label.endsWith("> ") && left.length === 0 ? undefined : (left.shift() ?? refusal);
    there.type(answer === undefined ? "\x04" : `${answer}\n`);
    // The terminal shows what is typed, unless it comes before buddy has it read a line.
    terminalText += `${answer ?? "^D"}\n`;
    if (answer !== undefined) await until(() => fresh() !== "" || code !== undefined, "an answer to the line");
    if (fresh().startsWith(`${answer}\r\n`)) seen += answer!.length + 2;
  }
  const read = (name: string) => (front === "repl" ? "" : readFileSync(join(dir, name), "utf8"));
  return { code: code ?? 0, terminal: terminalText, stdout: read("stdout"), stderr: read("stderr") };
}

/** Where a line is read: at the prompt of the REPL, and at each kind of question. */
const ASKS = /(?:context[^>]*> |or \?: |Reason \(optional\): |keep it\): |approve: |\]\): )$/;

function sessionOf(cwd: string): string {
  const [path] = [...new Bun.Glob("**/sessions/**/*.jsonl").scanSync({ cwd, dot: true, absolute: true })];
  return path === undefined ? "" : readFileSync(path, "utf8");
}

function auditOf({ box }: ExecRig): string {
  const path = join(box.home, ".local/state/buddy/audit.jsonl");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** Without what differs from run to run, or from one machine to the next. */
function cleaner({ box, socket }: ExecRig, cwd: string): (text: string, what: string, world: World) => string {
  const [host, username, homedir] = ["hostname", "id -un", "eval echo ~$(id -un)"].map((command) =>
    Bun.spawnSync(["sh", "-c", command]).stdout.toString().trim(),
  );
  const places = [
    [cwd, "/CWD"],
    [box.dir, "/DIR"],
    [JSON.stringify(box.dir).slice(1, -1), "/DIR"],
    [lab.server.dir, "/LAB"],
    [socket, "SOCKET"],
    [`${username}@${host}`, "USER@HOST"],
    [`${username}@web`, "USER@web"],
    ["\r", ""],
  ] as const;
  return (text, what, { machines: several }) => {
    const ids = new Map<string, string>();
    const named = (id: string) => ids.get(id) ?? (ids.set(id, `ID${ids.size + 1}`).get(id) as string);
    const plain = (one: string): string =>
      (one === homedir ? "/HOME" : places.reduce((all, [place, name]) => all.replaceAll(place, name), one))
        .replace(IDS, named)
        .replace(/127\.0\.0\.1:\d+/g, "ADDRESS")
        // The first result of each minute has it.
        .replace(/"harness_timestamp":\{[^}]*\},/g, "")
        .replace(/\b\d+(?:\.\d+)?(?: ?ms|s)\b/g, "TIME")
        .replace(/(?: {2}| · )TIME$/gm, "")
        .replace(/\d+% context/g, "N% context")
        // Where a row breaks depends on the lengths of names and directories.
        .replace(/ *\n {4,}(?=\S)/g, " ")
        // Printed only if the result takes a moment, as the time that it took is.
        .replace(/^› .*\n\n?/gm, "");
    const inside = (value: unknown): unknown => {
      if (typeof value === "string") return plain(value);
      if (Array.isArray(value)) return value.map(inside);
      if (typeof value !== "object" || value === null) return value;
      const volatile = what === "audit" ? VOLATILE.audit : VOLATILE.events;
      return Object.fromEntries(
        Object.entries(value).flatMap(([key, one]) => (volatile.has(key) ? [] : [[key, inside(one)]])),
      );
    };
    if (!text.startsWith("{")) return plain(text);
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.stringify(inside(JSON.parse(line))))
      .filter((line) => !NOT_OF_CALLS.test(line));
    // Machines report in any order.
    if (several === undefined) return lines.join("\n");
    return (what === "audit" ? lines.toSorted() : sortedRuns(lines)).join("\n");
  };
}

/** Of sessions and approvals, calls, machines. */
const IDS =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:[0-9a-f]{4}-){3}[0-9a-f]{4}\b|\bcall_\d+_\d+\b|\b[0-9a-f]{32}\b/g;

const VOLATILE = {
  events: new Set([
    "v",
    "ts",
    "began",
    "session",
    "target",
    "ms",
    "mac",
    "done",
    "waiting",
    "buddy",
    "host",
    "user",
    "output_id",
  ]),
  audit: new Set(["v", "ts", "session", "seq", "prev", "mac", "ms", "host", "user", "target_user", "machine"]),
} as const;

/** What machine there is is known sooner or later. */
const NOT_OF_CALLS = /^\{"type":"(?:usage|session|machine)"/;

/** What machines print and how they end has no order, neither among them nor with a question about another one. */
function sortedRuns(lines: readonly string[]): string[] {
  const sorted: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at + 1;
    if (OF_MACHINES.test(lines[at]!)) while (end < lines.length && OF_MACHINES.test(lines[end]!)) end++;
    const run = lines.slice(at, end);
    const isQuestion = (line: string) => line.includes('"type":"approval_');
    sorted.push(...run.filter(isQuestion), ...run.filter((line) => !isQuestion(line)).toSorted());
    at = end;
  }
  return sorted;
}

const OF_MACHINES = /^\{"type":"(?:machine_finished|tool_output|notice|approval_asked|approval_answered)"/;
