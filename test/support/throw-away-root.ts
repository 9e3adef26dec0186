/**
 * Runs shell texts as an unprivileged user in a root that is thrown away, without a network, and reports whatever they
 * did beyond reading: files changed, system calls that change something, programs by other names, connections. Linux
 * with strace.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Trial {
  readonly text: string;
  /** How it is run: a program by its path and arguments; the text comes last. */
  readonly shell: readonly string[];
  /** Names of programs it may start. */
  readonly programs: ReadonlySet<string>;
}

export interface Effect {
  readonly text: string;
  /** A changed file, or a system call as strace wrote it. */
  readonly seen: string;
}

/** Fills the directory that the texts run in. */
export type Furnish = (directory: string) => void;

/** Every effect of these texts. Who changed a file is found by running the suspects again, in smaller chunks. */
export function effectsOf(trials: readonly Trial[], furnish: Furnish): Effect[] {
  const { effects, changed } = inRoot(trials, furnish, CHUNK);
  let suspects = trials;
  let found = changed;
  for (let size = CHUNK; size > 1 && found.size > 0;) {
    const before = found;
    suspects = suspects.filter((_, index) => before.has(Math.floor(index / size)));
    size = Math.ceil(size / 16);
    found = inRoot(suspects, furnish, size).changed;
    if (found.size === 0) throw new Error(`files changed, but not again: ${[...before.values()].join("\n")}`);
  }
  return [...effects, ...[...found].map(([index, seen]) => ({ text: suspects[index]?.text ?? "", seen }))];
}

/** Texts between two looks at the files. */
const CHUNK = 250;

/** `changed`: what changed in which chunk. */
function inRoot(
  trials: readonly Trial[],
  furnish: Furnish,
  chunk: number,
): { effects: Effect[]; changed: ReadonlyMap<number, string> } {
  const directory = mkdtempSync(join(tmpdir(), "buddy-root-"));
  try {
    for (const name of ["home/world", "texts", "files"]) mkdirSync(join(directory, name), { recursive: true });
    furnish(join(directory, "home/world"));
    for (const [index, { text, shell }] of trials.entries())
      writeFileSync(join(directory, "texts", `${index}`), `${shell.join("\n")}\0${text}\0`);
    writeFileSync(join(directory, "setup"), SETUP);
    writeFileSync(join(directory, "texts", "driver"), DRIVER);
    const own = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const argv = ["unshare", ...own, "-m", "-n", "-p", "-i", "--fork", "--kill-child"];
    const { stderr } = Bun.spawnSync(
      [...argv, "sh", join(directory, "setup"), directory, `${trials.length}`, `${chunk}`],
      {
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        stdin: "ignore",
      },
    );
    const file = Bun.file(join(directory, "done"));
    if (file.size === 0) throw new Error(`the throw-away root did not work: ${stderr.toString().slice(0, 2_000)}`);
    return {
      effects: readTrace(readFileSync(join(directory, "trace"), "utf8"), trials),
      changed: changes(directory, Math.ceil(trials.length / chunk)),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const WORLD = "/home/reader/world";

/** Calls that change something, start something or reach something. Files opened to be written show in the overlay. */
const CALLS =
  "execve,execveat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,mkdirat,rmdir,chmod,fchmod," +
  "fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,utimensat,utime,utimes,futimesat,setxattr,lsetxattr,fsetxattr,removexattr," +
  "lremovexattr,fremovexattr,mknod,mknodat,connect,bind,kill,tkill,tgkill,mount,umount2,sethostname,settimeofday,clock_settime,adjtimex," +
  "ptrace,setpriority,sched_setaffinity,sched_setscheduler,sched_setattr,ioprio_set,prlimit64,msgctl,semctl,mq_open," +
  "mq_unlink,sendto,sendmsg,sendmmsg,pidfd_send_signal,add_key,keyctl,swapon,swapoff,init_module,finit_module,delete_module,reboot";

/**
 * In namespaces of its own, as their root: an overlay of the whole machine whose changes live in memory. The user that
 * the texts run as has no rights but owns every file there, so that an attempt to change one succeeds and is seen.
 */
// Whatever is made in /tmp and removed again shows in the trace, so the times of that directory say nothing more; tac
// and diff of busybox make a file there for a pipe, and it stays when time is up.
const SETUP = `set -e
mount --make-rprivate /
mkdir "$1/mem" && mount -t tmpfs memory "$1/mem"
mkdir "$1/mem/upper" "$1/mem/work" "$1/mem/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/mem/upper,workdir=$1/mem/work" "$1/mem/root"
root=$1/mem/root
mount -t proc proc "$root/proc"
for place in tmp var/tmp dev run; do mkdir -p "$root/$place"; mount -t tmpfs memory "$root/$place"; chmod 1777 "$root/$place"; done
mkdir -m 700 "$root/tmp/tmux-65534" && mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/texts"
cp "$1"/texts/* "$root/dev/texts/"
for device in null zero full random urandom tty; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
ln -s /proc/self/fd "$root/dev/fd"; ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"; ln -s /proc/self/fd/2 "$root/dev/stderr"
mkdir -p "$root/home" && cp -R "$1/home" "$root/home/reader"
look() {
  for place in "$1/mem/upper" "$root/tmp" "$root/var/tmp" "$root/dev" "$root/run"; do
    find "$place" ! -path '*/__pycache__*' ! -path "$root/dev/pts/*" ! -path "$root/tmp" ! -path "$root/tmp/tac??????" ! -path "$root/tmp/dif??????" -printf '%p %y %s %i %m %C@\\n'
  done > "$1/files/$2"
}
look "$1" before
first=0
while [ "$first" -lt "$2" ]; do
  strace -f -qq --seccomp-bpf -s 200 -A -o "$1/trace" -e signal=none -e trace=${CALLS} \\
    unshare --user --map-user=65534 --map-group=65534 --keep-caps --pid --fork chroot "$root" \\
    setpriv --ambient-caps=-all --inh-caps=-all --no-new-privs env -i HOME=/home/reader USER=reader PATH="$PATH" TERM=dumb LANG=C.UTF-8 PAGER=cat GIT_PAGER=cat SYSTEMD_PAGER=cat \\
    GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.autoRefreshIndex GIT_CONFIG_VALUE_0=false python3 -I -S /dev/texts/driver "$first" "$(( first + $3 < $2 ? first + $3 : $2 ))"
  look "$1" "$(( first / $3 ))"
  first=$(( first + $3 ))
done
echo done > "$1/done"
`;

/**
 * Signal 0 to a process that cannot be there marks in the trace which text runs next. An alarm survives exec. The
 * driver is the first process of its namespace: what a text leaves behind ends before the next one starts.
 */
const MARK = 5_000_000;
const DRIVER = `import os, signal, sys
os.chdir("${WORLD}")
nothing = os.open("/dev/null", os.O_RDWR)
for index in range(int(sys.argv[1]), int(sys.argv[2])):
    with open("/dev/texts/%d" % index, "rb") as file:
        shell, text, _ = file.read().split(b"\\0")
    try:
        os.kill(${MARK} + index, 0)
    except OSError:
        pass
    child = os.fork()
    if child == 0:
        os.setsid()
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)
        signal.alarm(2)
        words = shell.split(b"\\n")
        os.execv(words[0], words + [text])
    os.waitpid(child, 0)
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait()
    except OSError:
        pass
try:
    os.kill(${MARK} - 1, 0)
except OSError:
    pass
`;

function changes(directory: string, chunks: number): Map<number, string> {
  const look = (name: string) => readFileSync(join(directory, "files", name), "utf8").split("\n");
  let before = new Set(look("before"));
  const changed = new Map<number, string>();
  for (let index = 0; index < chunks; index++) {
    const now = look(`${index}`);
    const different = now.filter((line) => !before.has(line));
    if (different.length > 0 || now.length !== before.size)
      changed.set(index, different.slice(0, 3).join("\n").replaceAll(directory, "") || "a file is gone");
    before = new Set(now);
  }
  return changed;
}

function readTrace(trace: string, trials: readonly Trial[]): Effect[] {
  const effects: Effect[] = [];
  let trial: Trial | undefined;
  let driver: string | undefined;
  /** The next program is the shell that runs the text. */
  let shell = false;
  for (const line of wholeCalls(trace)) {
    const match = /^(\d+) +(\w+)\((.*)$/.exec(line);
    if (match === null) continue;
    const [, pid = "", call = "", rest = ""] = match;
    const mark = call === "kill" ? /^(\d{7}), 0\b/.exec(rest) : null;
    if (mark !== null) {
      trial = trials[Number(mark[1]) - MARK];
      driver = pid;
      shell = true;
    } else if (trial === undefined || pid === driver) continue;
    else if (call !== "execve") {
      if (isEffect(call, rest) && !(call === "kill" && trial.programs.has("timeout")))
        effects.push({ text: trial.text, seen: line });
    } else if (!rest.includes(" = -1 ")) {
      // busybox starts itself, under the name of the applet.
      const [, file = "", name = ""] = /^"([^"]*)", \["([^"]*)"/.exec(rest) ?? [];
      const started = (file === "/proc/self/exe" ? name : file).replace(/^.*\//, "");
      if (!shell && !trial.programs.has(started)) effects.push({ text: trial.text, seen: line });
      shell = false;
    }
  }
  return effects;
}

/** strace splits a call during which another process makes one; a call that its process did not survive stays open. */
function wholeCalls(trace: string): string[] {
  const lines = trace.split("\n");
  const open = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    const pid = /^\d+/.exec(line)?.[0] ?? "";
    if (line.endsWith(UNFINISHED)) open.set(pid, index);
    const end = /^\d+ +<\.\.\. \w+ resumed>(.*)$/.exec(line)?.[1];
    const start = open.get(pid);
    if (end === undefined || start === undefined) continue;
    lines[start] = (lines[start] ?? "").slice(0, -UNFINISHED.length) + end;
    open.delete(pid);
  }
  return lines;
}
const UNFINISHED = " <unfinished ...>";

function isEffect(call: string, rest: string): boolean {
  switch (call) {
    case "connect":
      return !/AF_NETLINK|sun_path="\/(?:dev\/log|tmp\/tmux-|(?:var\/)?run\/(?:nscd\/socket|systemd\/|dbus\/|docker\.sock|udev\/))/.test(
        rest,
      );
    case "bind":
      // Python asks whether there is IPv6.
      return !/AF_NETLINK|sin6_port=htons\(0\).*"::1"/.test(rest);
    case "unlink":
      // tac, and diff of busybox, keep what they read from a pipe in a file of their own for a moment.
      return !/^"\/tmp\/(?:tac|dif)\w{6}"/.test(rest);
    case "setpriority":
      return !rest.startsWith("PRIO_PROCESS, 0,");
    case "kill":
    case "tkill":
    case "tgkill":
      // Signal 0 only asks, abort() signals itself, Go its own threads, and xz ends itself by the signal that stopped
      // it.
      return !/, (?:0|SIGABRT|SIGURG|SIGPIPE)(?:\)|$| <)/.test(rest);
    case "mkdir":
      // tmux makes the directory of its sockets sure.
      return !/^"\/tmp\/tmux-\d+"/.test(rest);
    case "prlimit64":
      return !/^0, |^\d+, \w+, NULL,/.test(rest);
    case "sched_setscheduler":
    case "sched_setattr":
      return !rest.startsWith("0,");
    case "sendto":
    case "sendmsg":
    case "sendmmsg":
      return /sa_family=AF_INET/.test(rest);
    case "msgctl":
    case "semctl":
      return /IPC_RMID|IPC_SET|SETVAL|SETALL/.test(rest);
    default:
      return true;
  }
}
