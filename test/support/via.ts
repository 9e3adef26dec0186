/** Places behind a command: a chroot, namespaces, a container behind a shim that looks like kubectl. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exitCleanup } from "../../src/targets/connection/exit-cleanup.ts";
import type { Hop } from "../../src/targets/place.ts";
import { bareRoot } from "./bare-root.ts";
import { containerTarget, type Image } from "./container.ts";
import type { Need } from "./needs.ts";
import { until } from "./until.ts";

export type Via = "chroot" | "nsenter" | "kubectl";

export const VIA_NEEDS: Readonly<Record<Via, readonly Need[]>> = {
  chroot: ["linux", "root", "chroot", "busybox"],
  nsenter: ["linux", "root", "namespaces"],
  kubectl: ["podman"],
};

export interface ViaPlace extends AsyncDisposable {
  readonly hop: Hop & { kind: "via" };
  /** What the machine inside says of itself. */
  readonly host?: string;
}

export async function viaPlace(kind: Via, image: Image = "busybox"): Promise<ViaPlace> {
  if (kind === "chroot") return chroot();
  return kind === "nsenter" ? namespaces() : kubectl(image);
}

/** busybox, bash, the devices that programs expect and /proc, mounted in a namespace that ends with its holder. */
async function chroot(): Promise<ViaPlace> {
  const root = bareRoot();
  root.addProgram(Bun.which("bash") ?? "/bin/bash");
  for (const [name, major, minor] of [
    ["null", 1, 3],
    ["zero", 1, 5],
    ["urandom", 1, 9],
  ] as const)
    await Bun.$`mknod -m 666 ${root.dir}/dev/${name} c ${major} ${minor}`.quiet();
  mkdirSync(join(root.dir, "etc"), { recursive: true });
  mkdirSync(join(root.dir, "root"));
  writeFileSync(join(root.dir, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  chmodSync(root.dir, 0o755);
  const remove = exitCleanup().onDeath(`rm -rf ${root.dir}`);
  const script = `mount -t proc proc ${root.dir}/proc && exec sleep 100000`;
  const holder = Bun.spawn(["unshare", "-m", "sh", "-c", script], { stdio: ["ignore", "ignore", "ignore"] });
  const letGo = exitCleanup().watch(holder.pid);
  const argv = ["nsenter", "-t", String(holder.pid), "-m", "-r", "chroot", root.dir];
  await until(() => Bun.spawnSync([...argv, "test", "-d", "/proc/1"]).exitCode === 0, "the root stands");
  return {
    hop: { kind: "via", argv, attach: argv },
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
      await holder.exited;
      letGo();
      root[Symbol.dispose]();
      remove();
    },
  };
}

/** A host name and a network of its own, and this machine's files: where a tmux server of the outside could be met. */
async function namespaces(): Promise<ViaPlace> {
  const host = `inner-${process.pid}`;
  const child = Bun.spawn(["unshare", "-u", "-n", "sh", "-c", `hostname ${host} && exec sleep 100000`], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const letGo = exitCleanup().watch(child.pid);
  const argv = ["nsenter", "-t", String(child.pid), "-u", "-n", "--"];
  await until(
    () =>
      Bun.spawnSync([...argv, "uname", "-n"])
        .stdout.toString()
        .trim() === host,
    "the namespaces stand",
  );
  return {
    hop: { kind: "via", argv, attach: argv },
    host,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      letGo();
    },
  };
}

/** `kubectl exec -i -n NAMESPACE POD -- COMMAND` onto podman; what kubectl refuses is refused, too. */
async function kubectl(image: Image): Promise<ViaPlace> {
  const pod = await containerTarget({ image });
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-kubectl-")));
  const remove = exitCleanup().onDeath(`rm -rf ${dir}`);
  const shim = join(dir, "kubectl");
  writeFileSync(
    shim,
    `#!/bin/sh
[ "$1 $2 $3 $4 $6" = "exec -i -n prod --" ] || { echo "error: unknown command" >&2; exit 1; }
pod=$5; shift 6
PATH=${pod.env["PATH"]}
podman container exists "$pod" || { echo "Error from server (NotFound): pods \\"$pod\\" not found" >&2; exit 1; }
exec podman exec -i "$pod" "$@"
`,
  );
  chmodSync(shim, 0o755);
  return {
    hop: { kind: "via", argv: [shim, "exec", "-i", "-n", "prod", pod.name, "--"] },
    async [Symbol.asyncDispose]() {
      await pod[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
      remove();
    },
  };
}
