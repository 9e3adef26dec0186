/** Writing to disks and formatting them. */
import { changesBy, pathsOf, type Verb } from "../../effects/file-changes.ts";
import { type Field, isUnknown, programName, readable } from "../syntax/field.ts";
import { isDisk } from "./protected-paths.ts";
import type { Write } from "../syntax/redirections.ts";
import { type Danger, diskWrite } from "./danger.ts";

export function writeDanger(writes: readonly Write[]): Danger | undefined {
  const write = writes.find((item) => item.disk);
  return write === undefined ? undefined : diskWrite(`writing to ${readable(write.file)}`);
}

export function diskDanger(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const name = programName(argv[0]?.value ?? "");
  const inDevices = directories.find((directory) => isDevices(directory));
  // After `cd /dev`, names are relative to it.
  const words = argv.slice(1).map(({ value }) => (inDevices === undefined ? value : whole(value, inDevices)));
  if (words.some((word) => /^(?:--help|--version|-V|-\?)$/.test(word))) return undefined;
  const found = Object.hasOwn(CHECKS, name)
    ? CHECKS[name]
    : /^(?:mkfs\.|newfs_|mkfs$|newfs$)/.test(name)
      ? formats(name)
      : undefined;
  return found?.(words) === true || writesTo(words).some((path) => isDisk(path)) || changesDisk(argv, directories)
    ? diskWrite([name, ...words.slice(0, 4)].map(readable).join(" "))
    : undefined;
}

function changesDisk(argv: readonly Field[], directories: readonly string[]): boolean {
  return changesBy(argv).changes.some(
    (change) =>
      WRITING.has(change.does) && pathsOf(change).some((path) => directories.some((cwd) => isDisk(path, cwd))),
  );
}

const WRITING: ReadonlySet<Verb> = new Set<Verb>(["empties", "writes", "replaces", "fills"]);

const isDevices = (directory: string) => /^\/+dev\/*$/.test(directory);
/** `sda` and `of=sda` with the directory they are in. */
const whole = (word: string, directory: string) =>
  word.startsWith("-") ? word : word.replace(/^((?:h?of|wipe)=)?(?=[a-z])/, `$1${directory}/`);

/** Where an option or operand sends the output of any program. */
function writesTo(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    const glued = /^(?:h?of=|h?wipe=|--?(?:of|out|output|output-file|overwrite)=|-[oO](?=\/))([^]+)$/.exec(word)?.[1];
    if (glued !== undefined) return [glued];
    return /^(?:-o|-O|-of|-out|--out|--output|--output-file|--overwrite)$/.test(word) ? [words[index + 1] ?? ""] : [];
  });
}

/** Not an image file, recognised by its name. mke2fs -n only reports. */
const formats = (name: string) => (words: readonly string[]) =>
  !(/^(?:mkfs\.ext[234]|mke2fs)$/.test(name) && words.includes("-n")) &&
  !(words.some(isImage) && !words.some((word) => isDisk(word) || isUnknown(word)));
const isImage = (word: string) => /^[^-].*\.(?:img|image|raw|iso|bin|ext[234]|qcow2)$/i.test(word);

type Check = (words: readonly string[]) => boolean;

const operands = (words: readonly string[]) => words.filter((word) => !word.startsWith("-"));
const anyDisk: Check = (words) => operands(words).some((word) => isDisk(word));
const lastDisk: Check = (words) => isDisk(operands(words).at(-1) ?? "");
const has = (words: readonly string[], pattern: RegExp) => words.some((word) => pattern.test(word));
const partitions: Check = (words) =>
  anyDisk(words) &&
  !has(
    words,
    /^(?:-l|-x|--list|-s|-d|--dump|-J|--json|-g|--show-\w+|-G|--show-geometry|-F|--list-free|-V|--verify|-p|--print|-i|-v|print|-m|-n)$/,
  );

const CHECKS: Readonly<Record<string, Check>> = {
  badblocks: (words) => anyDisk(words) && has(words, /^-[a-z]*w/),
  blkdiscard: anyDisk,
  wipefs: (words) =>
    anyDisk(words) &&
    has(words, /^(?:-[a-zA-Z]*[ao]|--al?l?$|--of)/) &&
    !has(words, /^(?:-[a-zA-Z]*n[a-zA-Z]*|--no-a\w*)$/),
  mke2fs: formats("mke2fs"),
  "qemu-img": (words) => /^(?:convert|dd|rebase)$/.test(words[0] ?? "") && lastDisk(words),
  bmaptool: (words) => words[0] === "copy" && lastDisk(words),
  xfs_copy: (words) =>
    operands(words)
      .slice(1)
      .some((path) => isDisk(path)),
  e2image: lastDisk,
  socat: (words) =>
    /^(?:OPEN|CREATE|GOPEN|FILE)\w*:/i.test(words.at(-1) ?? "") &&
    isDisk((words.at(-1) ?? "").replace(/^\w+:|,.*$/g, "")),
  mkdosfs: () => true,
  mkntfs: () => true,
  mkswap: anyDisk,
  mkreiserfs: () => true,
  fdisk: (words) => anyDisk(words) && !has(words, /^(?:-[a-zA-Z]*[lsx]|--list|--list-details|--getsz)$/),
  cfdisk: anyDisk,
  sfdisk: partitions,
  gdisk: partitions,
  cgdisk: anyDisk,
  sgdisk: (words) =>
    anyDisk(words) &&
    has(
      words,
      /^(?:-[a-zA-Z]*[ZzondctuRrGgBe]|--(?:zap|new|delete|clear|typecode|load|randomize|replicate|mbrtogpt|change-name|largest-new|partition-guid|disk-guid|move))/,
    ),
  parted: (words) =>
    anyDisk(words) && has(words, /^(?:mk\w+|rm|resizepart|set|disk_set|name|rescue|toggle|move|resize|cp)$/),
  diskutil: (words) =>
    has(words, /^(?:erase\w*|partitionDisk|zeroDisk|randomDisk|secureErase|reformat)$/i) ||
    (words[0] === "apfs" && has(words, /^(?:delete|erase)/i)),
  cryptsetup: (words) => has(words, /^(?:luksFormat|format|erase|luksErase|reencrypt|luksKillSlot)$/),
  lvremove: () => true,
  vgremove: () => true,
  pvremove: () => true,
  pvcreate: anyDisk,
  lvm: (words) => has(words, /^(?:lv|vg|pv)remove$/),
  zpool: (words) => /^(?:destroy|labelclear|create)$/.test(words[0] ?? ""),
  zfs: (words) => words[0] === "destroy",
  btrfs: (words) => words[0] === "device" && words[1] === "delete",
  mdadm: (words) => has(words, /^(?:--z\S*|--cr\w*|-C)$/),
  hdparm: (words) =>
    has(
      words,
      /^--(?:security-er\w*|security-s\S*|trim-sector\w*|write-sector|make-bad-sector|repair-sector|yes-i-know\S*)$/,
    ),
  nvme: (words) => /^(?:format|sanitize|write|write-zeroes|delete-ns|security-send)$/.test(words[0] ?? ""),
  sg_format: () => true,
  flashrom: (words) => has(words, /^(?:-w|--write|-E|--erase)$/),
  flash_erase: () => true,
  flash_eraseall: () => true,
};
