import { expect, test } from "bun:test";
import { type PathFacts, type PathRules, judgePath } from "../../../src/policy/files/paths.ts";

const HOME = "/home/kim";

function judge(path: string, rules: Partial<PathRules> = {}, facts: Partial<PathFacts> = {}): string {
  return judgePath({ path, home: HOME, caseInsensitive: false, ...facts }, { allowedRoots: [], ...rules }).kind;
}

test.each([
  "/etc/passwd",
  "/etc",
  "/etc/cron.d/job",
  "/etc/sudoers.d/x",
  "/usr/local/bin/tool",
  "/bin/sh",
  "/sbin/x",
  "/lib/x",
  "/lib64/ld.so",
  "/boot/grub/grub.cfg",
  "/dev/sda",
  "/dev/null",
  "/proc/sys/kernel/core_pattern",
  "/proc/self/mem",
  "/proc/self/root/etc/passwd",
  "/sys/power/state",
  "/run/systemd/system/x.service",
  "/run/user/1000/systemd/user/x.service",
  `${HOME}/.local/lib/python3.11/site-packages/x.pth`,
  "/var/lib/dpkg/status",
  "/var/spool/cron/crontabs/kim",
  "/var/log/auth.log",
  "/private/etc/hosts",
  "/System/x",
  "/Library/LaunchDaemons/x.plist",
  "/private/var/db/x",
  `${HOME}/.ssh/authorized_keys`,
  `${HOME}/.ssh`,
  `${HOME}/.gnupg/gpg.conf`,
  `${HOME}/.aws/credentials`,
  `${HOME}/.kube/config`,
  `${HOME}/.bashrc`,
  `${HOME}/.profile`,
  `${HOME}/.zshenv`,
  `${HOME}/.config/fish/config.fish`,
  `${HOME}/.config/systemd/user/x.service`,
  `${HOME}/.config/autostart/x.desktop`,
  `${HOME}/.gitconfig`,
  `${HOME}/.config/git/config`,
  `${HOME}/.config/buddy/buddy.toml`,
  `${HOME}/.config/buddy/auth.json`,
  `${HOME}/.config/agent/agent.toml`,
  `${HOME}/.netrc`,
  `${HOME}/Library/LaunchAgents/x.plist`,
  `${HOME}/work/.buddyx/sessions/x.jsonl`,
  `${HOME}/work/buddy.toml`,
  "/srv/git/.ssh/authorized_keys",
  "/root/.bashrc",
  "/home/other/.zshrc",
  "/Users/kim/.zprofile",
  "/var/root/.profile",
  "/",
  "//.",
  "relative/path",
  "/tmp/nul\0byte",
  `/tmp/${"x".repeat(5000)}`,
  "pipe:[123]",
])("writing %s is refused", (path) => {
  expect(judge(path)).toBe("deny");
});

test.each([
  "/tmp/x",
  "/var/tmp/x",
  "/private/tmp/x",
  "/private/var/folders/ab/T/x",
  "/dev/shm/x",
  "/run/user/1000/x",
  "/srv/app/config.yml",
  "/opt/app/x",
  "/var/www/html/index.html",
  `${HOME}/work/src/main.ts`,
  `${HOME}/.config/app/settings.json`,
  `${HOME}/notes.txt`,
  `${HOME}/.sshx/config`,
  `${HOME}/.bashrc_notes`,
  "/etcetera/x",
  "/usr2/x",
  "/libexec2/x",
  `${HOME}/work/.gitignore`,
  `${HOME}/work/.github/workflows/ci.yml`,
  `${HOME}/work/etc/passwd`,
  "/data/home/.vimrc",
  `${HOME}/日本語/Ünïcode.txt`,
  `${HOME}/work/.bashrc`,
  `${HOME}/работа/отчёт.txt`,
  "/mnt/a b/c d.txt",
])("writing %s is fine", (path) => {
  expect(judge(path)).toBe("allow");
});

test.each([
  `${HOME}/work/.git/hooks/pre-commit`,
  `${HOME}/work/.git/config`,
  `${HOME}/work/.git`,
  `${HOME}/work/.GIT/config`,
  "/srv/repo.git/hooks/post-receive",
  "/srv/x/git~1/config",
  "/tmp/files/authorized_keys",
  "/new-in-root",
  "/tmp/a\nb",
  "/tmp/a\u202eb",
  "/tmp/a\u200bb",
  "/tmp/a\x1b[31mb",
  "/tmp/trailing ",
  "/tmp/ leading/x",
  "/tmp/no\u00a0break",
])("writing %j asks", (path) => {
  expect(judge(path)).toBe("ask");
});

test("a name that cannot be seen is made visible in the question", () => {
  const verdict = judgePath({ path: "/tmp/a\u202e\nb", home: HOME, caseInsensitive: false }, { allowedRoots: [] });
  expect(verdict.why).toContain("/tmp/a\\u{202e}\\nb");
});

test("allowed roots: below them only, at name boundaries", () => {
  const rules = { allowedRoots: ["/srv/app/", "~/work"] };
  expect(judge("/srv/app/x", rules)).toBe("allow");
  expect(judge("/srv/app", rules)).toBe("allow");
  expect(judge(`${HOME}/work/x`, rules)).toBe("allow");
  expect(judge("/srv/app2/x", rules)).toBe("deny");
  expect(judge("/srv/x", rules)).toBe("deny");
  expect(judge("/tmp/x", rules)).toBe("deny");
  expect(judge("/srv/app/../secret", rules)).toBe("deny");
  expect(judge("/SRV/APP/x", rules)).toBe("deny");
  expect(judge("/SRV/APP/x", rules, { caseInsensitive: true })).toBe("allow");
  expect(judge("/srv/app/.git/config", rules)).toBe("ask");
});

test("a link out of an allowed root is judged by where it leads", () => {
  expect(judge("/etc/passwd", { allowedRoots: ["/srv/app"] }, { asked: "/srv/app/link" })).toBe("deny");
});

test("a sensitive place is opened by naming it, not by naming what contains it", () => {
  expect(judge("/etc/nginx/x", { allowedRoots: ["/etc/nginx"] })).toBe("allow");
  expect(judge("/etc/passwd", { allowedRoots: ["/etc/nginx"] })).toBe("deny");
  expect(judge("/etc/hosts", { allowedRoots: ["/etc"] })).toBe("allow");
  expect(judge("/etc/hosts", { allowedRoots: ["/"] })).toBe("deny");
  expect(judge(`${HOME}/.ssh/config`, { allowedRoots: ["~"] })).toBe("deny");
  expect(judge(`${HOME}/.ssh/config`, { allowedRoots: ["~/.ssh"] })).toBe("allow");
  expect(judge(`${HOME}/x`, { allowedRoots: ["/"] })).toBe("allow");
});

const asRoot = (path: string, rules: Partial<PathRules> = {}, home = HOME) =>
  judgePath({ path, home, caseInsensitive: false, sudo: true }, { allowedRoots: [], ...rules });

test.each(["/etc/hosts", "/etc/nginx/nginx.conf", "/usr/local/bin/x", "/var/lib/app/x", "/etc/cron.d/job"])(
  "as root, %s asks",
  (path) => {
    expect(asRoot(path)).toMatchObject({ kind: "ask" });
    expect(asRoot(path)).not.toHaveProperty("answer");
  },
);

test.each([
  "/etc/sudoers",
  "/etc/sudoers.d/team",
  "/etc/shadow",
  "/etc/passwd",
  "/etc/pam.d/sshd",
  "/etc/ssh/sshd_config",
  "/etc/fstab",
  "/boot/grub/grub.cfg",
  "/etc/ld.so.preload",
  `${HOME}/.ssh/authorized_keys`,
  "/root/.ssh/authorized_keys",
  "/home/someone/.ssh/authorized_keys2",
])("as root, %s needs the name of the machine", (path) => {
  expect(asRoot(path)).toMatchObject({ kind: "ask", answer: "typed" });
});

test.each(["/proc/sys/kernel/panic", "/sys/power/state", "/dev/sda", `${HOME}/.bashrc`, `${HOME}/.ssh/config`])(
  "as root, %s is refused all the same",
  (path) => {
    expect(asRoot(path).kind).toBe("deny");
  },
);

test("files_allowed_paths is a limit for root too, and does not take the name away", () => {
  expect(asRoot("/etc/hosts", { allowedRoots: ["/srv"] }).kind).toBe("deny");
  expect(asRoot("/etc/hosts", { allowedRoots: ["/etc"] }).kind).toBe("allow");
  expect(asRoot("/etc/sudoers", { allowedRoots: ["/etc"] })).toMatchObject({ answer: "typed" });
  expect(asRoot("/etc/hosts", { ownPaths: ["/etc/hosts"] }).kind).toBe("deny");
});

test("a start-up file that is a link into a dotfiles directory is still one", () => {
  expect(judge(`${HOME}/dotfiles/bashrc`, {}, { asked: "~/.bashrc" })).toBe("deny");
  expect(judge(`${HOME}/dotfiles/bashrc`)).toBe("allow");
});

test("file systems without case", () => {
  for (const path of ["/ETC/passwd", `${HOME}/.SSH/config`, "/users/KIM/.ZSHRC", `${HOME}/.Config/Buddy/auth.json`])
    expect([path, judge(path, {}, { caseInsensitive: true })]).toEqual([path, "deny"]);
  expect(judge("/ETC/passwd")).toBe("allow");
  expect(judge("/srv/caf\u00e9/x", { allowedRoots: ["/srv/cafe\u0301"] }, { caseInsensitive: true })).toBe("allow");
  expect(judge("/srv/caf\u00e9/x", { allowedRoots: ["/srv/cafe\u0301"] })).toBe("deny");
});

test("look-alikes of sensitive names", () => {
  for (const path of [
    `${HOME}/.s\u200bsh/config`,
    `${HOME}/.ｓsh/config`,
    "/ｅtc/passwd",
    `${HOME}/.bash\u00adrc`,
    `${HOME}/.ѕѕһ/x`,
    "/еtс/passwd",
  ])
    expect([path, judge(path)]).toEqual([path, "deny"]);
});

test("names that mean another file for every process", () => {
  for (const asked of [
    "/dev/fd/3",
    "/dev/stdout",
    "/proc/self/fd/1",
    "/proc/42/root/tmp/x",
    "/proc/42/cwd/x",
    "//dev/./fd/../fd/3",
    "/proc/thread-self/fd/2",
  ])
    expect([asked, judge("/tmp/x", {}, { asked })]).toEqual([asked, "deny"]);
  expect(judge("/tmp/x", {}, { asked: "/proc/self/root/tmp/x" })).toBe("allow");
});

test("buddy's own files are never written, allowed or not", () => {
  const rules = { allowedRoots: ["/srv"], ownPaths: ["/srv/buddy/config.toml", "~/x"] };
  expect(judge("/srv/buddy/config.toml", rules)).toBe("deny");
  expect(judge("/srv/buddy/other", rules)).toBe("allow");
});

test("a home that is a link counts under both names", () => {
  const facts = { home: "/h/kim", realHome: "/data/kim" };
  for (const path of ["/h/kim/.bashrc", "/data/kim/.bashrc", "/data/kim/.config/fish/config.fish"])
    expect([path, judge(path, {}, facts)]).toEqual([path, "deny"]);
  expect(judge("/data/kim/dotfiles/x", {}, { ...facts, asked: "/h/kim/.bashrc" })).toBe("deny");
  expect(judge("/data/kim/notes", {}, facts)).toBe("allow");
});

test("an unknown or odd home neither opens nor closes anything", () => {
  for (const home of ["", "/", "relative"]) {
    expect(judge("/tmp/x", {}, { home })).toBe("allow");
    expect(judge("/etc/passwd", {}, { home })).toBe("deny");
  }
  expect(judge("/var/lib/postgresql/notes", {}, { home: "/var/lib/postgresql" })).toBe("allow");
  expect(judge("/var/lib/postgresql/.bashrc", {}, { home: "/var/lib/postgresql" })).toBe("deny");
});

test.each([
  `${HOME}/.local/bin/ls`,
  `${HOME}/bin/git`,
  `${HOME}/.cargo/bin/cargo`,
  `${HOME}/.cargo/env`,
  `${HOME}/.vimrc`,
  `${HOME}/.config/nvim/init.lua`,
  `${HOME}/.emacs.d/init.el`,
  `${HOME}/.tmux.conf`,
  `${HOME}/.config/tmux/tmux.conf`,
  `${HOME}/.screenrc`,
  `${HOME}/.gdbinit`,
  `${HOME}/.psqlrc`,
  `${HOME}/.curlrc`,
  `${HOME}/.config/direnv/direnvrc`,
  `${HOME}/.gradle/init.d/x.gradle`,
  `${HOME}/.local/share/systemd/user/x.service`,
  `${HOME}/.local/share/applications/x.desktop`,
  "/home/other/.local/bin/ls",
  "/root/.vimrc",
])("writing %s is refused: a program runs it", (path) => {
  expect(judge(path)).toBe("deny");
});

test.each([
  "/dev/shm/buddy-1000/x/run",
  "/tmp/buddy-0/direct-abc/out",
  "/var/tmp/buddy-12/x",
  "/private/tmp/buddy-501/x",
  "/run/user/1000/buddy/s",
  `${HOME}/.local/state/buddy/key`,
  `${HOME}/.cache/buddy/x`,
])("writing %s is refused, listed or not: it is buddy's own", (path) => {
  expect(judge(path)).toBe("deny");
  expect(judge(path, { allowedRoots: [path] })).toBe("deny");
});

test.each(["/tmp/buddy-notes/x", "/tmp/buddy-x1/y", `${HOME}/src/buddy/src/main.ts`, `${HOME}/work/bin/tool`])(
  "writing %s is fine",
  (path) => expect(judge(path)).toBe("allow"),
);

test.each([
  ["/etc/ssh/sshd_config.d/10-team.conf"],
  ["/etc/netplan/01.yaml"],
  ["/etc/nftables.conf"],
  ["/etc/hosts.allow"],
  ["/etc/pam.d/sshd"],
  ["/etc/sudoers.d/team"],
  ["/etc/systemd/network/10-lan.network"],
])("[safety] lockout holds for %s as for a command that writes it", (path) => {
  expect(asRoot(path, { lockout: "block" }).kind).toBe("deny");
  expect(asRoot(path, { lockout: "block", allowedRoots: ["/etc"] }).kind).toBe("deny");
  for (const lockout of ["ask", "guard"] as const)
    expect(asRoot(path, { lockout })).toMatchObject({
      kind: "ask",
      answer: expect.stringMatching(/^(?:typed|in-person)$/),
    });
  expect(asRoot(path, { lockout: "off" })).toEqual(asRoot(path));
});

test("[safety] lockout: by where a path leads and by its name, at home too, and for no other file", () => {
  const rules = { allowedRoots: ["/srv", "~/.ssh"], lockout: "block" } as const;
  expect(judge(`${HOME}/.ssh/authorized_keys`, rules)).toBe("deny");
  expect(judge("/data/home/.ssh/authorized_keys", { lockout: "block" }, { realHome: "/data/home" })).toBe("deny");
  expect(judge("/srv/sshd_config", rules, { asked: "/etc/ssh/sshd_config" })).toBe("deny");
  expect(judge("/srv/sshd_config", rules)).toBe("allow");
  expect(asRoot("/etc/hosts", { lockout: "block" })).toMatchObject({ kind: "ask" });
});
