/**
 * Reads that would get wrong results in a read-only mount namespace: there every mount is read-only, other processes
 * cannot be inspected, and without root the files of other users have no owner. They need approval.
 */
import { words } from "../../lib/text.ts";
import type { ShellJudgement } from "../verdict.ts";

/** Why the text cannot run in the namespace; undefined if it can. `owners`: owners of files are right in it. */
export function distortedInNamespace(text: string, { commands }: ShellJudgement, owners: boolean): string | undefined {
  if (PROCESS_FILES.test(text)) return "it looks into a process or at the mounts";
  if (WRITABLE.test(text)) return "it asks what can be written";
  for (const { words: argv } of commands) {
    const name = (argv[0] ?? "").split("/").at(-1) ?? "";
    if (MOUNTS_AND_PROCESSES.has(name)) return `${name} looks into processes or at the mounts`;
    if (/^(?:ss|netstat)$/.test(name) && argv.some((word) => /^-\w*p|^--p/.test(word)))
      return `${name} looks into processes`;
    if (!owners && showsOwners(name, argv.slice(1))) return `${name} shows who owns what`;
  }
  return undefined;
}

/** Without root: it runs there, but shows `nobody` instead of other users, on which nothing in it depends. */
export function onlyHidesOwners(text: string, judged: ShellJudgement): boolean {
  if (distortedInNamespace(text, judged, true) !== undefined) return false;
  return judged.commands.every(({ words: [program = "", ...args] }) => {
    const name = program.split("/").at(-1) ?? "";
    return !(showsOwners(name, args) && dependsOnOwners(name, args));
  });
}

function dependsOnOwners(name: string, args: readonly string[]): boolean {
  const has = (pattern: RegExp) => args.some((word) => pattern.test(word));
  if (name === "find") return has(/^-(?:user|uid|group|gid|nouser|nogroup)$/);
  if (/^(?:ps|pgrep|top|htop|pidstat)$/.test(name)) return has(/^-\w*[uUgG]|^--(?:user|group|euid|uid)/);
  return /^(?:test|\[|\[\[|rpm|dpkg|debsums|lslogins)$/.test(name);
}

const PROCESS_FILES = /\/proc\/(?:self|thread-self|mounts|[\d*?[{$"'])|\/etc\/mtab|\/proc\/?(?=["'\s*;|&)]|$)/;
const WRITABLE = /(?:\[|\btest)\s.*-w\s|-writable\b/;

const MOUNTS_AND_PROCESSES = new Set(
  words("mount findmnt mountpoint lsof fuser pmap pwdx lsns ipcs lsipc nvme smartctl btrfs zfs zpool iotop perf"),
);

function showsOwners(name: string, args: readonly string[]): boolean {
  const has = (pattern: RegExp) => args.some((word) => pattern.test(word));
  if (OWNERS.has(name)) return true;
  if (/^(?:ls|dir|vdir|ll|exa|eza|tree|namei)$/.test(name)) return name === "vdir" || has(/^-[^-]*[lngou]|^--/);
  if (name === "find") return has(/^-(?:ls|fls|printf|fprintf|user|uid|group|gid|nouser|nogroup)$/);
  return /^(?:rpm|dpkg|debsums)$/.test(name) && has(/^-[^-]*V|^--verify/);
}

const OWNERS = new Set(
  words(`stat ps pgrep top htop atop pidstat id groups getfacl lslogins w pstree systemd-cgls systemd-cgtop test [ [[`),
);
