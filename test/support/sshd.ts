/** A private sshd on loopback with its own keys, and a client side (ssh wrapper, configuration, home) that knows it. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { END_TMUX } from "./end-tmux.ts";
import { until } from "./until.ts";

export interface SshServer {
  readonly port: number;
  /** Everything is below it; gone after the test run. */
  readonly dir: string;
  /** HOME of commands on the other side. */
  readonly remoteHome: string;
  /** First in PATH of commands on the other side. */
  readonly remoteBin: string;
  /** Where tmux servers of the other side have their sockets. */
  readonly sockets: string;
  /** PATH that finds an `ssh` with the configuration below, and a HOME. */
  readonly env: { readonly PATH: string; readonly HOME: string };
  /** Adds to the client's configuration; first come, first served, so it goes above what is there. */
  configure(text: string): void;
  /** Makes a key pair that the server accepts with these options (`command="…"`), and returns its path. */
  key(name: string, options?: { passphrase?: string; accept?: string | false }): string;
  /** Pids of the server's connections. */
  connections(): number[];
}

let server: Promise<SshServer> | undefined;

/**
 * One for the test process, started when first asked for, ended with the process. Hosts: `lab`; `jump` (through lab);
 * `stranger` (key not accepted); any 127.0.0.1:port, which reaches it through a proxy.
 */
export function sshd(): Promise<SshServer> {
  server ??= start();
  return server;
}

/**
 * What a journey needs: a host for --ssh and the environment for the binary. The server is shared: closing lets go of
 * it.
 */
export async function sshTarget(): Promise<{
  host: string;
  env: Record<string, string>;
  server: SshServer;
  close(): Promise<void>;
}> {
  const server = await sshd();
  return { host: "lab", env: { ...server.env }, server, close: () => Promise.resolve() };
}

/** The same for in-process tests: until disposed, this process finds that ssh. */
export async function useSshd(): Promise<SshServer & Disposable> {
  const server = await sshd();
  const before = process.env["PATH"];
  process.env["PATH"] = server.env.PATH;
  return { ...server, [Symbol.dispose]: () => void (process.env["PATH"] = before) };
}

/** A server of its own with further lines for sshd_config, e.g. `MaxSessions 1`; ends with the process. */
export function sshdWith(lines: string): Promise<SshServer> {
  return start(lines);
}

/** What a server and its clients need on disk: keys, both configurations, homes, and an `ssh` that knows them. */
export interface SshFiles extends Pick<
  SshServer,
  "dir" | "remoteHome" | "remoteBin" | "sockets" | "env" | "configure" | "key"
> {
  readonly sshdConfig: string;
}

export interface SshFilesOptions {
  /** Where clients find it, under these names. */
  readonly address: string;
  readonly port: number;
  readonly names: readonly string[];
  readonly listen: readonly string[];
  /** Where everything goes; the directory for temporary files by default. */
  readonly below?: string;
  /** Further lines for sshd_config; they come first, so they win. */
  readonly lines?: string;
}

export function sshFiles(options: SshFilesOptions): SshFiles {
  const { address, port, names, listen, below = tmpdir(), lines = "" } = options;
  const dir = realpathSync(mkdtempSync(join(below, "buddy-sshd-")));
  const [home, remoteHome, remoteBin, bin, sockets] = ["home", "it's $HOME é", "remote-bin", "bin", "tmux"].map(
    (name) => {
      const path = join(dir, name);
      mkdirSync(path, { mode: 0o700 });
      return path;
    },
  ) as [string, string, string, string, string];
  const keygen = (path: string, passphrase = "") =>
    ok(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "buddy-test", "-f", path]);
  keygen(join(dir, "host"));
  // The other side's HOME, PATH and tmux sockets stay inside: its shell start-up files are not the developer's.
  const environment = [
    `HOME=${remoteHome}`,
    `PATH=${remoteBin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
    `TMUX_TMPDIR=${sockets}`,
    // See needs.ts.
    "FISH_UNIT_TESTS_RUNNING=1",
  ].map((one) => `environment="${one}"`);
  const authorized = join(dir, "authorized_keys");
  writeFileSync(authorized, "");
  const key: SshServer["key"] = (name, { passphrase = "", accept = "" } = {}) => {
    const path = join(dir, name);
    keygen(path, passphrase);
    if (accept !== false) {
      const options = [...environment, ...(accept === "" ? [] : [accept])].join(",");
      writeFileSync(authorized, `${options} ${readFileSync(`${path}.pub`, "utf8")}`, { flag: "a" });
    }
    return path;
  };
  const mine = key("id");
  const stranger = key("stranger", { accept: false });
  const sshdConfig = join(dir, "sshd_config");
  writeFileSync(
    sshdConfig,
    `${lines}
Port ${port}
${listen.map((one) => `ListenAddress ${one}`).join("\n")}
HostKey ${dir}/host
PidFile ${dir}/sshd.pid
AuthorizedKeysFile ${authorized}
PermitUserEnvironment yes
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
PrintMotd no
PrintLastLog no
UseDNS no
Subsystem sftp internal-sftp
`,
  );
  const config = join(dir, "ssh_config");
  writeFileSync(
    config,
    `Host ${names.join(" ")} jump stranger
  HostName ${address}
  Port ${port}
Host jump
  ProxyJump ${names[0]}
Host stranger
  IdentityFile ${stranger}
Host ${names.join(" ")} jump busy 127.0.0.1 ::1
  IdentityFile ${mine}
Host *
  User ${userInfo().username === "unknown" ? "root" : userInfo().username}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ${dir}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking accept-new
`,
  );
  // ssh takes the home directory from the password file, not from HOME: the configuration has to be named.
  const ssh = Bun.which("ssh") ?? "/usr/bin/ssh";
  writeFileSync(join(bin, "ssh"), `#!/bin/sh\nexec ${ssh} -F ${config} "$@"\n`);
  chmodSync(join(bin, "ssh"), 0o755);
  // Only an sshd of root's changes its root into it.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  return {
    dir,
    remoteHome,
    remoteBin,
    sshdConfig,
    sockets,
    env: { PATH: `${bin}:${process.env["PATH"]}`, HOME: home },
    configure: (text) => writeFileSync(config, `${text}\n${readFileSync(config, "utf8")}`),
    key,
  };
}

/** Ends the tmux servers of the other side and removes everything; a line of sh. */
export function removeSshFiles({ dir, sockets }: SshFiles): string {
  return (
    `${END_TMUX}; find ${sockets} -type s | while read -r s; do end_tmux -S "$s"; done; ` +
    `grep -ls "^${sockets}/" /tmp/buddy-$(id -u)/*/servers | while read -r s; do s=\${s%/servers}; rm -rf "$s" "/dev/shm/\${s#/tmp/}"; done; ` +
    `rm -rf ${dir}; sleep 0.2; rm -rf ${dir}`
  );
}

async function start(lines = ""): Promise<SshServer> {
  const port = await freePort();
  const files = sshFiles({ address: "127.0.0.1", port, names: ["lab"], listen: ["127.0.0.1", "::1"], lines });
  const { dir } = files;
  ok([sshdProgram(), "-f", files.sshdConfig, "-E", join(dir, "sshd.log")]);
  const pid = Number(await until(() => readFileSync(join(dir, "sshd.pid"), "utf8").trim(), "sshd writes its pid"));
  // By its file: a test may have started it again.
  exitCleanup().onDeath(`kill "$(cat ${dir}/sshd.pid)"; ${removeSshFiles(files)}`);
  return { ...files, port, connections: () => childrenOf(pid) };
}

export function sshdProgram(): string {
  return Bun.which("sshd") ?? "/usr/sbin/sshd";
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(parent);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export async function freePort(): Promise<number> {
  const probe = net.createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  probe.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = probe.address() as net.AddressInfo;
  const closed = Promise.withResolvers<void>();
  probe.close(() => closed.resolve());
  await closed.promise;
  return port;
}

function ok(argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv[0]} failed (${exitCode}): ${stderr.toString()}`);
}
