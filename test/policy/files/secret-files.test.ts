import { describe, expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { holdsSecretFiles, holdsSecrets } from "../../../src/policy/files/secret-files.ts";
import { RULES } from "../shell/rules.ts";

describe("files of keys", () => {
  test.each([
    "cat ~/.config/buddy/auth.json",
    "head -c 100 /home/me/.config/buddy/auth.json",
    "grep -r token ~/.config/buddy",
    "cat ~/.ssh/id_ed25519",
    "cat ~/.ssh/*",
    "cd ~/.ssh && cat id_rsa",
    "tr '\\0' '\\n' < /dev/null; cat /proc/1234/environ",
    "strings /proc/self/environ",
    "base64 ~/.ssh//./id_rsa",
    "cat /etc/shadow",
    "cat .*",
    "head -5 .[a-z]*",
    "cat /proc/1/fd/3",
    "cat x.ppk",
    "cat ~/.consul-token ~/.passwd-s3fs",
    "cat .github_token",
    "cat .secret",
    "cat deploy/secrets.yaml",
    "jq . app-cred*.json",
    "head /mnt/root/etc/shadow",
    "cat /private/etc/master.passwd",
    "cat /var/backups/*",
    "cat prod.tfstate",
    "cat backup/id_rsa.old",
    "cat /etc/ceph/ceph.client.admin.keyring",
    "cat ~/.cloudflared/cert.pem ~/.Xauthority",
    "cat /run/user/1000/containers/auth.json",
    "cat < ~/.ssh/id_rsa",
    "cat ~/.s*/id_rsa",
    "find ~/.ssh -exec cat {} +",
    "find ~ -name id_ed25519 -exec cat {} \\;",
    "cat /etc/ssh/ssh_host_ed25519_key",
    "cat ~/.aws/credentials",
    "cat /etc/ssl/private/host.key",
    "while read l; do echo $l; done < /home/me/.config/buddy/auth.json",
  ])("%s asks, although it only reads", (command) => {
    const { verdict, readOnly } = judgeShell(command, RULES);
    expect([verdict.kind, readOnly]).toEqual(["ask", true]);
    expect(verdict.why).toContain("contains secrets");
  });

  test.each([
    "ls -la ~/.ssh",
    "ls -d .*",
    "ls -l /proc/1/fd/",
    "cat *",
    "stat ~/.config/buddy/auth.json",
    "cat ~/.ssh/id_ed25519.pub",
    "cat ~/.ssh/config",
    "cat ~/.ssh/authorized_keys",
    "cat /etc/passwd",
    "echo ~/.ssh/id_rsa",
    "cat auth.json",
    "cat *.json config/*.y*ml",
    "find . -name '*.yaml' -exec head {} +",
    "journalctl -u db-credentials",
    "grep -r token src",
  ])("%s does not", (command) => {
    expect(judgeShell(command, RULES).verdict.kind).toBe("allow");
  });

  test("a file that a variable names", () => {
    expect(judgeShell("f=~/.ssh/id_rsa; cat < $f", RULES).verdict.kind).toBe("ask");
    expect(judgeShell("f=~/.ssh/config; cat < $f", RULES).verdict.kind).toBe("allow");
  });

  test("names", () => {
    expect(holdsSecrets("/home/me/.ssh/deploy_rsa")).toBe(true);
    expect(holdsSecrets("/home/me/project/id_rsa.md")).toBe(false);
    expect(holdsSecretFiles("/home/me/.ssh/")).toBe(true);
    expect(holdsSecretFiles("/home/me/ssh")).toBe(false);
  });
});
