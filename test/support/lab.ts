/**
 * Machines for trying things out, each with its own network, host name and mounts: `bun test/support/lab.ts [NAME…]`.
 * Linux and root only: network and mount namespaces, a veth pair, an sshd. For tests `startMachine`, for people the
 * table.
 */
import { createInterface } from "node:readline";
import { within } from "../../src/lib/waiting.ts";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { removeSshFiles, sshdProgram, type SshFiles, sshFiles } from "./sshd.ts";
import { until } from "./until.ts";

export interface MachineOptions {
  /** Its host name, and what ssh calls it. */
  readonly name: string;
  /** Lines for its sshd_config. */
  readonly sshd?: string;
  /** sh that prepares it, with its own mounts: /mnt is there to mount something on. */
  readonly prepare?: string;
}

export interface Machine extends SshFiles, AsyncDisposable {
  readonly name: string;
  readonly address: string;
  /** Takes its network cable out, or puts it back. */
  link(up: boolean): void;
  /** Runs sh on it, without ssh. */
  run(script: string): string;
}

interface Described extends Omit<MachineOptions, "name"> {
  readonly about: string;
}

/** Awkward machines by name. */
export const MACHINES: Readonly<Record<string, Described>> = {
  plain: { about: "an ordinary machine" },
  "two-sessions": { about: "an sshd that allows two sessions on a connection", sshd: "MaxSessions 2" },
  "one-session": { about: "an sshd that allows one session on a connection", sshd: "MaxSessions 1" },
  "forced-command": { about: "an sshd that runs its own command", sshd: "ForceCommand echo only backups here" },
  "no-terminal": { about: "an sshd without terminals", sshd: "PermitTTY no" },
  "small-disk": { about: "/mnt is a file system of 64 KiB", prepare: "mount -t tmpfs -o size=64k tmpfs /mnt" },
  "full-tmp": {
    about: "/tmp is full",
    prepare:
      "mount -t tmpfs -o size=16k,mode=1777 tmpfs /mnt; head -c 16384 /dev/zero >/mnt/full; mount --bind /mnt /tmp",
  },
  "read-only-tmp": { about: "/tmp is read-only", prepare: "mount --bind /mnt /tmp; mount -o remount,bind,ro /tmp" },
};

let count = 0;

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { name, prepare = ":" } = options;
  const net = `10.${200 + Math.floor(Math.random() * 50)}.${Math.floor(Math.random() * 250)}`;
  const address = `${net}.2`;
  const [near, far] = [`bl${process.pid % 100_000}a${count}`, `bl${process.pid % 100_000}b${count++}`];
  // Not in /tmp, which some machines hide.
  const files = sshFiles({
    address,
    port: 22,
    names: [name],
    listen: [address],
    below: "/var/tmp",
    lines: options.sshd ?? "",
  });
  // It shares the files of this machine, and has mounts of its own.
  const setUp = `set -e
mount --make-rprivate /
hostname ${name}
ip link set lo up
${prepare}
echo ready
read -r go
exec ${sshdProgram()} -D -f ${files.sshdConfig} -E ${files.dir}/sshd.log`;
  const child = Bun.spawn(["unshare", "--net", "--mount", "--uts", "sh", "-c", setUp], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const letGo = exitCleanup().onDeath(`kill ${child.pid}; ip link del ${near}; ${removeSshFiles(files)}`);
  // -r: from within a chroot the mounts alone would lead to the files of the machine around it.
  const inside = ["nsenter", "-t", String(child.pid), "-n", "-m", "-r", "-u", "env", "HOME=/root"];
  const machine: Machine = {
    ...files,
    name,
    address,
    link: (up) => void sh(["ip", "link", "set", near, up ? "up" : "down"]),
    run: (script) => sh([...inside, "sh", "-c", script]),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      Bun.spawnSync(["ip", "link", "del", near], { stderr: "ignore" });
      sh(["sh", "-c", `${removeSshFiles(files)}; :`]);
      letGo();
    },
  };
  try {
    const { value } = await child.stdout.getReader().read();
    if (value === undefined) throw new Error(`${name}: ${await child.stderr.text()}`);
    sh(["ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", String(child.pid)]);
    sh(["ip", "addr", "add", `${net}.1/30`, "dev", near]);
    machine.link(true);
    sh([...inside, "sh", "-c", `ip addr add ${address}/30 dev ${far} && ip link set ${far} up`]);
    void child.stdin.write("go\n");
    void child.stdin.flush();
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${name} does not start: ${await child.stderr.text()}`);
      return await greets(address);
    }, `${name} listens`);
    return machine;
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
}

/** Whether an sshd answers: some networks take every connection. */
async function greets(host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const answer = { data: (_: unknown, bytes: Buffer) => resolve(bytes.toString().startsWith("SSH-")) };
  try {
    const socket = await Bun.connect({ hostname: host, port: 22, socket: { ...answer, close: () => resolve(false) } });
    const greeted = (await within(promise, 500)) ?? false;
    socket.end();
    return greeted;
  } catch {
    return false;
  }
}

function sh(argv: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...argv], { stdin: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

async function main(names: readonly string[]): Promise<void> {
  if (names.length === 0 || names.some((name) => MACHINES[name] === undefined)) {
    console.log("usage: bun test/support/lab.ts NAME…\n");
    for (const [name, { about }] of Object.entries(MACHINES)) console.log(`  ${name.padEnd(16)} ${about}`);
    process.exitCode = names.length === 0 ? 0 : 2;
    return;
  }
  const machines = new Map<string, Machine>();
  for (const name of names) {
    const machine = await startMachine({ name, ...MACHINES[name] });
    machines.set(name, machine);
    console.log(`${name}: PATH=${machine.env.PATH.split(":")[0]}:$PATH buddy --ssh ${name}`);
  }
  console.log("down NAME and up NAME pull its cable and put it back; Ctrl-D ends all");
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb = "", name = ""] = line.trim().split(/\s+/);
    const machine = machines.get(name);
    if (machine === undefined || (verb !== "up" && verb !== "down")) console.log("down NAME or up NAME");
    else machine.link(verb === "up");
  }
  for (const machine of machines.values()) await machine[Symbol.asyncDispose]();
}

if (import.meta.main) await main(process.argv.slice(2));
