/** The programs that tests work with: installed where that is allowed, named where they are missing. */
import { existsSync } from "node:fs";

/** Program (or file) to look for, and the packages that bring it; no brew name: the tests that need it do not run on macOS. */
const PROGRAMS: readonly { program: string; apt: string; brew?: string }[] = [
  { program: "tmux", apt: "tmux", brew: "tmux" },
  { program: "bash", apt: "bash", brew: "bash" },
  { program: "zsh", apt: "zsh", brew: "zsh" },
  { program: "fish", apt: "fish", brew: "fish" },
  { program: "dash", apt: "dash", brew: "dash" },
  { program: "mksh", apt: "mksh", brew: "mksh" },
  { program: "busybox", apt: "busybox-static" },
  { program: "git", apt: "git", brew: "git" },
  { program: "jq", apt: "jq", brew: "jq" },
  { program: "patch", apt: "patch" },
  { program: "asciinema", apt: "asciinema", brew: "asciinema" },
  { program: "ssh", apt: "openssh-client", brew: "openssh" },
  { program: "sshd", apt: "openssh-server", brew: "openssh" },
  { program: "podman", apt: "podman" },
  { program: "runc", apt: "runc" },
  { program: "vim", apt: "vim-tiny", brew: "vim" },
  { program: "less", apt: "less", brew: "less" },
  { program: "python3", apt: "python3", brew: "python3" },
  { program: "strace", apt: "strace" },
  { program: "ip", apt: "iproute2" },
  { program: "unshare", apt: "util-linux" },
  { program: "nft", apt: "nftables" },
  { program: "setfattr", apt: "attr" },
  { program: "setfacl", apt: "acl" },
  { program: "chattr", apt: "e2fsprogs" },
  { program: "sudo", apt: "sudo" },
  { program: "ansible-inventory", apt: "ansible-core" },
  { program: "nginx", apt: "nginx-light" },
  { program: "ps", apt: "procps" },
  { program: "gawk", apt: "gawk", brew: "gawk" },
  { program: "tree", apt: "tree", brew: "tree" },
  { program: "xxd", apt: "xxd" },
  { program: "qemu-aarch64-static", apt: "qemu-user-static" },
  { program: "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", apt: "libc6-arm64-cross" },
  { program: "cc", apt: "gcc", brew: "gcc" },
  { program: "/usr/include/dlfcn.h", apt: "libc6-dev" },
  { program: "musl-gcc", apt: "musl-tools" },
  { program: "chromium", apt: "chromium" },
  { program: "curl", apt: "curl", brew: "curl" },
  { program: "wget", apt: "wget", brew: "wget" },
  { program: "zstd", apt: "zstd", brew: "zstd" },
  { program: "openssl", apt: "openssl", brew: "openssl" },
  { program: "rpm", apt: "rpm" },
  { program: "ruby", apt: "ruby" },
  { program: "man", apt: "man-db" },
  { program: "shellcheck", apt: "shellcheck", brew: "shellcheck" },
];

/** Installs what is missing as root with apt, or with brew; returns the programs that are still missing. */
export function installSystemPackages(): string[] {
  const wanted = PROGRAMS.filter(({ program }) => !present(program));
  if (wanted.length === 0) return [];
  if (process.platform === "linux" && process.getuid?.() === 0 && Bun.which("apt-get")) {
    const packages = wanted.map(({ apt }) => apt);
    console.log(`installing with apt: ${packages.join(" ")}`);
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawn(["apt-get", "update", "-qq"], env);
    // One by one after a failed joint attempt: a name that this release does not know must not cost the others.
    if (!spawn(["apt-get", "install", "-qq", "-y", "--no-install-recommends", ...packages], env)) {
      for (const name of packages) spawn(["apt-get", "install", "-qq", "-y", "--no-install-recommends", name], env);
    }
  } else if (process.platform === "darwin" && Bun.which("brew")) {
    const packages = wanted.flatMap(({ brew }) => (brew === undefined ? [] : [brew]));
    if (packages.length > 0) spawn(["brew", "install", "--quiet", ...packages], process.env);
  }
  return wanted.map(({ program }) => program).filter((program) => !present(program));
}

function present(program: string): boolean {
  const path = `${process.env.PATH ?? ""}:/usr/sbin:/sbin:/usr/local/sbin`;
  if (program === "vim") return ["vim", "vim.tiny", "vi"].some((name) => Bun.which(name, { PATH: path }) !== null);
  const found = program.startsWith("/") ? existsSync(program) : Bun.which(program, { PATH: path }) !== null;
  return found && (program !== "busybox" || isStatic(program));
}

/** The package busybox has one that needs libraries: in the small roots of tests there are none. */
export function isStatic(program: string): boolean {
  const ldd = Bun.which("ldd");
  return ldd === null || !Bun.spawnSync([ldd, Bun.which(program) ?? program]).stdout.includes("=>");
}

function spawn(command: string[], env: Record<string, string | undefined>): boolean {
  return Bun.spawnSync(command, { env, stdio: ["ignore", "ignore", "inherit"] }).exitCode === 0;
}
