/** Real containers for tests: podman with runc, images made from this machine's busybox (and its tmux and bash). */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import { until } from "./until.ts";

export type Image = "busybox" | "tmux" | "empty";
/** The command that is found: podman, docker (the real client, served by podman), or podman called docker. */
export type Engine = "podman" | "docker" | "podman-as-docker";

export interface Container extends AsyncDisposable {
  readonly name: string;
  /** PATH that finds the engine, and what it needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs the engine that made it: stop, start, rm, exec. */
  engine(...args: string[]): Promise<string>;
}

export interface ContainerWish {
  readonly image?: Image;
  readonly engine?: Engine;
  readonly name?: string;
  /** More arguments of `run`: --read-only, --user, --tmpfs, --workdir. */
  readonly run?: readonly string[];
}

/** Images are kept between runs; they are made of files of this machine and rebuilt when their recipe changes. */
const CACHE =
  process.env["BUDDY_TEST_CONTAINERS"] ?? join(tmpdir(), `buddy-test-containers-${process.getuid?.() ?? 0}-6`);
let count = 0;

export async function containerTarget(wish: ContainerWish = {}): Promise<Container> {
  const { image = "busybox", engine = "podman" } = wish;
  await prepared(image);
  const name = wish.name ?? `buddy-test-${process.pid}-${++count}`;
  const remove = exitCleanup().onDeath(`${CACHE}/podman rm -f -t 0 ${name}`);
  const command = image === "empty" ? ["/spin"] : ["sh", "-c", "exec sleep 1000000"];
  // Without CAP_SYS_RESOURCE the defaults of podman cannot be set: low limits are named.
  const limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"];
  const extra = wish.run ?? [];
  await podman(
    "run",
    "-d",
    "--name",
    name,
    "--network=none",
    ...limits,
    ...extra,
    `localhost/buddy-${image}:1`,
    ...command,
  );
  return {
    name,
    env: { PATH: `${await binOf(engine)}:${process.env["PATH"]}` },
    engine: podman,
    async [Symbol.asyncDispose]() {
      await podman("rm", "-f", "-t", "0", name).catch(() => "");
      remove();
    },
  };
}

async function podman(...args: string[]): Promise<string> {
  return await run([`${CACHE}/podman`, ...args]);
}

const ready = new Map<Image, Promise<void>>();

function prepared(image: Image): Promise<void> {
  const known = ready.get(image) ?? build(image);
  ready.set(image, known);
  return known;
}

async function build(image: Image): Promise<void> {
  mkdirSync(CACHE, { recursive: true, mode: 0o700 });
  const wrapper = join(CACHE, "podman");
  if (!existsSync(wrapper)) {
    const where = `--root ${CACHE}/store --runroot ${CACHE}/run --tmpdir ${CACHE}/tmp`;
    const how = "--storage-driver vfs --cgroup-manager cgroupfs --events-backend none --runtime runc";
    // Otherwise the monitor of every `exec` stays for five minutes.
    writeFileSync(join(CACHE, "containers.conf"), "[engine]\nexit_command_delay = 1\n");
    // Without root the namespace of all containers is found by this directory, also from a session over ssh.
    const env = `CONTAINERS_CONF=${CACHE}/containers.conf XDG_RUNTIME_DIR=${CACHE}/xdg`;
    mkdirSync(join(CACHE, "xdg"), { recursive: true, mode: 0o700 });
    const script = `#!/bin/sh\n${env} exec ${Bun.which("podman")} ${where} ${how} "$@"\n`;
    writeFileSync(`${wrapper}.${process.pid}`, script);
    chmodSync(`${wrapper}.${process.pid}`, 0o755);
    await run(["mv", `${wrapper}.${process.pid}`, wrapper]);
  }
  // Several test processes may come here at once: one builds, the others wait for the lock and find it built.
  await run(["flock", join(CACHE, "lock"), "sh", "-euc", RECIPE, "build", CACHE, image]);
}

const RECIPE = `
cache=$1 image=$2
if "$cache/podman" image exists "localhost/buddy-$image:1" 2>/dev/null; then exit 0; fi
r=$(mktemp -d "$cache/rootfs.XXXXXX")
trap 'rm -rf "$r"' EXIT
mkdir -p "$r/bin" "$r/usr/bin" "$r/proc" "$r/sys" "$r/dev" "$r/tmp" "$r/etc" "$r/root"
chmod 755 "$r"; chmod 1777 "$r/tmp"
printf 'root:x:0:0:root:/root:/bin/sh\\nguest:x:1000:1000:guest:/home/guest:/bin/sh\\n' >"$r/etc/passwd"
if [ "$image" = empty ]; then
  cp /bin/busybox "$r/busybox"
  mkdir "$r/x"; printf '#!/busybox sh\\nexec /busybox sleep 1000000\\n' >"$r/spin"; chmod 755 "$r/spin"
else
  cp /bin/busybox "$r/bin/busybox"
  for a in $(/bin/busybox --list); do [ "$a" = busybox ] || ln -sf busybox "$r/bin/$a"; done
fi
if [ "$image" = tmux ]; then
  with() { mkdir -p "$r$(dirname "$1")"; cp -L "$1" "$r$1"; }
  rm -f "$r/bin/bash"
  for p in "$(command -v tmux)" "$(command -v bash)"; do
    with "$p"
    for l in $(ldd "$p" | grep -o '/[^ ]*'); do [ -e "$r$l" ] || with "$l"; done
  done
  [ -e "$r/bin/bash" ] || ln -s /usr/bin/bash "$r/bin/bash"
  # tmux does not even tell its version without a UTF-8 locale.
  for f in /usr/lib/locale/C.utf8/* /usr/lib/locale/C.utf8/*/*; do if [ -f "$f" ]; then with "$f"; fi; done
  for t in s/screen s/screen-256color t/tmux t/tmux-256color x/xterm x/xterm-256color v/vt100 d/dumb; do
    for d in /lib/terminfo /usr/share/terminfo /etc/terminfo; do if [ -e "$d/$t" ]; then with "$d/$t"; break; fi; done
  done
fi
tar -C "$r" -c . | "$cache/podman" import -q - "localhost/buddy-$image:1" >/dev/null
`;

const bins = new Map<Engine, Promise<string>>();

function binOf(engine: Engine): Promise<string> {
  const known = bins.get(engine) ?? makeBin(engine);
  bins.set(engine, known);
  return known;
}

async function makeBin(engine: Engine): Promise<string> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-engine-")));
  const bin = join(dir, "bin");
  mkdirSync(bin);
  const script = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  if (engine === "docker") {
    const socket = join(dir, "engine.sock");
    const service = Bun.spawn([`${CACHE}/podman`, "system", "service", "--time=0", `unix://${socket}`], {
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    });
    service.unref();
    exitCleanup().watch(service.pid);
    script("docker", `DOCKER_HOST=unix://${socket} exec ${Bun.which("docker") ?? "docker"} "$@"`);
    await until(() => existsSync(socket), "podman serves the docker API");
  } else if (engine === "podman") script("podman", `exec ${CACHE}/podman "$@"`);
  else {
    script(
      "docker",
      `echo "Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg." >&2
exec ${CACHE}/podman "$@"`,
    );
  }
  exitCleanup().onDeath(`rm -rf ${dir}`);
  return bin;
}

async function run(argv: string[]): Promise<string> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) {
    const [last = ""] = stderr.trim().split("\n").slice(-1);
    throw new Error(`${last || `exit code ${code}`}\n${argv.join(" ").slice(0, 200)}\n${stderr}`);
  }
  return stdout.trim();
}
