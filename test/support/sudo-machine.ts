/**
 * A machine with an /etc of its own, sudo, and users: `deploy` needs a password for it, `admin` does not, `guest` may
 * not.
 */
import { randomInt } from "node:crypto";
import { type Machine, startMachine } from "./lab.ts";

export interface SudoMachine extends Machine {
  /** For sudo and login of `deploy`. */
  readonly password: string;
  readonly users: readonly string[];
}

export async function sudoMachine(name: string): Promise<SudoMachine> {
  const machine = await startMachine({
    name,
    // Its /etc, /home and /mnt are its own and gone with it.
    prepare: `mount -t tmpfs tmpfs /mnt; cp -a /etc /mnt/etc; mount --bind /mnt/etc /etc; mkdir /mnt/home; mount --bind /mnt/home /home
echo "127.0.0.1 localhost ${name}" >/etc/hosts`,
    sshd: "AuthorizedKeysFile /etc/buddy-keys",
  });
  // Directories below /tmp carry the number: no other machine may have the same.
  const first = randomInt(20_000, 50_000);
  const users = ["deploy", "admin", "guest"];
  const password = `pw-${crypto.randomUUID()}`;
  machine.run(`set -e
cp ${machine.dir}/id.pub /etc/buddy-keys; chmod 644 /etc/buddy-keys
n=${first}
for u in ${users.join(" ")}; do
  useradd -m -s /bin/bash -u $n $u
  printf '%s:%s\\n' $u ${password} | chpasswd
  n=$((n + 1))
done
rm -f /etc/sudoers.d/*
# A wrong password costs no time.
printf '%s\\n' 'auth required pam_unix.so nodelay' 'account required pam_unix.so' 'session required pam_unix.so' >/etc/pam.d/sudo
echo 'deploy ALL=(ALL) ALL' >/etc/sudoers.d/deploy
echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin
printf '%s\\n' 'Defaults:guest !authenticate' 'guest ALL=(ALL) /bin/true' >/etc/sudoers.d/guest
chmod 440 /etc/sudoers.d/*`);
  return {
    ...machine,
    password,
    users,
    async [Symbol.asyncDispose]() {
      const uids = users.map((_, at) => first + at);
      const files = (uid: number) => `find /tmp /dev/shm -maxdepth 1 -user ${uid} -exec rm -rf {} +`;
      machine.run(uids.map((uid) => `pkill -KILL -u ${uid}; ${files(uid)}\n`).join("") + ":");
      await machine[Symbol.asyncDispose]();
    },
  };
}

/** Until disposed, this process finds the machine's ssh. */
export function useMachine(machine: Machine): Disposable {
  const before = process.env["PATH"];
  process.env["PATH"] = machine.env.PATH;
  return { [Symbol.dispose]: () => void (process.env["PATH"] = before) };
}
