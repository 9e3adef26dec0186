/** Files as root, with the real sudo: users with and without a password, and one who may not. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { SshTransport } from "../../src/targets/connection/ssh.ts";
import { PermissionDenied } from "../../src/targets/errors.ts";
import { fileAccess } from "../../src/targets/files/files.ts";
import type { FileAccess } from "../../src/targets/target.ts";
import { buddyError } from "../support/errors.ts";
import { needs } from "../support/needs.ts";
import { type SudoMachine, sudoMachine, useMachine } from "../support/sudo-machine.ts";

const { describe, test } = await needs("linux", "root", "sshd", "ip", "sudo");
const acl = await needs("linux", "root", "sshd", "ip", "sudo", "acl");
const nginx = await needs("linux", "root", "sshd", "ip", "sudo", "nginx");

setDefaultTimeout(60_000);

describe("sudo on a machine of its own", () => {
  let machine: SudoMachine;
  let path: Disposable;
  let transport: SshTransport;
  let files: FileAccess;

  beforeAll(async () => {
    machine = await sudoMachine("sudoers");
    path = useMachine(machine);
    transport = await SshTransport.open({ destination: "admin@sudoers", interactive: false });
    files = fileAccess(transport, { cwd: () => "/home/admin" }).asRoot();
  });
  afterAll(async () => {
    await transport[Symbol.asyncDispose]();
    path[Symbol.dispose]();
    await machine[Symbol.asyncDispose]();
  });

  const inside = (script: string) => machine.run(script).trim();

  test("what only root may read is read; ~ is the user's home", async () => {
    inside("umask 077; mkdir -p /etc/secret; echo kept >/etc/secret/file");
    expect((await files.read("/etc/secret/file")).text).toBe("kept\n");
    expect(await files.resolve("~/x")).toMatchObject({ path: "/home/admin/x", home: "/home/admin" });
    expect(await files.resolve("/etc/secret/file")).toMatchObject({ kind: "file", hidden: false });
    const plain = fileAccess(transport, { cwd: () => "/" });
    expect(await plain.resolve("/etc/secret/file")).toMatchObject({ kind: "missing", hidden: true });
    await expect(plain.read("/etc/secret/file")).rejects.toBeInstanceOf(PermissionDenied);
  });

  test("a file is replaced whole and keeps owner and mode; a new one belongs to root", async () => {
    inside("echo old >/etc/app.conf; chown deploy:daemon /etc/app.conf; chmod 640 /etc/app.conf");
    const before = inside("stat -c %i /etc/app.conf");
    expect(await files.write("/etc/app.conf", "new\n")).toMatchObject({ bytes: 4, created: false });
    expect(inside("stat -c '%U %G %a' /etc/app.conf; cat /etc/app.conf")).toBe("deploy daemon 640\nnew");
    expect(inside("stat -c %i /etc/app.conf")).not.toBe(before);
    expect(await files.write("/etc/fresh/new.conf", Buffer.alloc(200_000, "y"))).toMatchObject({ created: true });
    expect(inside("stat -c '%U %s' /etc/fresh/new.conf; ls -A /etc/fresh")).toBe("root 200000\nnew.conf");
  });

  test("a link that another user put in the place of the directory is not followed", async () => {
    inside("mkdir -p /home/deploy/site /etc/target; chown deploy: /home/deploy/site; echo safe >/etc/target/file");
    const { path: judged } = await files.resolve("/home/deploy/site/file");
    inside("rmdir /home/deploy/site; ln -s /etc/target /home/deploy/site");
    await expect(files.write("/home/deploy/site/file", "bad", { onlyAt: judged })).rejects.toThrow(
      buddyError("target", "/home/deploy/site/file"),
    );
    expect(inside("cat /etc/target/file")).toBe("safe");
  });

  test("sudoers rules that do not allow it, and a password that no one can give, are reported", async () => {
    await using other = await SshTransport.open({ destination: "guest@sudoers", interactive: false });
    const denied = fileAccess(other, { cwd: () => "/" }).asRoot();
    await expect(denied.read("/etc/shadow")).rejects.toThrow(buddyError("target", "/etc/shadow", "guest@sudoers"));
    await using asks = await SshTransport.open({ destination: "deploy@sudoers", interactive: false });
    const needed = fileAccess(asks, { cwd: () => "/" }).asRoot();
    await expect(needed.read("/etc/shadow")).rejects.toThrow(buddyError("target", "/etc/shadow", "password"));
  });

  test("root needs no sudo, and a machine without sudo says so", async () => {
    await using root = await SshTransport.open({ destination: "root@sudoers", interactive: false });
    expect(
      (
        await fileAccess(root, { cwd: () => "/" })
          .asRoot()
          .read("/etc/shadow")
      ).text,
    ).toContain("root:");
    inside("touch /mnt/none; chmod 600 /mnt/none; mount --bind /mnt/none /usr/bin/sudo");
    try {
      await expect(files.read("/etc/shadow")).rejects.toThrow(buddyError("target", "/etc/shadow", "sudo", "sudoers"));
    } finally {
      inside("umount /usr/bin/sudo");
    }
  });

  test("visudo sees a new rule before it counts: a mistake changes nothing, and its words come back", async () => {
    await expect(files.write("/etc/sudoers.d/team", "deploy ALL = (ALL\n")).rejects.toThrow(/team:1.*syntax error/s);
    expect(inside("ls /etc/sudoers.d; sudo -l -U deploy >/dev/null && echo fine")).toContain("fine");
    expect(inside("ls -A /etc/sudoers.d")).not.toContain("team");
    expect(await files.write("/etc/sudoers.d/team", "deploy ALL=(ALL) ALL\n")).toMatchObject({
      created: true,
      checked: { by: "visudo", how: "copy" },
    });
    await expect(files.write("/etc/sudoers.d/team", "nonsense\n")).rejects.toThrow("syntax error");
    expect(inside("cat /etc/sudoers.d/team")).toBe("deploy ALL=(ALL) ALL");
  });

  test("sshd -t checks its configuration, sh its start-up files", async () => {
    const old = inside("cat /etc/ssh/sshd_config");
    inside("ssh-keygen -A");
    await expect(files.write("/etc/ssh/sshd_config", `${old}\nPermitRootLogn no\n`)).rejects.toThrow(
      "Bad configuration option: PermitRootLogn",
    );
    expect(inside("cat /etc/ssh/sshd_config")).toBe(old);
    expect(await files.write("/etc/ssh/sshd_config", `${old}\nPermitRootLogin no\n`)).toMatchObject({
      checked: { by: "sshd" },
    });
    await expect(files.write("/etc/profile.d/path.sh", "if true; then\n")).rejects.toThrow(
      buddyError("target", "/etc/profile.d/path.sh"),
    );
    expect(inside("ls /etc/profile.d")).not.toContain("path.sh");
  });

  test("a check that fails on the old file in the same words does not keep the new one out", async () => {
    inside("echo 'if true; then' >/etc/profile.d/broken.sh");
    const written = await files.write("/etc/profile.d/broken.sh", "if true; then\n");
    expect(written.uncheckable).toStartWith("sh:");
    await expect(files.write("/etc/profile.d/broken.sh", "case\n")).rejects.toThrow(
      buddyError("target", "/etc/profile.d/broken.sh"),
    );
  });

  nginx.test("a fragment of nginx is checked in its place, before and also where that is not possible", async () => {
    const bad = "server { listen 8081; servr_name x; }\n";
    const good = "server { listen 127.0.0.1:8081; server_name x; }\n";
    await expect(files.write("/etc/nginx/conf.d/site.conf", bad)).rejects.toThrow('unknown directive "servr_name"');
    expect(inside("ls -A /etc/nginx/conf.d")).toBe("");
    expect(await files.write("/etc/nginx/conf.d/site.conf", good)).toMatchObject({
      checked: { by: "nginx", how: "whole" },
    });
    await expect(files.write("/etc/nginx/conf.d/site.conf", bad)).rejects.toThrow("servr_name");
    inside("mount --bind /bin/false /usr/bin/unshare");
    try {
      await expect(files.write("/etc/nginx/conf.d/site.conf", bad)).rejects.toThrow("servr_name");
      expect(inside("cat /etc/nginx/conf.d/site.conf; ls -A /etc/nginx/conf.d")).toBe(`${good}site.conf`);
      expect(await files.write("/etc/nginx/conf.d/site.conf", `# again\n${good}`)).toMatchObject({
        checked: { by: "nginx", how: "after" },
      });
      await expect(files.write("/etc/nginx/conf.d/other.conf", bad)).rejects.toThrow("servr_name");
    } finally {
      inside("umount /usr/bin/unshare");
    }
    expect(inside("ls -A /etc/nginx/conf.d")).toBe("site.conf");
    expect(inside("ls -A /tmp | grep -c 'buddy-.*check' || :")).toBe("0");
  });

  acl.test("an ACL stays, and the file is still replaced whole", async () => {
    inside("echo old >/etc/acl.conf; setfacl -m u:guest:rw /etc/acl.conf");
    const [before, inode] = [inside("getfacl -cp /etc/acl.conf"), inside("stat -c %i /etc/acl.conf")];
    await files.write("/etc/acl.conf", "new\n");
    expect(inside("getfacl -cp /etc/acl.conf")).toBe(before);
    expect(inside("stat -c %i /etc/acl.conf")).not.toBe(inode);
  });
});
