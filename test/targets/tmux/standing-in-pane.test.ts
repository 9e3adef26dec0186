/** The clean bash that stays in the read-only namespace on the pane's terminal: what runs in it is as in a new one. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pane, RunResult } from "../../../src/targets/target.ts";
import { needs } from "../../support/needs.ts";
import { uniqueSeconds } from "../../support/processes.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const { test } = await needs("linux", "root", "tmux");

setDefaultTimeout(60_000);

let home: Disposable;
beforeAll(() => {
  home = temporaryHome();
});
afterAll(() => home[Symbol.dispose]());

type Place = OpenedTarget & { readonly pane: Pane; readonly shell: number };

async function open(): Promise<Place> {
  const place = await openTestTarget("local", { shell: "bash" });
  expect(await place.target.locks.settled).toMatchObject({ kind: "ready" });
  const pane = (await place.target.panes?.pane()) as Pane;
  const shell = await shellOf(place);
  return { ...place, pane, shell, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

const text = ({ output }: RunResult) => output.head + output.tail;
const approved = ({ target }: OpenedTarget, command: string) => target.shell.run(command, { waitMs: 20_000 });
const unasked = ({ target }: OpenedTarget, command: string) =>
  target.shell.run(command, { waitMs: 20_000, unasked: { inNamespace: true } });

const shellOf = (place: OpenedTarget) =>
  until(async () => Number(text(await approved(place, "echo $$"))), "the number of the pane's shell");

/** Runs it, and acts once it has printed "begun". */
async function during(place: Place, command: string, act: () => Promise<unknown>): Promise<RunResult> {
  let seen = "";
  const running = place.target.shell.run(command, {
    waitMs: 20_000,
    unasked: { inNamespace: true },
    onOutput: (piece) => (seen += piece.text),
  });
  await until(() => seen.includes("begun"), "its output");
  await act();
  return running;
}

interface Seen {
  readonly pid: number;
  readonly group: number;
}

/** The processes of the pane that are no zombies. */
function processes({ shell }: Place): Seen[] {
  const rows = readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state = "", , group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return /[ZX]/.test(state) ? [] : [{ pid: Number(name), group: Number(group), session }];
    } catch {
      return [];
    }
  });
  const session = rows.find((row) => row.pid === shell)?.session;
  return rows.filter((row) => row.session === session);
}

/** In the group of the pane's shell there is nothing else at its prompt. */
const standing = (place: Place) =>
  processes(place).find(({ pid, group }) => group === place.shell && pid !== group)?.pid;

/** Where mounts come and go meanwhile, the namespace is made anew, and this shell with it. */
async function known(place: Place): Promise<number> {
  return until(
    async () => {
      await unasked(place, "true");
      const pid = standing(place);
      await unasked(place, "true");
      return pid !== undefined && standing(place) === pid && pid;
    },
    "a clean shell that stays",
    { timeoutMs: 40_000 },
  );
}

test("it is neither a job of the pane's shell nor $!, and nothing inherits its pipes", async () => {
  await using place = await open();
  const bang = text(await approved(place, `sleep ${uniqueSeconds()} & echo $!`))
    .trim()
    .split("\n")
    .at(-1);
  await known(place);
  const seen = text(await approved(place, 'jobs -p; echo "$!"; ls /proc/self/fd | wc -l; kill $!; wait'));
  expect(seen).toStartWith(`${bang}\n${bang}\n4\n`);
});

test("a text finds the shell's locale, umask, limits, niceness and directory as they are now", async () => {
  await using place = await open();
  await known(place);
  const look = 'echo "${LC_TIME-unset} $(umask) $(ulimit -n) $(nice) $PWD $OLDPWD"';
  const before = text(await unasked(place, look)).trim();
  const own = place.target.shell.cwd;
  expect(before).toStartWith("unset 0022 ");
  await approved(place, "export LC_TIME=POSIX; umask 027; ulimit -n 99; cd /usr; renice -n 3 $$ >/dev/null");
  expect(text(await unasked(place, look))).toBe(`POSIX 0027 99 3 /usr ${own}\n`);
  await approved(place, "unset LC_TIME; seen() { :; }; export -f seen");
  expect(text(await unasked(place, "echo ${LC_TIME-unset}; env | grep -c BASH_FUNC_seen"))).toBe("unset\n0\n");
});

test("nothing of a text is left for the next, or of the shell in it", async () => {
  await using place = await open();
  await known(place);
  await unasked(place, "x=1; f() { :; }; umask 077; set -f; set -u; alias ls=no; exec 7</dev/null");
  const clean =
    "echo ${x-unset} $(umask) $- $# $SHLVL; declare -F; compgen -v __buddy; alias; for f in 3 4 5 6 7 8; do [ ! -e /dev/fd/$f ] || echo $f; done; grep -E 'Sig(Ign|Blk)' </proc/self/status; exit 3";
  const seen = await unasked(place, clean);
  expect(seen.outcome).toEqual({ kind: "exited", code: 3 });
  expect(text(seen)).toMatch(/^unset 0022 hpBc 0 \d+\nSigBlk:\s0+\nSigIgn:\s0+\n$/);
});

test("Ctrl-Z ends a text and gives the prompt back", async () => {
  await using place = await open();
  await known(place);
  const { outcome } = await during(place, `echo begun; sleep ${uniqueSeconds()}`, () =>
    place.pane.keys({ keys: ["C-z"] }),
  );
  expect(outcome).toEqual({ kind: "exited", code: 148 });
  await approved(place, "kill %1 2>/dev/null; wait");
  expect(text(await approved(place, "jobs; echo done"))).toBe("done\n");
  expect(text(await unasked(place, "echo next"))).toBe("next\n");
  const shells = () => processes(place).filter(({ group }) => group !== place.shell);
  await until(() => shells().length === 1, "only the supervisor is beside the shell");
});

test("Ctrl-C between two commands of a text, and at the prompt", async () => {
  await using place = await open();
  for (let round = 0; round < 5; round++) {
    const { outcome } = await during(place, `echo begun; sleep ${uniqueSeconds()}`, () =>
      place.pane.keys({ keys: ["C-c"] }),
    );
    expect(outcome).toEqual({ kind: "exited", code: 130 });
    await known(place);
    await place.pane.keys({ keys: ["C-c"] });
    expect(text(await unasked(place, "echo next"))).toBe("next\n");
  }
});

test("an INT trap of the operator's stays, and works", async () => {
  await using place = await open();
  await known(place);
  await approved(place, "trap 'echo mine' INT");
  const { outcome } = await during(place, `echo begun; sleep ${uniqueSeconds()}`, () =>
    place.pane.keys({ keys: ["C-c"] }),
  );
  expect(outcome).toEqual({ kind: "exited", code: 130 });
  expect(text(await approved(place, "trap -p INT"))).toBe("trap -- 'echo mine' SIGINT\n");
});

test("the program of a text is named, not the shell that waits for it", async () => {
  await using place = await open();
  await known(place);
  const result = await during(place, `echo begun; sleep ${uniqueSeconds()}; true`, async () => {
    await until(async () => (await place.pane.where()).program === "sleep", "its name");
    await place.pane.keys({ keys: ["C-c"] });
  });
  expect(result.outcome).toMatchObject({ code: 130 });
  expect((await place.pane.where()).program).toBeUndefined();
});

test("one that was killed is replaced, and a text that it had taken is not run again", async () => {
  await using place = await open();
  process.kill(await known(place), "SIGKILL");
  expect(text(await unasked(place, "echo once"))).toBe("once\n");
  const result = await until(async () => {
    await known(place);
    let pid: number | undefined;
    const ended = await during(place, `echo begun; sleep ${uniqueSeconds()}; echo no`, async () => {
      pid = standing(place);
      if (pid === undefined) await place.pane.keys({ keys: ["C-c"] });
      else process.kill(pid, "SIGKILL");
    });
    return pid !== undefined && ended;
  }, "a text that it runs");
  expect(result.outcome).toEqual({ kind: "exited", code: 137 });
  expect(text(result)).toBe("begun\n");
  expect(text(await approved(place, "stty -a | grep -c ' echo '; jobs"))).toBe("1\n");
  await known(place);
});

test("answers that others write into its pipe change nothing", async () => {
  await using place = await open();
  await known(place);
  const run = text(await approved(place, 'echo "$__buddy_run/$__buddy_pane"')).trim();
  expect(existsSync(`${run}.told`)).toBe(true);
  const lines = ["1 taken", "1 end 0", "ready", "started 1", " taken", " end 0", "1 at 1", "x".repeat(500)];
  for (const line of lines) {
    writeFileSync(`${run}.told`, `${line}\n`, { flag: "r+" });
    const result = await unasked(place, "echo right; exit 5");
    expect({ line, outcome: result.outcome, text: text(result) }).toEqual({
      line,
      outcome: { kind: "exited", code: 5 },
      text: "right\n",
    });
  }
  // In the namespace, too, by its name: the text goes on by itself.
  await unasked(place, `echo '1 end 0' 1<>${run}.told; echo '2 taken' 1<>${run}.told`);
  expect(text(await unasked(place, "echo right"))).toBe("right\n");
  expect(existsSync(join(place.target.shell.cwd, "right"))).toBe(false);
});

test.each(["-e", "-u -C"])("set %s and set -x of the pane's shell are no matter", async (option) => {
  await using place = await open();
  await known(place);
  await approved(place, `set ${option}`);
  expect(await unasked(place, "echo $none; false")).toMatchObject({ outcome: { kind: "exited", code: 1 } });
  await approved(place, "export LC_TIME=POSIX; set -x");
  const other = await unasked(place, "echo $LC_TIME; exit 4");
  expect({ outcome: other.outcome, text: text(other) }).toEqual({
    outcome: { kind: "exited", code: 4 },
    text: "POSIX\n",
  });
  expect(text(await approved(place, "echo $$"))).toContain(`${place.shell}\n`);
});

test("it ends with the pane's shell, with the pane, and with the target", async () => {
  await using place = await open();
  const alive = (pid: number) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`).length > 0;
  const first = await known(place);
  await approved(place, "exit");
  await until(() => !alive(first), "its end with the shell");
  const second = await known({ ...place, shell: await shellOf(place) });
  await place.tmux("kill-pane", "-t", place.pane.id);
  await until(() => !alive(second), "its end with the pane");
  const third = await known({ ...place, shell: await shellOf(place) });
  await place.target[Symbol.asyncDispose]();
  await until(() => !alive(third), "its end with the target");
});
