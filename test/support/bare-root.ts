/** Directory trees that hold next to nothing, and the binary run in one as if it were the machine. Linux only. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface BareRoot extends Disposable {
  readonly dir: string;
  /** Copies a file to the same path inside, or to `to`. */
  add(path: string, to?: string): void;
  /** Copies programs of this machine with the libraries they are linked to. */
  addProgram(...paths: string[]): void;
  /** Runs it inside, with this environment and nothing else. Whatever it left running ends with it. */
  run(argv: readonly string[], options?: BareOptions): Promise<{ code: number; stdout: string; stderr: string }>;
}

export interface BareOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Nothing but /tmp can be written. */
  readonly readOnly?: boolean;
}

/** With a static busybox in /bin, /tmp, and the places where the kernel's /proc and /dev/null go; nothing else. */
export function bareRoot(): BareRoot {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bare-")));
  for (const name of ["bin", "tmp", "proc", "dev"]) mkdirSync(join(dir, name));
  chmodSync(join(dir, "tmp"), 0o1777);
  const busybox = which("busybox");
  copyFileSync(busybox, join(dir, "bin/busybox"));
  const applets = Bun.spawnSync([busybox, "--list"]).stdout.toString().trim().split("\n");
  for (const applet of applets) if (applet !== "busybox") symlinkSync("busybox", join(dir, "bin", applet));
  const add = (path: string, to = path) => {
    mkdirSync(dirname(join(dir, to)), { recursive: true });
    rmSync(join(dir, to), { force: true });
    copyFileSync(realpathSync(path), join(dir, to));
  };
  return {
    dir,
    add,
    addProgram(...paths) {
      for (const path of paths) {
        add(path);
        const linked = Bun.spawnSync(["ldd", path]).stdout.toString();
        for (const [library] of linked.matchAll(/\/\S+/g)) if (!existsSync(join(dir, library))) add(library);
      }
    },
    async run(argv, { env = {}, readOnly = false } = {}) {
      const chroot = which("chroot");
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      const inside = ["env", "-i", ...variables, chroot, dir, ...argv];
      // Mounts and processes live in namespaces of their own, which end with the first process in them.
      const unshare = [which("unshare"), "-m", "-p", "--fork", "--kill-child"];
      if (process.getuid?.() !== 0) unshare.push("-r");
      const child = Bun.spawn([...unshare, "sh", "-euc", ENTER, "enter", dir, readOnly ? "ro" : "rw", ...inside], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return { code, stdout, stderr };
    },
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}

// The shell stays, as the first process: that one is not ended by signals it does not handle, which is no machine's
// way.
const ENTER = `
root=$1 mode=$2; shift 2
mount --bind "$root" "$root"
[ "$mode" = rw ] || { mount -o remount,bind,ro "$root"; mount -t tmpfs tmpfs "$root/tmp"; }
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"; : >"$root/dev/null"; mount --bind /dev/null "$root/dev/null"
mkdir "$root/dev/pts"; mount -t devpts -o ptmxmode=0666 devpts "$root/dev/pts"; ln -s pts/ptmx "$root/dev/ptmx"
"$@"
`;

function which(name: string): string {
  const found = Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (found === null) throw new Error(`${name} is needed for this test`);
  return found;
}
