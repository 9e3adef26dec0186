/** The risk of a command, derived from its words and compared with what the model declared. */
import { words } from "../../lib/text.ts";
import { criticalPath, resolved, startingAt } from "./dangers/protected-paths.ts";
import { fileChanges, type LocatedChange, pathsOf } from "../effects/file-changes.ts";
import { globMatches, isUnknown, programName } from "./syntax/field.ts";
import type { FoundCommand } from "./syntax/findings.ts";
import { isPrivileging } from "./wrappers/wrappers.ts";

export function isHighRisk(command: FoundCommand, cwd: string | undefined): boolean {
  const name = programName(command.argv[0]?.value ?? "");
  const words = command.argv.slice(1).map((word) => word.value);
  const check = Object.hasOwn(HIGH, name) ? HIGH[name] : undefined;
  if (check?.(words) === true || command.wrapped?.privileged === true) return true;
  return command.writes.some(({ disk }) => disk) || fileChanges(command).some((change) => touchesSystem(change, cwd));
}

export function escalates(command: FoundCommand): boolean {
  const name = programName(command.argv[0]?.value ?? "");
  if (command.wrapped?.privileged === true || isPrivileging(name)) return true;
  return name === "chmod" && command.argv.some(({ value }) => /^[ugoa,]*[+=][rwxXt]*s|^[246][0-7]{3}$/.test(value));
}

/** Programs that read from the network, or from a service, but change nothing in these forms. */
export function onlyReads(command: FoundCommand): boolean {
  if (command.writes.length > 0 || command.assigns.length > 0) return false;
  const name = programName(command.argv[0]?.value ?? "");
  const words = command.argv.slice(1).map((word) => word.value);
  return Object.hasOwn(READS, name) && (READS[name]?.(words) ?? false);
}

/** What a well-known program does, for the question. */
export function whatItDoes({ argv }: FoundCommand): string | undefined {
  const name = programName(argv[0]?.value ?? "");
  const what = DOES.find(([names]) => names.has(name))?.[1];
  return what === undefined ? undefined : `${name} ${what}`;
}

const DOES: readonly (readonly [names: ReadonlySet<string>, what: string])[] = [
  ["rm rmdir unlink shred srm", "deletes files"],
  ["mv rename", "moves files"],
  ["cp install tee dd truncate ln rsync touch patch fallocate split csplit unzip gunzip", "writes files"],
  ["mkdir mktemp mkfifo mknod", "creates files or directories"],
  ["chmod chown chgrp setfacl chattr setfattr", "changes permissions or owners"],
  ["kill killall pkill skill", "sends signals to processes"],
  [
    "apt apt-get aptitude dpkg dnf yum zypper apk pacman brew snap flatpak pip pip3 gem",
    "installs or removes software",
  ],
  ["npm pnpm yarn npx cargo go mvn gradle make", "runs programs of the project"],
  ["curl wget ping ping6 dig host nslookup nc ncat telnet ftp traceroute whois", "uses the network"],
  ["ssh scp sftp mosh", "connects to another machine"],
  ["export set unset alias unalias declare typeset readonly shopt umask ulimit", "changes the shell itself"],
  ["useradd userdel usermod groupadd groupdel groupmod passwd chpasswd adduser deluser", "changes users or groups"],
  ["reboot shutdown poweroff halt init telinit", "stops or restarts the machine"],
  ["mount umount swapon swapoff losetup mkfs fdisk parted", "changes disks or mounts"],
  ["systemctl service rc-service initctl sv supervisorctl", "manages services"],
  ["docker podman nerdctl crictl ctr docker-compose podman-compose", "manages containers"],
  ["kubectl oc helm", "talks to a cluster"],
  ["aws gcloud az terraform tofu", "talks to a cloud"],
  ["psql mysql mariadb redis-cli mongosh sqlite3", "talks to a database"],
  ["iptables ip6tables nft ufw firewall-cmd ipset", "changes the firewall"],
  ["crontab at batch", "changes scheduled jobs"],
  ["sysctl modprobe insmod rmmod", "changes the kernel"],
  ["sudo su doas runuser pkexec", "runs a command as another user"],
  ["python python3 perl ruby node php lua deno bun", "runs a program"],
  ["vi vim nvim nano emacs ed less more man top htop", "is interactive and can run commands"],
].map(([names = "", what = ""]) => [new Set(words(names)), what]);

type Check = (words: readonly string[]) => boolean;
const any: Check = () => true;
const has =
  (pattern: RegExp): Check =>
  (words) =>
    words.some((word) => pattern.test(word));
const first =
  (pattern: RegExp): Check =>
  (words) =>
    pattern.test(words.find((word) => !word.startsWith("-")) ?? "");

const named = (names: string, check: Check) => Object.fromEntries(words(names).map((name) => [name, check]));

const HIGH: Readonly<Record<string, Check>> = {
  ...named(
    `
    reboot shutdown poweroff halt init telinit kexec killall pkill useradd userdel usermod groupadd groupdel
    groupmod passwd chpasswd adduser deluser visudo vipw iptables ip6tables nft ufw firewall-cmd ipset mkfs dd
    fdisk parted sgdisk sfdisk wipefs lvremove vgremove pvremove zpool mdadm cryptsetup shred blkdiscard umount
    swapoff losetup chattr truncate dropdb modprobe insmod rmmod setenforce ifdown eject`,
    any,
  ),
  systemctl: first(/^(?:stop|disable|mask|kill|reboot|poweroff|halt|isolate|rescue|emergency|set-default|revert)$/),
  service: has(/^(?:stop|restart)$/),
  kill: (words) => words.some((word) => word === "1" || word === "-1"),
  apt: first(/^(?:remove|purge|autoremove|full-upgrade|dist-upgrade)$/),
  "apt-get": first(/^(?:remove|purge|autoremove|dist-upgrade)$/),
  dpkg: has(/^(?:-r|-P|--remove|--purge|--force-\w+)$/),
  yum: first(/^(?:remove|erase|autoremove)$/),
  dnf: first(/^(?:remove|erase|autoremove)$/),
  rpm: has(/^-[a-zA-Z]*e|^--erase$/),
  pacman: has(/^-R/),
  apk: first(/^del$/),
  snap: first(/^remove$/),
  brew: first(/^(?:uninstall|remove)$/),
  zypper: first(/^(?:remove|rm)$/),
  zfs: first(/^destroy$/),
  mount: has(/./),
  rm: has(/^-[a-zA-Z]*[rR]|^--recursive$/),
  chmod: has(/^-[a-zA-Z]*R|^--recursive$/),
  chown: has(/^-[a-zA-Z]*R|^--recursive$/),
  setfacl: has(/^-[a-zA-Z]*R/),
  find: has(/^-delete$/),
  rsync: has(/^--del/),
  git: (words) =>
    (words.includes("push") &&
      words.some((word) => /^(?:--force|-f|--force-with-lease.*|--delete|-d|\+.*)$/.test(word))) ||
    (words.includes("reset") && words.includes("--hard")) ||
    (words.includes("clean") && words.some((word) => /^-[a-zA-Z]*f/.test(word))) ||
    words.includes("filter-branch"),
  docker: has(/^(?:prune|rm|rmi|kill|--privileged)$/),
  podman: has(/^(?:prune|rm|rmi|kill|--privileged)$/),
  kubectl: has(/^(?:delete|drain|cordon|replace|scale)$/),
  helm: has(/^(?:uninstall|delete|rollback)$/),
  terraform: has(/^(?:destroy|apply|taint|import)$/),
  tofu: has(/^(?:destroy|apply)$/),
  pulumi: has(/^(?:destroy|up)$/),
  aws: has(/^(?:delete-|terminate-|rm$|rb$)/),
  gcloud: has(/^delete$/),
  az: has(/^delete$/),
  crontab: has(/^-[a-z]*r/),
  sysctl: has(/^-w$|=/),
  hostnamectl: has(/^set-/),
  timedatectl: has(/^set-/),
  nmcli: has(/^(?:down|delete|off|modify)$/),
  ip: has(/^(?:del|delete|flush|down)$/),
  history: has(/^-c/),
};

const HTTP_READS: Check = (words) =>
  !words.some((word) =>
    /^(?:-X|--request|-d|--data.*|-F|--form.*|-T|--upload-file|-o|-O|--output.*|--json|-K|--config|-J|--remote-.*|-c|--cookie-jar|--trace.*|-D|--dump-header|--stderr|-E|--post.*|--method.*|--body.*)(?:=|$)|^-[a-zA-Z]*[dFToOXKJcD]/.test(
      word,
    ),
  );
const READS: Readonly<Record<string, Check>> = {
  ...named(
    "ping ping6 dig host nslookup traceroute tracepath mtr whois netstat lsof less more man top htop blkid ldd",
    any,
  ),
  curl: HTTP_READS,
  hostname: (words) => words.every((word) => word.startsWith("-")),
  kubectl: first(/^(?:get|describe|logs|top|version|cluster-info|explain|api-resources|diff)$/),
  helm: first(/^(?:list|ls|status|get|history|show|search|version)$/),
  terraform: first(/^(?:plan|show|output|validate|version|providers)$/),
  git: first(/^ls-remote$/),
  npm: first(/^(?:ls|list|view|info|outdated|audit)$/),
  pip: first(/^(?:list|show|freeze|check)$/),
  pip3: first(/^(?:list|show|freeze|check)$/),
  gh: (words) => /^(?:view|list|status|diff|checks)$/.test(words[1] ?? ""),
  brew: first(/^(?:list|info|search|outdated)$/),
  snap: first(/^(?:list|info|find)$/),
  openssl: first(/^(?:s_client|x509|version|verify)$/),
  psql: (words) => words.includes("-l"),
  zpool: first(/^(?:status|list|get|iostat)$/),
  parted: has(/^(?:-l|print)$/),
  sfdisk: has(/^(?:-l|-d)$/),
  sgdisk: has(/^-p$/),
  smartctl: has(/^-[aixHlA]/),
  tcpdump: (words) => !words.some((word) => /^-[a-zA-Z]*[wzW]/.test(word)),
};

/** A file of the system; or a critical path, unless files are only put into it. */
export function touchesSystem(change: LocatedChange, cwd: string | undefined): boolean {
  const { value } = change.field;
  const into = value === "." || change.does === "fills" || (change.does === "writes" && change.inside !== undefined);
  return startingAt(change.directories, cwd).some((directory) => {
    const from = isUnknown(directory) ? "." : directory;
    return pathsOf(change).some((path) => isOfSystem(path, from)) || (!into && criticalPath(value, from) !== undefined);
  });
}

function isOfSystem(path: string, directory: string): boolean {
  const { from, parts } = resolved(path, directory);
  return from === "/" && SYSTEM.some((name) => globMatches(parts[0] ?? "", name));
}

const SYSTEM = words("etc boot usr bin sbin lib lib32 lib64 libx32 sys proc");
