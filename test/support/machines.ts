/** Several machines on one sshd: each a Host of its own with its own key, home directory and content. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { type SshServer, sshdWith } from "./sshd.ts";

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
  const sockets = (name: string): string => join(server.dir, "sockets", name);
  exitCleanup().onDeath(`for s in ${server.dir}/sockets/*/*/*; do tmux -S "$s" kill-server; done`);
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
