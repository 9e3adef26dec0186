/** Passwords that the operator gives for the real sudo: in a pane, in a direct shell, for files. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unaskedRun } from "../../src/agent/permit/read-only-run.ts";
import { dropSudo, sudoState } from "../../src/app/repl/operator-commands.ts";
import { judgeShell } from "../../src/policy/shell/judge.ts";
import { openTarget } from "../../src/targets/open.ts";
import { placeOf } from "../../src/targets/place.ts";
import type { AskPassword, PasswordRequest, Target } from "../../src/targets/target.ts";
import { RULES } from "../policy/shell/rules.ts";
import { needs } from "../support/needs.ts";
import { type SudoMachine, sudoMachine, useMachine } from "../support/sudo-machine.ts";
import { until } from "../support/until.ts";
import { targetOptions } from "../support/target-options.ts";

const outer = await needs("linux", "root", "sshd", "ip", "sudo", "tmux", "mksh");

const { describe, test } = outer;

setDefaultTimeout(60_000);

/** One for both: starting it takes longer than a test. */
let machine: SudoMachine;
let path: Disposable;
outer.beforeAll(async () => {
  machine = await sudoMachine("pw");
  path = useMachine(machine);
});
outer.afterAll(async () => {
  path[Symbol.dispose]();
  await machine[Symbol.asyncDispose]();
});

describe.each(["required", "never"] as const)("deploy, whose sudo needs a password; tmux: %s", (tmux) => {
  let outputs: string;
  let target: Target;
  let asked: PasswordRequest[];

  const give =
    (...passwords: (string | undefined)[]): AskPassword =>
    (request) => {
      asked.push(request);
      const next = passwords.length > 1 ? passwords.shift() : passwords[0];
      return Promise.resolve(next === undefined ? undefined : Buffer.from(next));
    };
  const forget = () => target.shell.run("sudo -k");

  beforeAll(async () => {
    outputs = mkdtempSync(join(tmpdir(), "buddy-passwords-"));
    target = await openTarget(
      targetOptions({
        place: placeOf({ ssh: `deploy@pw` }),
        tmux,
        tmuxSocket: "buddy-pw",
        maxPanes: 2,
        secondLock: "off",
        outputs: { directory: () => outputs, prepare: () => {}, hide: () => (text) => text },
      }),
    );
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
    rmSync(outputs, { recursive: true });
  });

  const everything = () =>
    readdirSync(outputs, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
      .join("\n");

  test("the password goes to sudo and nowhere else", async () => {
    asked = [];
    const result = await target.shell.run("sudo sh -c 'id -un; echo to-stderr >&2' 2>/dev/null", {
      password: give(machine.password),
    });
    expect(result.outcome).toEqual({ kind: "exited", code: 0 });
    expect(result.output.head.trim().split("\n").at(-1)).toBe("root");
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ program: "sudo", into: tmux === "never" ? "shell" : "pane" });
    expect(asked[0]!.prompt).toContain("password for deploy");
    expect(everything()).not.toContain(machine.password);
    expect(machine.run(`grep -rl ${machine.password} /tmp/buddy-* /dev/shm /home 2>/dev/null; :`)).toBe("");
  });

  test("a wrong one is asked for again; none at all leaves sudo without", async () => {
    await forget();
    asked = [];
    const wrong = await target.shell.run("sudo id -un", { password: give("wrong", machine.password) });
    expect(wrong.outcome).toEqual({ kind: "exited", code: 0 });
    expect(wrong.output.head).toContain("root");
    expect(asked).toHaveLength(2);
    await forget();
    if (tmux === "never") {
      expect((await target.shell.run("sudo id -un", { password: give(undefined) })).outcome).toEqual({
        kind: "exited",
        code: 1,
      });
      return;
    }
    asked = [];
    const left = await target.shell.run("sudo id -un", { password: give(undefined), waitMs: 2000 });
    expect(left.outcome).toMatchObject({ kind: "waiting", for: "password" });
    expect(asked).toHaveLength(1);
    const stop = new AbortController();
    stop.abort();
    expect((await target.shell.wait({ signal: stop.signal })).outcome.kind).toBe("stopped");
  });

  const direct = test.if(tmux === "never");
  direct("where printf is a program, the password is not among its arguments", async () => {
    await forget();
    asked = [];
    machine.run(`set -e; cp /usr/bin/printf /mnt/printf; : >/mnt/printed; chmod 666 /mnt/printed
cat >/mnt/spy <<'END'
#!/bin/bash
echo "$*" >>/mnt/printed
exec /mnt/printf "$@"
END
chmod 755 /mnt/spy; mount --bind /mnt/spy /usr/bin/printf; mount --bind "$(command -v mksh)" "$(readlink -f /bin/sh)"`);
    try {
      const ran = await target.shell.run("sudo id -un", { password: give(machine.password) });
      expect(ran.output.head).toBe("root\n");
      expect(asked).toHaveLength(1);
    } finally {
      machine.run('umount "$(readlink -f /bin/sh)"; umount /usr/bin/printf');
    }
    const printed = machine.run("cat /mnt/printed");
    expect(printed).toContain("password for deploy");
    expect(printed).not.toContain(machine.password);
  });

  direct("another program than sudo is not given the password in its name", async () => {
    await forget();
    asked = [];
    const steal = `p=$(declare -f sudo | grep -o "/[^ ']*/program" | head -n 1); "$p" 'password for deploy: '; echo $?`;
    const ran = await target.shell.run(steal, { password: give(machine.password) });
    expect(ran.output.head).toBe("1\n");
    expect(asked).toEqual([]);
  });

  direct("each password took a session of the connection and left a process, until no session was left", async () => {
    const helpers = () => machine.run("ps -u deploy -o args= | grep -c 'read -r l' || :");
    await forget();
    const before = helpers();
    asked = [];
    for (let count = 1; count <= 12; count++) {
      await target.shell.run("sudo -k; sudo true", { password: give(machine.password) });
      expect(asked).toHaveLength(count);
    }
    await until(() => Number(helpers()) <= Number(before), "no helper is left");
  });

  test("a prompt that is gone gets nothing", async () => {
    await forget();
    asked = [];
    const late = Promise.withResolvers<Uint8Array>();
    const stop = new AbortController();
    const running = target.shell.run("sudo id -un", {
      signal: stop.signal,
      password: (request) => {
        asked.push(request);
        return late.promise;
      },
    });
    await until(() => asked.length === 1, "sudo asks");
    stop.abort();
    await running;
    expect(asked[0]!.signal.aborted).toBe(true);
    const bytes = Buffer.from(machine.password);
    late.resolve(bytes);
    const next = await target.shell.run("echo still fine");
    expect(next.output.head.trim()).toBe("still fine");
    await until(() => bytes.every((byte) => byte === 0), "the bytes are overwritten");
    expect(everything()).not.toContain(machine.password);
  });

  test("/sudo: a ticket is alive after a password, with its end, until it is dropped", async () => {
    await forget();
    expect(await sudoState(target)).toEqual({ kind: "none" });
    await target.shell.run("sudo true", { password: give(machine.password) });
    const state = await sudoState(target);
    expect(state).toMatchObject({ kind: "alive", renews: false });
    const left = (state as { leftMs?: number }).leftMs ?? 0;
    expect(left).toBeGreaterThan(10 * 60_000);
    expect(left).toBeLessThanOrEqual(15 * 60_000);
    const judged = judgeShell("sudo -n ls /root", { ...RULES, autoApprove: "operator" });
    expect(judged.verdict.kind).toBe("allow");
    expect(
      await unaskedRun(target, "sudo -n ls /root", judged, "/", "off", AbortSignal.timeout(10_000)),
    ).toHaveProperty("ask");
    await dropSudo(target);
    expect(await sudoState(target)).toEqual({ kind: "none" });
  });

  test("files as root: one password for several steps, and nothing left behind", async () => {
    await forget();
    asked = [];
    const files = target.files.asRoot({ password: give(machine.password) });
    machine.run("umask 077; echo secret-of-root >/etc/root-only");
    expect((await files.read("/etc/root-only")).text).toBe("secret-of-root\n");
    await files.write("/etc/root-only", Buffer.alloc(100_000, "z"));
    expect(machine.run("stat -c '%U %a %s' /etc/root-only")).toBe("root 600 100000\n");
    expect(asked).toHaveLength(1);
    expect(machine.run("ls -A /dev/shm /run/user/* 2>/dev/null | grep -c '^.buddy-' || :")).toBe("0\n");
    expect(everything()).not.toContain("secret-of-root");
    if (tmux === "required") return;
    await forget();
    await expect(target.files.asRoot({ password: give("no", "no", "no") }).read("/etc/shadow")).rejects.toThrow(
      "sudo did not get the right password",
    );
  });
});
