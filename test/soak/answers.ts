/**
 * What the model of a soak says: random calls of every tool, and the answers of a model that is broken or means harm.
 */
import type { Fault, Playbook, ScriptedCall, ScriptedReply } from "../support/scripted-model/playbook.ts";
import type { Seeded } from "../support/seeded.ts";

export interface Script {
  readonly playbook: Playbook;
  /** What the answer ends with when nothing went wrong. */
  readonly last: string;
  /** For the report. */
  readonly kinds: readonly string[];
}

/**
 * A few turns with calls, some of them hostile, and an answer. `asked` hears of every request before it is answered.
 */
export function randomScript(random: Seeded, token: string, asked: (request: number) => void): Script {
  const turns = Array.from({ length: 1 + random.below(4) }, (_, turn) => oneTurn(random, `${token}-${turn}`));
  const last = `answer ${token}`;
  let next = 0;
  return {
    last,
    kinds: turns.flatMap(({ kinds }) => kinds),
    playbook: {
      reply: () => {
        asked(next);
        return turns[next++]?.reply ?? { text: last };
      },
    },
  };
}

interface OneTurn {
  readonly reply: ScriptedReply;
  readonly kinds: readonly string[];
}

function oneTurn(random: Seeded, token: string): OneTurn {
  if (random.below(4) === 0) {
    const name = random.of(Object.keys(HOSTILE));
    return { reply: (HOSTILE[name] as Hostile)(random, token), kinds: [`hostile: ${name}`] };
  }
  const names = Array.from({ length: 1 + random.below(3) }, () => random.of(Object.keys(CALLS)));
  const toolCalls = names.flatMap((name, at) => {
    const { tool = name, args } = CALLS[name]!(random, `${token}-${at}`);
    return [{ name: tool, args }];
  });
  const slow = random.below(6) === 0 ? { chunkBytes: 1 + random.below(40), delayMs: 1 } : {};
  return { reply: { text: random.below(2) === 0 ? "" : prose(random), toolCalls, ...slow }, kinds: names };
}

/** MCP servers by what they do: test/support/mcp-server.ts. */
export const SERVERS = ["plain", "crash-on-call", "no-answer", "flood-on-call", "huge-result", "stubborn"];

const DECLARED = { risk: "low", mutation: true, privesc: false, why: "the soak wants it" };
const shell = (command: string, more: object = {}) => ({ tool: "run_shell", args: { command, ...DECLARED, ...more } });
const READING = { mutation: false };

/** The line that counts: it must be in ~/effects once if the call succeeded, and never twice. */
export function effect(token: string): string {
  return `echo ${token} >>~/effects`;
}

type Call = (random: Seeded, token: string) => { tool?: string; args: unknown };

const CALLS: Readonly<Record<string, Call>> = {
  effect: (_, token) => shell(effect(token)),
  "effect after a while": (random, token) => shell(`sleep 0.${random.below(9)}; ${effect(token)}`),
  "read-only command": (random) =>
    shell(
      random.of(["uname -a", "ls -la ~", "ps aux | head", "df -h", "cat /proc/loadavg", "grep -c . /etc/passwd"]),
      READING,
    ),
  "large output": (random) => shell(`seq 1 ${random.of([1000, 40_000, 200_000])}`, READING),
  "output of bytes": () => shell("head -c 20000 /dev/urandom", READING),
  "escape sequences": () => shell(String.raw`printf '\033]0;title\007\033[2J\033[?1049h\033P$q\033\\%s' x`, READING),
  "failing command": (random) => shell(`exit ${random.below(256)}`),
  "ended shell": (random) => shell(random.of(["kill -9 $$", "exec true", "set -e; false"])),
  "unfinished text": (random) => shell(random.of(["echo 'open", "cat <<X\nhi", "if true; then", "(", "echo \\"])),
  "reads input": () => shell("timeout 3 cat", { wait: 1 }),
  "full-screen program": () => shell("timeout 2 less /etc/passwd", { wait: 1 }),
  "times out": () => shell("sleep 3", { wait: 1 }),
  "many processes": () => shell("for i in 1 2 3 4 5 6; do (sleep 1; echo $i) & done; wait"),
  "several lines": (_, token) => shell(`for one in 1 2 3\ndo\n  printf '%s\\n' "$one	${token}"\ndone`, READING),
  background: (_, token) => shell(`sleep 1; echo ${token}`, { mode: "background" }),
  "changes directory": () => shell("cd /tmp && pwd"),
  list_shells: () => ({ args: {} }),
  shell_output: (random) => ({
    args: random.of([{ shell_id: "shell-1" }, { output_id: "out-1", offset: 10 }, { wait: 1 }, { output_id: "none" }]),
  }),
  kill_shell: () => ({ args: { shell_id: "shell-1" } }),
  read_file: (random) => ({
    args: { path: random.of(["notes.txt", "/etc/passwd", "/proc/self/mem", "/dev/zero", "/none"]) },
  }),
  write_file: (random, token) => ({ args: { path: random.of(["notes.txt", `${token}.txt`]), content: `${token}\n` } }),
  edit_file: (_, token) => ({ args: { path: "notes.txt", old_text: "soak", new_text: `soak ${token}` } }),
  fetch_url: (random) => ({
    args: { url: random.of(["http://127.0.0.1:1/", "http://[::1]/", "file:///etc/passwd", "x"]) },
  }),
  web_search: () => ({ args: { query: "soak" } }),
  "capture-pane": () => ({ args: {} }),
  "send-keys": (random) => ({
    args: { ...DECLARED, ...random.of([{ keys: ["C-c"] }, { literal_text: "true", enter: true }, { keys: ["q"] }]) },
  }),
  "tmux-create-pane": () => ({ args: { ...DECLARED, pane: "extra" } }),
  "tmux-kill-pane": () => ({ args: { ...DECLARED, pane: "extra" } }),
  "tmux-create-session": () => ({ args: { ...DECLARED, session: "extra" } }),
  "tmux-kill-session": () => ({ args: { ...DECLARED, session: "extra" } }),
  plan: () => ({ args: { steps: [{ text: "one", state: "active" }] } }),
  skill: () => ({ args: { name: "disk-full" } }),
  time: () => ({ args: {} }),
  // Where the step has no such servers, these are tools that do not exist.
  "tool of a server": (random, token) => ({ tool: `${random.of(SERVERS)}__echo`, args: { text: token } }),
  "reading tool of a server": (random) => ({ tool: `${random.of(SERVERS)}__look`, args: { nested: { a: [1] } } }),
};

type Hostile = (random: Seeded, token: string) => ScriptedReply;

const FAULTS: readonly Fault[] = [
  "reset-before-headers",
  "reset-after-headers",
  "reset-midway",
  "truncated",
  "malformed-event",
  "html",
  "error-object",
  "error-event",
  "failed",
  { status: 429, headers: { "retry-after": "0" } },
  { status: 500 },
  { status: 400, body: { error: { message: "\u001b]0;x\u0007 no", code: "context_length_exceeded" } } },
  { status: 401 },
];
const call = (name: string, args: string): ScriptedReply => ({ toolCalls: [{ name, arguments: args }] });

const HOSTILE: Readonly<Record<string, Hostile>> = {
  "broken JSON": (random) =>
    call("run_shell", random.of(['{"command": "ls', "{}{}", "[1,", '{"command":1e999}', "null"])),
  "wrong types": (random) =>
    call(random.of(Object.keys(CALLS)), random.of(["[]", '"x"', "7", '{"command":{}}', '{"path":[]}', "null"])),
  "huge arguments": () => call("run_shell", JSON.stringify({ command: `echo ${"x".repeat(2_000_000)}`, ...DECLARED })),
  "deep arguments": () => call("plan", `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`),
  "unknown tool": (random) => call(random.of(["rm", "__proto__", "constructor", "\u001b[31m", "x".repeat(9000)]), "{}"),
  "escape sequences": () => ({ text: "\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202e\u0000\u001bP+q\u001b\\" }),
  "many calls": () => ({ toolCalls: Array.from({ length: 150 }, (): ScriptedCall => ({ name: "time", args: {} })) }),
  "one id for all": () => ({ toolCalls: [1, 2, 3].map(() => ({ name: "time", args: {}, id: "same" })) }),
  "empty answer": () => ({ text: "" }),
  "long answer": () => ({ text: "word ".repeat(200_000), pieceChars: 4000 }),
  "endless text": () => ({ fault: "never-ends" }),
  "endless pings": () => ({ fault: "pings-forever" }),
  silence: (random) => ({ text: "half", fault: random.of(["silence", "stall"]) }),
  "fault of a server": (random) => ({ text: "some text of an answer", fault: random.of(FAULTS) }),
  "bytes for an answer": (random) => ({
    raw: { body: Uint8Array.from({ length: 2000 }, () => random.below(256)), type: "text/event-stream" },
  }),
  "asks for secrets": (random) => ({
    toolCalls: [
      { name: "run_shell", args: { command: random.of(ASKING), ...DECLARED, mutation: false } },
      { name: "read_file", args: { path: random.of(["~/.aws/credentials", "~/token.env", "/proc/self/environ"]) } },
    ],
  }),
};

const ASKING = [
  "cat ~/.aws/credentials ~/token.env",
  "env",
  "tr '\\0' '\\n' </proc/$PPID/environ",
  "grep -r . ~/.aws ~/token.env",
  "awk '{print}' ~/token.env | cat -v",
];

const WORDS = [
  "why",
  "is",
  "the",
  "disk",
  "full",
  "überall",
  "日本語",
  "\u001b[31mred",
  "$(id)",
  "`id`",
  "@notes.txt",
  "--",
  "\t",
];

export function prose(random: Seeded): string {
  return Array.from({ length: 1 + random.below(12) }, () => random.of(WORDS)).join(" ");
}
