/** deb, rpm and apk packages, written without their tools: the same files in the places of each system. */
import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import type { BuildTarget } from "../build.ts";
import { ar, type ArchiveFile, cpio, file, gzip, padded, sha256, tar, typedMode } from "./archives.ts";

export interface PackageFacts {
  readonly version: string;
  readonly homepage: string;
  readonly mtime: number;
}

/** What every package of one target holds. */
export interface PackageContents {
  readonly binary: Uint8Array;
  readonly man: string;
  readonly license: string;
  readonly notices: string;
  readonly completions: Readonly<Record<"bash" | "zsh" | "fish", string>>;
}

const SUMMARY = "A terminal agent for people who run machines";
const DESCRIPTION = [
  "You talk to it in a REPL or pipe through buddy exec. It works in a shared tmux",
  "pane you can attach to, on this machine, on a host over SSH, or inside a",
  "container, and it asks before it changes anything.",
];

/** File name → bytes, for the kinds of packages that this target is for. */
export function linuxPackages(
  target: BuildTarget,
  contents: PackageContents,
  facts: PackageFacts,
): ReadonlyMap<string, Buffer> {
  const [os, cpu = "", libc] = target.split("-");
  const packages = new Map<string, Buffer>();
  if (os !== "linux") return packages;
  const [debian = "", other = ""] = ARCHITECTURES[cpu] ?? [];
  if (libc === "musl") {
    packages.set(`buddy-${apkVersion(facts.version)}.${other}.apk`, apk(contents, facts, other));
    return packages;
  }
  packages.set(`buddy_${debianVersion(facts.version)}_${debian}.deb`, deb(contents, facts, debian));
  packages.set(`buddy-${rpmVersion(facts.version)}-1.${other}.rpm`, rpm(contents, facts, other));
  return packages;
}

const ARCHITECTURES: Readonly<Record<string, readonly [debian: string, other: string]>> = {
  x64: ["amd64", "x86_64"],
  arm64: ["arm64", "aarch64"],
};

/** `1.0.0-rc.1` sorts before `1.0.0` with a tilde, in Debian and in rpm. */
function debianVersion(version: string): string {
  return version.replace("-", "~");
}

function rpmVersion(version: string): string {
  return version.replace("-", "~");
}

function apkVersion(version: string): string {
  return `${version.replace("-rc.", "_rc")}-r0`;
}

/** `zsh`: where the zsh of this system looks for completions of packages. */
function installedFiles({ binary, man, license, notices, completions }: PackageContents, zsh: string): ArchiveFile[] {
  const doc = "usr/share/doc/buddy";
  return [
    file("usr/bin/buddy", binary, 0o755),
    file("usr/share/bash-completion/completions/buddy", completions.bash),
    file(`${doc}/THIRD-PARTY-NOTICES`, notices),
    file(`${doc}/copyright`, license),
    file("usr/share/fish/vendor_completions.d/buddy.fish", completions.fish),
    file("usr/share/man/man1/buddy.1.gz", gzip(Buffer.from(man))),
    file(`usr/share/zsh/${zsh}/_buddy`, completions.zsh),
  ];
}

function sizeOf(files: readonly ArchiveFile[]): number {
  return files.reduce((all, { data }) => all + data.length, 0);
}

// deb: an ar archive of two tars. gzip inside: dpkg reads zstd only since Debian 12.

function deb(contents: PackageContents, { version, homepage, mtime }: PackageFacts, architecture: string): Buffer {
  const files = installedFiles(contents, "vendor-completions");
  const control = [
    "Package: buddy",
    `Version: ${debianVersion(version)}`,
    `Architecture: ${architecture}`,
    "Maintainer: the buddy authors <noreply@users.noreply.github.com>",
    `Installed-Size: ${Math.ceil(sizeOf(files) / 1024)}`,
    "Depends: libc6 (>= 2.17)",
    "Recommends: tmux, openssh-client",
    "Section: admin",
    "Priority: optional",
    `Homepage: ${homepage}`,
    `Description: ${SUMMARY.replace(/^A /, "")}`,
    ...DESCRIPTION.map((line) => ` ${line}`),
    "",
  ].join("\n");
  const sums = files.map(({ path, data }) => `${createHash("md5").update(data).digest("hex")}  ${path}\n`).join("");
  const dotted = (list: readonly ArchiveFile[]) => list.map((entry) => ({ ...entry, path: `./${entry.path}` }));
  const controlTar = tar(dotted([file("control", control), file("md5sums", sums)]), mtime);
  return ar(
    [
      file("debian-binary", "2.0\n"),
      file("control.tar.gz", gzip(controlTar)),
      file("data.tar.gz", gzip(tar(dotted(files), mtime))),
    ],
    mtime,
  );
}

// apk: three gzip members; the signature is left out (install with --allow-untrusted): control, then data.

function apk(contents: PackageContents, { version, homepage, mtime }: PackageFacts, architecture: string): Buffer {
  const files = installedFiles(contents, "site-functions").map((entry): ArchiveFile => ({
    ...entry,
    pax: { "APK-TOOLS.checksum.SHA1": createHash("sha1").update(entry.data).digest("hex") },
  }));
  const data = gzip(tar(files, mtime));
  const info = [
    "pkgname = buddy",
    `pkgver = ${apkVersion(version)}`,
    `pkgdesc = ${SUMMARY}`,
    `url = ${homepage}`,
    `builddate = ${mtime}`,
    `size = ${sizeOf(files)}`,
    `arch = ${architecture}`,
    "license = MIT",
    "depend = libstdc++",
    `depend = so:libc.musl-${architecture}.so.1`,
    `provides = cmd:buddy=${apkVersion(version)}`,
    `datahash = ${sha256(data)}`,
    "",
  ].join("\n");
  return Buffer.concat([gzip(tar([file(".PKGINFO", info)], mtime, { open: true })), data]);
}

// rpm: a lead for old readers, a header with sizes and digests, a header with everything else, a compressed cpio.

function rpm(contents: PackageContents, { version, homepage, mtime }: PackageFacts, architecture: string): Buffer {
  // Its own directory, too: what no package names stays when the package is removed.
  const files = [...installedFiles(contents, "site-functions"), file("usr/share/doc/buddy/", "", 0o755)].sort((a, b) =>
    a.path < b.path ? -1 : 1,
  );
  const archive = cpio(files, mtime);
  const payload = gzip(archive);
  const directories = [...new Set(files.map(({ path }) => directoryOf(path)))];
  const requires: readonly (readonly [string, number, string])[] = [
    ["libc.so.6(GLIBC_2.17)(64bit)", 0, ""],
    ["rpmlib(CompressedFileNames)", RPMLIB, "3.0.4-1"],
    ["rpmlib(FileDigests)", RPMLIB, "4.6.0-1"],
    ["rpmlib(PayloadFilesHavePrefix)", RPMLIB, "4.0-1"],
  ];
  const each = <T>(value: (entry: ArchiveFile, index: number) => T): T[] => files.map(value);
  const full = `${rpmVersion(version)}-1`;
  const header = rpmHeader(63, [
    [100, "strings", ["C"]],
    [1000, "string", "buddy"],
    [1001, "string", rpmVersion(version)],
    [1002, "string", "1"],
    [1004, "i18n", [SUMMARY]],
    [1005, "i18n", [DESCRIPTION.join("\n")]],
    [1006, "int32", [mtime]],
    [1007, "string", "localhost"],
    [1009, "int32", [sizeOf(files)]],
    [1014, "string", "MIT"],
    [1016, "i18n", ["Applications/System"]],
    [1020, "string", homepage],
    [1021, "string", "linux"],
    [1022, "string", architecture],
    [1028, "int32", each(({ data }) => data.length)],
    [1030, "int16", each(typedMode)],
    [1033, "int16", each(() => 0)],
    [1034, "int32", each(() => mtime)],
    [1035, "strings", each(({ path, data }) => (path.endsWith("/") ? "" : sha256(data)))],
    [1036, "strings", each(() => "")],
    [1037, "int32", each(({ path }) => (path.includes("/doc/") || path.includes("/man/") ? RPM_DOC : 0))],
    [1039, "strings", each(() => "root")],
    [1040, "strings", each(() => "root")],
    [1044, "string", `buddy-${full}.src.rpm`],
    [1045, "int32", each(() => -1)],
    [1047, "strings", ["buddy"]],
    [1048, "int32", requires.map(([, flags]) => flags)],
    [1049, "strings", requires.map(([name]) => name)],
    [1050, "strings", requires.map(([, , least]) => least)],
    [1064, "string", "4.14.0"],
    [1095, "int32", each(() => 1)],
    [1096, "int32", each((_, index) => index + 1)],
    [1097, "strings", each(() => "")],
    [1112, "int32", [8]],
    [1113, "strings", [full]],
    [1116, "int32", each(({ path }) => directories.indexOf(directoryOf(path)))],
    [1117, "strings", each(({ path }) => basename(path))],
    [1118, "strings", directories],
    [1124, "string", "cpio"],
    [1125, "string", "gzip"],
    [1126, "string", "9"],
    [5011, "int32", [RPM_SHA256]],
    [5062, "string", "utf-8"],
    [5092, "strings", [sha256(payload)]],
    [5093, "int32", [RPM_SHA256]],
  ]);
  const signed = Buffer.concat([header, payload]);
  const signature = rpmHeader(62, [
    [269, "string", createHash("sha1").update(header).digest("hex")],
    [273, "string", sha256(header)],
    [1000, "int32", [signed.length]],
    [1004, "binary", createHash("md5").update(signed).digest()],
    [1007, "int32", [archive.length]],
  ]);
  return Buffer.concat([rpmLead(`buddy-${full}`, architecture), padded(signature, 8), signed]);
}

const RPMLIB = (1 << 24) | (1 << 1) | (1 << 3); // rpmlib(), less or equal
const RPM_DOC = 2;
const RPM_SHA256 = 8;

function directoryOf(path: string): string {
  return `/${dirname(path)}/`;
}

function rpmLead(name: string, architecture: string): Buffer {
  const lead = Buffer.alloc(96);
  lead.set([0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0]);
  lead.writeUInt16BE(architecture === "x86_64" ? 1 : 12, 8);
  lead.write(name.slice(0, 65), 10);
  lead.writeUInt16BE(1, 76); // linux
  lead.writeUInt16BE(5, 78); // signature: a header
  return lead;
}

type RpmEntry =
  | readonly [tag: number, type: "string", value: string]
  | readonly [tag: number, type: "strings" | "i18n", value: readonly string[]]
  | readonly [tag: number, type: "int16" | "int32", value: readonly number[]]
  | readonly [tag: number, type: "binary", value: Buffer];

const RPM_TYPES = { int16: 3, int32: 4, string: 6, binary: 7, strings: 8, i18n: 9 } as const;

/** An index of entries and the store of their values; the region tag says that everything in it belongs together. */
function rpmHeader(region: number, entries: readonly RpmEntry[]): Buffer {
  const index: Buffer[] = [];
  let store = Buffer.alloc(0);
  for (const [tag, type, value] of [...entries].sort(([a], [b]) => a - b)) {
    if (type === "int16") store = padded(store, 2) as Buffer<ArrayBuffer>;
    if (type === "int32") store = padded(store, 4) as Buffer<ArrayBuffer>;
    const data = rpmValue(type, value);
    index.push(words(tag, RPM_TYPES[type], store.length, type === "string" ? 1 : value.length));
    store = Buffer.concat([store, data]);
  }
  const trailer = words(region, RPM_TYPES.binary, -16 * (index.length + 1), 16);
  index.unshift(words(region, RPM_TYPES.binary, store.length, 16));
  const start = Buffer.concat([Buffer.from([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0]), words(index.length, store.length + 16)]);
  return Buffer.concat([start, ...index, store, trailer]);
}

function rpmValue(type: RpmEntry[1], value: RpmEntry[2]): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === "string") return Buffer.from(`${value}\0`);
  if (type === "int16") {
    const bytes = Buffer.alloc(2 * value.length);
    (value as readonly number[]).forEach((number, i) => bytes.writeUInt16BE(number, 2 * i));
    return bytes;
  }
  if (type === "int32") return words(...(value as readonly number[]));
  return Buffer.from((value as readonly string[]).map((text) => `${text}\0`).join(""));
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeInt32BE(value | 0, 4 * i));
  return bytes;
}
