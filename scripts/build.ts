/** Builds the binary: `bun scripts/build.ts [--release | TARGET...]`; without arguments dist/buddy for this machine. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { devDependencies } from "../package.json";
import { adhocSign } from "./macho-adhoc-sign.ts";

const ROOT = join(import.meta.dir, "..");
const DIST = join(ROOT, "dist");
const MAIN = join(ROOT, "src/main.ts");

/** Release target → npm package that holds Bun's runtime for it; bun.lock pins each by hash. */
export const TARGETS = {
  "linux-x64": "@oven/bun-linux-x64",
  "linux-arm64": "@oven/bun-linux-aarch64",
  "linux-x64-musl": "@oven/bun-linux-x64-musl",
  "linux-arm64-musl": "@oven/bun-linux-aarch64-musl",
  "darwin-x64": "@oven/bun-darwin-x64",
  "darwin-arm64": "@oven/bun-darwin-aarch64",
} as const;
export type BuildTarget = keyof typeof TARGETS;

/** src/tools/schemas.ts says why. A macro fails if the checkout's path contains a quote. */
const SCHEMAS: Bun.BunPlugin = {
  name: "ready-made tool definitions",
  setup(build) {
    build.onLoad({ filter: /[/\\]src[/\\]tools[/\\]schemas\.ts$/ }, async () => {
      const { builtinSchemas } = await import("../src/tools/schemas.ts");
      return { contents: `export const builtinSchemas = () => ${JSON.stringify(builtinSchemas())};`, loader: "js" };
    });
  },
};

export interface CompileOptions {
  readonly entry?: string;
  /** Where `buddy update` finds releases; a build without it is one from a checkout. */
  readonly releases?: string;
}

/** Compiles src/main.ts (or another entry) for a target; the file appears whole or not at all. */
export async function compile(
  target: BuildTarget,
  runtime: string,
  outfile: string,
  { entry = MAIN, releases }: CompileOptions = {},
): Promise<void> {
  const work = join(DIST, ".work", `${target}-${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    // The name given here is stored inside the binary: one name for all keeps repeated builds byte-identical.
    const built = join(work, "buddy");
    const { logs } = await Bun.build({
      entrypoints: [entry],
      root: ROOT,
      compile: {
        target: `bun-${target}` as Bun.Build.CompileTarget,
        executablePath: runtime,
        outfile: built,
        // Otherwise a binary reads .env and bunfig.toml of the directory it is started in, and a preload there runs
        // code.
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
        // Compiling code that runs once takes 2.3 ms of a one-shot answer. src/main.ts ends it.
        jitPolicy: 64,
      },
      target: "bun",
      minify: true,
      splitting: true,
      // Without the format the build succeeds and the binary is dead.
      bytecode: true,
      format: "esm",
      allowUnresolved: [],
      // The map is 3 MB of a download: a release leaves it out, and a build of its tag has it.
      sourcemap: releases === undefined ? "linked" : "none",
      define: {
        "process.env.NODE_ENV": '"production"',
        ...(releases !== undefined && { BUDDY_RELEASES: JSON.stringify(releases) }),
      },
      plugins: [SCHEMAS],
    });
    // A failure to make bytecode fails no build.
    if (logs.some(({ message }) => /bytecode/i.test(message))) throw new Error(logs.map(String).join("\n"));
    // Bun 1.4.4 leaves the runtime's stale signature in place here, and macOS kills such a binary.
    if (target === "darwin-x64") writeFileSync(built, adhocSign(readFileSync(built), "buddy"));
    // By a copy beside it: /tmp, where tests build, may be another file system.
    copyFileSync(built, `${outfile}.new`);
    renameSync(`${outfile}.new`, outfile);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

export function hostTarget(): BuildTarget {
  const name = `${process.platform}-${process.arch}${process.platform === "linux" && usesMusl() ? "-musl" : ""}`;
  if (!(name in TARGETS)) throw new Error(`no build for ${name}; known: ${Object.keys(TARGETS).join(", ")}`);
  return name as BuildTarget;
}

/** Builds dist/buddy with the Bun that runs this script. */
export async function buildHost(): Promise<string> {
  const out = join(DIST, "buddy");
  mkdirSync(DIST, { recursive: true });
  await compile(hostTarget(), process.execPath, out);
  return out;
}

async function buildRelease(targets: readonly BuildTarget[]): Promise<void> {
  mkdirSync(DIST, { recursive: true });
  const sums: string[] = [];
  for (const target of targets) {
    const file = `buddy-${target}`;
    const started = performance.now();
    await compile(target, downloadedRuntime(target), join(DIST, file));
    const bytes = readFileSync(join(DIST, file));
    sums.push(`${createHash("sha256").update(bytes).digest("hex")}  ${file}`);
    report(file, bytes.length, started);
  }
  writeFileSync(join(DIST, "SHA256SUMS"), `${sums.join("\n")}\n`);
}

/** The runtime of another platform, from the registry this machine is configured for and checked against bun.lock. */
export function downloadedRuntime(target: BuildTarget): string {
  const dir = join(ROOT, "node_modules/.cache/bun-runtimes", `${target}-${devDependencies.bun}`);
  const exe = join(dir, "node_modules", TARGETS[target], "bin/bun");
  if (existsSync(exe)) return exe;
  // Several test processes may come here at once: each installs beside, and the first one to be done is taken.
  const beside = `${dir}.${process.pid}`;
  mkdirSync(beside, { recursive: true });
  try {
    for (const file of ["package.json", "bun.lock"]) copyFileSync(join(ROOT, file), join(beside, file));
    const [os, cpu, libc] = target.split("-");
    const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(os === "linux" ? [`--libc=${libc ?? "glibc"}`] : [])];
    run([process.execPath, "install", "--frozen-lockfile", "--ignore-scripts", ...platform], beside);
    chmodSync(join(beside, "node_modules", TARGETS[target], "bin/bun"), 0o755);
    if (!existsSync(exe)) renameSync(beside, dir);
  } catch (error) {
    if (!existsSync(exe)) throw error;
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
  return exe;
}

function usesMusl(): boolean {
  const ldd = Bun.spawnSync(["sh", "-c", "ldd --version 2>&1 || true"]);
  return ldd.stdout.toString().includes("musl");
}

function run(command: string[], cwd = ROOT): void {
  const done = Bun.spawnSync(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const output = done.stdout.toString() + done.stderr.toString();
  if (done.exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${output}`);
}

function report(file: string, bytes: number, started: number): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${`dist/${file}`.padEnd(28)} ${(bytes / 1e6).toFixed(1).padStart(6)} MB  ${seconds} s`);
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  const names = args.filter((arg) => arg !== "--release");
  const unknown = names.find((name) => !(name in TARGETS));
  if (unknown !== undefined) {
    console.error(`unknown target ${unknown}; known: ${Object.keys(TARGETS).join(", ")}, or --release for all`);
    process.exit(2);
  }
  if (names.length > 0) await buildRelease(names as BuildTarget[]);
  else if (args.includes("--release")) await buildRelease(Object.keys(TARGETS) as BuildTarget[]);
  else {
    const started = performance.now();
    report("buddy", Bun.file(await buildHost()).size, started);
  }
}
