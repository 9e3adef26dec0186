/**
 * What a soak works in: a home, working directories, machines behind sshd, a container, MCP servers, a small disk; all
 * gone afterwards.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quote } from "../../src/lib/quote.ts";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { sandbox, type Sandbox } from "../support/buddy.ts";
import { type Container, containerTarget } from "../support/container.ts";
import { endTmuxIn } from "../support/end-tmux.ts";
import { type Machines, machines } from "../support/machines.ts";
import { missing, type Need } from "../support/needs.ts";
import { SECRETS } from "../support/planted-secrets.ts";
import { type Proxy, proxyTo } from "../support/tcp-proxy.ts";
import { sshdProgram } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { SERVERS } from "./answers.ts";
import { processesOf } from "./processes-of.ts";

export interface World extends AsyncDisposable {
  readonly box: Sandbox;
  /** Several buddies share each of them. */
  readonly directories: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Arguments with which a buddy has MCP servers, most of them bad. */
  readonly withServers: readonly string[];
  /** What cannot be had here, and why. */
  readonly skipped: readonly string[];
  readonly has: { readonly tmux: boolean };
  readonly fleet?: Fleet;
  readonly container?: Container;
  readonly smallDisk?: SmallDisk;
}

export interface Fleet {
  readonly machines: Machines;
  readonly names: readonly string[];
  /** In front of the machine that misbehaves, which is the last one. */
  readonly proxy: Proxy;
  readonly dir: string;
  /** Ends the connections that stand; the listener stays. */
  drop(): void;
  /** Ends the server with its connections, and starts it again. */
  restart(): Promise<void>;
}

export interface SmallDisk {
  readonly path: string;
  fill(): void;
  free(): void;
}

const CONFIG = ".config/buddy/buddy.toml";
const FLEET = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"];
/** In files and variables that a model may ask for; nothing of it may reach the model or stay on the disk. */
export const PLANTED = [SECRETS.awsSecret, SECRETS.github, SECRETS.plain];

export async function startWorld(): Promise<World> {
  const box = sandbox();
  const skipped: string[] = [];
  const works = async (...needs: Need[]): Promise<boolean> => {
    const reasons = (await Promise.all(needs.map(missing))).filter((why) => why !== undefined);
    skipped.push(...reasons);
    return reasons.length === 0;
  };
  const directories = ["a", "b", "c"].map((name) => join(box.dir, "work", name));
  for (const path of [...directories, join(box.dir, "run"), join(box.dir, "tmp")])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const has = { tmux: await works("tmux") };
  const fleet = (await works("sshd")) ? await startFleet(box) : undefined;
  const container = (await works("podman"))
    ? await containerTarget({ image: has.tmux ? "tmux" : "busybox" })
    : undefined;
  const withServers = ["--config", writeHome(box)];
  const smallDisk = (await works("linux", "root", "namespaces")) ? mountSmallDisk(box) : undefined;
  const first = (path: string | undefined) => path?.split(":")[0] ?? [];
  const path = [first(container?.env["PATH"]), first(fleet?.machines.env.PATH), process.env["PATH"] ?? ""].flat();
  return {
    box,
    directories,
    withServers,
    skipped: [...new Set(skipped)],
    has,
    ...(fleet === undefined ? {} : { fleet }),
    ...(container === undefined ? {} : { container }),
    ...(smallDisk === undefined ? {} : { smallDisk }),
    env: {
      ...box.env,
      PATH: path.join(":"),
      TMPDIR: join(box.dir, "tmp"),
      XDG_RUNTIME_DIR: join(box.dir, "run"),
      BUDDY_API_KEY: SECRETS.plain,
    },
    async [Symbol.asyncDispose]() {
      await fleet?.proxy[Symbol.asyncDispose]();
      await container?.[Symbol.asyncDispose]();
      if (smallDisk !== undefined) Bun.spawnSync(["umount", "-l", smallDisk.path], { stderr: "ignore" });
      endTmuxIn(box.dir);
      for (const name of fleet?.names ?? []) endTmuxIn(join(fleet?.machines.server.sockets ?? "", name));
      // What a violated property left behind must not stay on this machine.
      for (const { pid } of processesOf([box.dir])) if (pid !== process.pid) end(pid);
      box[Symbol.dispose]();
    },
  };
}

/** Returns the configuration that has MCP servers, too. */
function writeHome(box: Sandbox): string {
  const profile = `[agent]\nmodel = "soak"\n[models.soak]\napi_base_url = "http://127.0.0.1:9/v1"\nmodel = "gpt-4o"\n`;
  const plain = `${profile}[tmux]\nsocket = "soak"\n`;
  const program = [process.execPath, join(import.meta.dir, "../support/mcp-server.ts")];
  const servers = SERVERS.map(
    (name) => `[mcp.${name}]\ncommand = ${JSON.stringify([...program, name])}\ntimeout = "2s"\n`,
  );
  box.write(`home/${CONFIG}`, plain, 0o600);
  box.write("home/.aws/credentials", `[default]\naws_secret_access_key = ${SECRETS.awsSecret}\n`, 0o600);
  box.write("home/token.env", `GITHUB_TOKEN=${SECRETS.github}\n`, 0o600);
  return box.write("home/with-servers.toml", plain + servers.join(""), 0o600);
}

async function startFleet(box: Sandbox): Promise<Fleet> {
  const all = await machines(FLEET);
  const { server } = all;
  const last = FLEET.at(-1) as string;
  const proxy = await proxyTo(server.port);
  server.configure(`Host ${last}\n  Port ${proxy.port}`);
  mkdirSync(join(box.home, ".ssh"), { mode: 0o700 });
  writeFileSync(join(box.home, ".ssh/config"), `Host ${FLEET.join(" ")}\n  HostName 127.0.0.1\n`);
  const pidFile = join(server.dir, "sshd.pid");
  const readPid = () => Number(readFileSync(pidFile, "utf8"));
  let pid = readPid();
  let restarted = Promise.resolve();
  const drop = () => {
    for (const { pid: child } of processesOf([]).filter(({ parent }) => parent === pid)) end(child);
  };
  const restart = async () => {
    drop();
    end(pid);
    rmSync(pidFile);
    const argv = [sshdProgram(), "-f", join(server.dir, "sshd_config"), "-E", join(server.dir, "sshd.log")];
    await until(() => Bun.spawnSync(argv).exitCode === 0, "sshd starts again");
    pid = await until(readPid, "sshd writes its pid");
  };
  return {
    machines: all,
    names: FLEET,
    proxy,
    dir: server.dir,
    drop,
    // Two steps may do it at the same moment.
    restart: () => (restarted = restarted.then(restart)),
  };
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself meanwhile.
  }
}

/** 4 MB for a home and a working directory. */
function mountSmallDisk(box: Sandbox): SmallDisk {
  const path = join(box.dir, "small");
  mkdirSync(path);
  const mount = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", path]);
  if (mount.exitCode !== 0) throw new Error(`tmpfs: ${mount.stderr.toString()}`);
  exitCleanup().onDeath(`umount -l ${quote(path)}`);
  for (const name of ["home/.config/buddy", "cwd"]) mkdirSync(join(path, name), { recursive: true });
  copyFileSync(join(box.home, CONFIG), join(path, "home", CONFIG));
  const filler = join(path, "filler");
  return {
    path,
    fill: () => void Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=4k"], { stderr: "ignore" }),
    free: () => rmSync(filler, { force: true }),
  };
}
