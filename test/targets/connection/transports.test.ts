import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Process } from "../../../src/targets/target.ts";
import { buddyError } from "../../support/errors.ts";
import { processesWith, uniqueSeconds, ACCOUNT } from "../../support/processes.ts";
import { eachPlace, openPlace, type Opened } from "../../support/transports.ts";
import { until } from "../../support/until.ts";

const HOLDER = join(import.meta.dir, "../../support/transport-holder.ts");

async function all(child: Process): Promise<{ stdout: string; stderr: string; code: number }> {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code };
}

async function firstText(child: Process): Promise<string> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return new TextDecoder().decode(value);
}

await eachPlace((place) => {
  let opened: Opened;
  beforeAll(async () => void (opened = await openPlace(place)));
  afterAll(async () => await opened[Symbol.asyncDispose]());

  test("arguments arrive as they were given", async () => {
    const words = [
      "",
      "a b",
      "it's",
      '"',
      "$HOME",
      "`id`",
      "back\\slash\\n",
      "new\nline\n",
      "-x",
      "*",
      "~",
      "ümläut 漢",
      "!x",
    ];
    const child = opened.transport.spawn(["sh", "-c", `printf '%s\\0' "$@"`, "sh", ...words]);
    child.stdin.end();
    expect((await all(child)).stdout.split("\0").slice(0, -1)).toEqual(words);
  });

  test("output, errors and exit code come apart; stdin is passed to its end", async () => {
    const child = opened.transport.spawn(["sh", "-c", "cat; echo bad >&2; exit 5"]);
    child.stdin.write("one\n");
    child.stdin.write(Buffer.from("two\n"));
    child.stdin.end();
    expect(await all(child)).toEqual({ stdout: "one\ntwo\n", stderr: "bad\n", code: 5 });
  });

  test("bytes are not changed on the way", async () => {
    const bytes = Buffer.alloc(1_000_000);
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 7 + (at >> 8)) & 0xff;
    const child = opened.transport.spawn(["cat"]);
    child.stdin.write(bytes);
    child.stdin.end();
    const back = Buffer.from(await new Response(child.stdout).arrayBuffer());
    expect(back.equals(bytes)).toBe(true);
    expect(await child.exited).toBe(0);
  });

  test("directory and variables", async () => {
    const value = "a 'b' \"c\" $d\ne";
    const child = opened.transport.spawn(["sh", "-c", 'pwd; printf %s "$VALUE"'], {
      cwd: "/tmp",
      env: { VALUE: value },
    });
    child.stdin.end();
    expect((await all(child)).stdout).toBe(`/tmp\n${value}`);
  });

  test("a directory or program that is not there is reported like a shell does", async () => {
    const nowhere = await all(opened.transport.spawn(["true"], { cwd: "/no/such/place" }));
    expect(nowhere.code).toBeGreaterThanOrEqual(126);
    expect(nowhere.stderr).toContain("/no/such/place");
    const nothing = await all(opened.transport.spawn(["no-such-program-here"]));
    expect(nothing.code).toBe(127);
    expect(nothing.stderr).toContain("no-such-program-here");
  });

  test("kill ends the whole group there", async () => {
    const seconds = uniqueSeconds();
    const child = opened.transport.spawn(["sh", "-c", `sleep ${seconds} & echo up; sleep ${seconds}`]);
    expect(await firstText(child)).toBe("up\n");
    child.kill();
    expect(await child.exited).toBe(143);
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the group is gone");
  });

  test("what ignores TERM is killed; an abort does the same", async () => {
    const seconds = uniqueSeconds();
    const stop = new AbortController();
    const child = opened.transport.spawn(["sh", "-c", `trap '' TERM; echo up; sleep ${seconds}; sleep ${seconds}`], {
      signal: stop.signal,
    });
    expect(await firstText(child)).toBe("up\n");
    stop.abort();
    expect(await child.exited).toBeGreaterThan(128);
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "it is gone");
    expect(() => opened.transport.spawn(["true"], { signal: stop.signal })).toThrow();
  });

  test("a kill right after the start still arrives", async () => {
    const seconds = uniqueSeconds();
    const child = opened.transport.spawn(["sh", "-c", `sleep ${seconds}; sleep ${seconds}`]);
    child.kill();
    await child.exited;
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "it is gone");
  });

  test("other signals go to the group and leave it at that", async () => {
    const child = opened.transport.spawn([
      "sh",
      "-c",
      "trap 'echo got it; exit 3' USR1; echo up; while :; do sleep 0.05; done",
    ]);
    const reader = child.stdout.getReader();
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await read()).toBe("up\n");
    child.kill("SIGUSR1");
    expect(await read()).toBe("got it\n");
    await child.exited;
  });

  test("many scripts at once: every answer to its question", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const input = `${at}:`.repeat(at * 50);
        const script = 'printf "%s|" "$1"; cat; echo "err $1" >&2; exit "$1"';
        const { stdout, stderr, code } = await opened.transport.run(script, { args: [String(at)], input });
        return { right: stdout.toString() === `${at}|${input}` && stderr === `err ${at}\n`, code };
      }),
    );
    expect(answers.every(({ right }) => right)).toBe(true);
    expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: 40 }, (_, at) => at));
  });

  test("a script that hangs is given up, and the next one runs", async () => {
    const seconds = uniqueSeconds();
    const hanging = opened.transport.run(`sleep ${seconds}`, { timeoutMs: 300 });
    await expect(hanging).rejects.toThrow(buddyError("target"));
    await hanging.catch(() => {});
    expect((await opened.transport.run("echo fine")).stdout.toString()).toBe("fine\n");
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the hanging script is gone");
  });

  test("a slow script does not hold up the others", async () => {
    const gate = `/tmp/buddy-gate-${uniqueSeconds()}`;
    const slow = opened.transport.run('while [ ! -e "$1" ]; do sleep 0.02; done; echo waited', {
      args: [gate],
      slow: true,
    });
    expect((await opened.transport.run('echo quick; : >"$1"', { args: [gate] })).stdout.toString()).toBe("quick\n");
    expect((await slow).stdout.toString()).toBe("waited\n");
    await opened.transport.run('rm -f "$1"', { args: [gate] });
  });

  test("it says who and where it is", async () => {
    const { facts, label, kind } = opened.transport;
    expect(label.startsWith(kind)).toBe(true);
    const inside = place.includes("container");
    expect(facts.user).toBe(inside ? "root" : ACCOUNT);
    expect(facts.uid).toBe(inside ? 0 : (process.getuid?.() ?? -1));
    expect(facts.machine).not.toBe("");
    expect(facts.os).toContain("Linux");
    expect(facts.cwd).toStartWith("/");
    expect(facts.home).toStartWith("/");
    expect(facts.programs["sh"]).toBeString();
    await opened.transport.ensure();
  });

  test("closing ends what was started", async () => {
    const seconds = uniqueSeconds();
    const other = await openPlace(place);
    const child = other.transport.spawn(["sh", "-c", `sleep ${seconds} & sleep ${seconds}`]);
    await child.pid;
    await until(() => processesWith(`sleep ${seconds}`).length >= 2, "both run");
    await other[Symbol.asyncDispose]();
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  test.each(["SIGKILL", "SIGINT", "SIGTERM", "throw", "exit"] as const)(
    "buddy ends by %s: nothing is left there",
    async (how) => {
      const seconds = uniqueSeconds();
      const options = { ...opened.options, agentName: seconds };
      const holder = Bun.spawn([process.execPath, HOLDER, JSON.stringify(options), seconds], {
        stdin: "pipe",
        stdout: "pipe",
        stderr: "ignore",
        env: { ...process.env, ...opened.env },
      });
      const { value } = await holder.stdout.getReader().read();
      if (value === undefined) throw new Error(`the holder failed: ${await new Response(holder.stderr).text()}`);
      await until(() => processesWith(`sleep ${seconds}`).length >= 2, "the group runs");
      if (how.startsWith("SIG")) holder.kill(how as NodeJS.Signals);
      else {
        holder.stdin.write(how);
        holder.stdin.end();
      }
      await holder.exited;
      await until(() => processesWith(`sleep ${seconds}`).length === 0, "the group there is gone");
      await until(() => processesWith(`-${holder.pid}-`).length === 0, "no ssh master is left");
    },
  );
});
