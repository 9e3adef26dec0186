/** Which package manager installed a file: what it owns is its to replace. */
import { askProgram, lookUpEnv } from "../../../lib/start-child.ts";

export interface PackageOwner {
  readonly manager: string;
  /** The command that updates it. */
  readonly how: string;
}

/** `path` without links in it. */
export function packageOwner(path: string): PackageOwner | undefined {
  const byPath = PATHS.find(([pattern]) => pattern.test(path));
  if (byPath !== undefined) return byPath[1];
  return DATABASES.find(({ ask }) => owns(ask, path));
}

const PATHS: readonly (readonly [RegExp, PackageOwner])[] = [
  [/\/(?:Cellar|linuxbrew|homebrew)\//, { manager: "Homebrew", how: "brew upgrade buddy" }],
  [/\/node_modules\//, { manager: "npm", how: "npm install --global buddy@latest" }],
  [/^\/nix\/store\//, { manager: "Nix", how: "nix profile upgrade buddy" }],
  [/^\/snap\//, { manager: "snap", how: "snap refresh buddy" }],
];

const DATABASES: readonly (PackageOwner & { readonly ask: readonly string[] })[] = [
  { manager: "dpkg", how: "install the newer .deb: apt install ./buddy_VERSION_ARCH.deb", ask: ["dpkg", "-S"] },
  { manager: "rpm", how: "install the newer .rpm: dnf install ./buddy-VERSION.ARCH.rpm", ask: ["rpm", "-qf"] },
  { manager: "apk", how: "install the newer .apk: apk add --allow-untrusted FILE", ask: ["apk", "info", "--who-owns"] },
  { manager: "pacman", how: "pacman -Syu", ask: ["pacman", "-Qo"] },
];

function owns([program = "", ...args]: readonly string[], path: string): boolean {
  const PATH = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  if (Bun.which(program, { PATH }) === null) return false;
  const env = lookUpEnv({ PATH, LC_ALL: "C" });
  return askProgram([program, ...args, path], { timeoutMs: 10_000, env }).code === 0;
}
