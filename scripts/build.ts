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
/** What a short answer uses (scripts/make-bytecode-order.ts). */
export const ORDER = join(import.meta.dir, "bytecode-order.txt");

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

/**
 * citty imports node:util for one function, and loading that module costs every start 1 ms: it gets a function of ours
 * that reads the lines which the strict parser in front of it writes.
 */
const CITTY: Bun.BunPlugin = {
  name: "citty without node:util",
  setup(build) {
    build.onLoad({ filter: /[/\\]citty[/\\]dist[/\\]index\.mjs$/ }, async ({ path }) => {
      const ours = JSON.stringify(join(ROOT, "src/cli/args/read-plain-line.ts"));
      const contents = await Bun.file(path).text();
      const changed = contents.replace(
        /^import \{ parseArgs as (\S+) \} from "node:util";$/m,
        `import { readPlainLine as $1 } from ${ours};`,
      );
      if (changed === contents) throw new Error(`${path} no longer imports parseArgs of node:util`);
      return { contents: changed, loader: "js" };
    });
  },
};

/**
 * Templates become strings of their chunk: left to itself, a compiled program requires a text as a file, and the first
 * require of a process costs 1 ms. (Bun gives the loader of the extension here, whatever the import says.)
 */
const TEMPLATES: Bun.BunPlugin = {
  name: "templates are strings",
  setup(build) {
    build.onLoad({ filter: /[/\\]templates[/\\][^/\\]+(?:[/\\][^/\\]+)?$/ }, async ({ path }) => ({
      contents: `export default ${JSON.stringify(await Bun.file(path).text())};`,
      loader: "js",
    }));
  },
};

/**
 * Private names become ordinary ones in the program, where no other code could use them: making a symbol for each, and
 * fields with it, took 0.4 ms of a one-shot answer. test/architecture.test.ts checks that `#` stands for nothing else.
 */
const PRIVATE_NAMES: Bun.BunPlugin = {
  name: "private names are ordinary names",
  setup(build) {
    build.onLoad({ filter: /[/\\]src[/\\].+\.ts$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(PRIVATE_NAME, "_$1"),
      loader: "ts",
    }));
  },
};
/** Where it is declared, or behind the dot where it is used. */
export const PRIVATE_NAME = /(?<=^ +(?:[a-z]+ )*\*?|\.)#([a-zA-Z]\w*)/gm;

/** src/model/catalog-text.ts says why. */
const CATALOG: Bun.BunPlugin = {
  name: "the catalog by letters",
  setup(build) {
    build.onLoad({ filter: /[/\\]src[/\\]model[/\\]catalog-text\.ts$/ }, async () => {
      const parts = catalogParts(await Bun.file(join(ROOT, "templates/models.toml")).text());
      const functions = [...parts].map(([letter, text]) => `${JSON.stringify(letter)}: () => ${JSON.stringify(text)}`);
      const contents = `const parts = { ${functions.join(", ")} };
export function rulesFrom(letter) { return Object.hasOwn(parts, letter) ? parts[letter]() : ""; }`;
      return { contents, loader: "js" };
    });
  },
};

/** Exact rules by the first letter of their names, in small letters; the others under "". */
export function catalogParts(catalog: string): Map<string, string> {
  const parts = new Map<string, string>();
  for (const line of catalog.split("\n")) {
    const letter = /^ {2}\{ exact = "(.)/.exec(line)?.[1]?.toLowerCase() ?? "";
    parts.set(letter, `${parts.get(letter) ?? "\n"}${line}\n`);
  }
  return parts;
}

/** src/tools/schemas.ts says why. (A macro would do it, too, but not in a directory with a quote in its name.) */
const SCHEMAS: Bun.BunPlugin = {
  name: "the definitions of tools, ready made",
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
        // For the first moments, whose code runs once: compiling it took 1 ms of a one-shot answer, and more of the
        // other processors. src/main.ts ends it.
        jitPolicy: 64,
        // Fewer pages to read for what a start uses: 2 ms of a one-shot answer.
        bytecodeOrder: entry === MAIN && ORDER,
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
      plugins: [CITTY, TEMPLATES, CATALOG, SCHEMAS, PRIVATE_NAMES],
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
