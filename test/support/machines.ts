/** Several machines on one sshd: each a Host of its own with its own key, home directory and content. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { freePort, removeSshFiles, type SshFiles, sshFiles, sshdProgram, type SshServer, sshdWith } from "./sshd.ts";
import { until } from "./until.ts";

export interface Machines {
  readonly server: SshServer;
  readonly names: readonly string[];
  readonly env: { readonly PATH: string; readonly HOME: string };
  /** Its home directory. */
  home(name: string): string;
}

/** `web01` … and so on; each finds its own name in $MACHINE and in ~/name. */
export async function machines(names: readonly string[]): Promise<Machines> {
  const server = await sshdWith("MaxSessions 20\nMaxStartups 500");
  const home = (name: string): string => join(server.dir, "homes", name);
  const sockets = (name: string): string => join(server.sockets, name);
  const authorized = join(server.dir, "authorized_keys");
  const lines: string[] = [];
  const hosts: string[] = [];
  for (const name of names) {
    const path = server.key(`key-${name}`, { accept: false });
    mkdirSync(home(name), { recursive: true });
    mkdirSync(sockets(name), { recursive: true, mode: 0o700 });
    writeFileSync(join(home(name), "name"), `${name}\n`);
    const environment = [
      `HOME=${home(name)}`,
      `MACHINE=${name}`,
      `PATH=${server.remoteBin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
      // A tmux server of its own: the environment of the first session would be that of all.
      `TMUX_TMPDIR=${sockets(name)}`,
      // See needs.ts.
      "FISH_UNIT_TESTS_RUNNING=1",
    ].map((one) => `environment="${one}"`);
    lines.push(`${environment.join(",")} ${readFileSync(`${path}.pub`, "utf8")}`);
    hosts.push(`Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${path}`);
  }
  writeFileSync(authorized, lines.join(""), { flag: "a" });
  server.configure(hosts.join("\n"));
  // Where names are looked up, too: --on reads the user's own configuration.
  mkdirSync(join(server.env.HOME, ".ssh"), { recursive: true, mode: 0o700 });
  writeFileSync(join(server.env.HOME, ".ssh", "config"), hosts.join("\n"));
  return { server, names, env: server.env, home };
}

/** One port on many loopback addresses; `identity` is the key they accept. Ends with the process. */
export async function sshdAddresses(
  addresses: readonly string[],
): Promise<
  Pick<SshFiles, "dir" | "env" | "configure" | "remoteHome"> & { readonly port: number; readonly identity: string }
> {
  const port = await freePort();
  const files = sshFiles({
    address: "127.0.0.1",
    port,
    names: ["lab"],
    listen: [],
    lines: "MaxStartups 1000\nMaxSessions 20\nLogLevel ERROR",
  });
  const all = ["127.0.0.1", ...addresses];
  for (let at = 0; at < all.length; at += MOST_LISTENED) {
    const pidFile = join(files.dir, `sshd-${at}.pid`);
    const listen = all.slice(at, at + MOST_LISTENED).flatMap((address) => ["-o", `ListenAddress=${address}`]);
    Bun.spawnSync([sshdProgram(), "-f", files.sshdConfig, "-o", `PidFile=${pidFile}`, ...listen], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const pid = Number(await until(() => readFileSync(pidFile, "utf8").trim(), "sshd writes its pid"));
    exitCleanup().onDeath(`kill ${pid}`);
  }
  exitCleanup().onDeath(removeSshFiles(files));
  return { ...files, port, identity: join(files.dir, "id") };
}

/** An sshd takes no more addresses than this. */
const MOST_LISTENED = 16;
