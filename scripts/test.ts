/**
 * The whole test run: system packages, checks, binary, tests with coverage; ends with `N passed, N failed, N skipped`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BuildTarget, downloadedRuntime } from "./build.ts";
import { readCoverage } from "./test-coverage.ts";
import { testEnvironment } from "./test-environment.ts";
import { startTestRun } from "./test-leftovers.ts";
import { installSystemPackages } from "./test-packages.ts";
import { readTestReport } from "./test-report.ts";

const ROOT = join(import.meta.dir, "..");
const REPORT = join(ROOT, "coverage/junit.xml");
/** What the tests found to be missing on this machine: test/support/needs.ts. */
const NEEDS = join(ROOT, "coverage/needs");
const COVERAGE_GOAL = 90;
/** Of what a failed test said, again at the end, where it is looked for. */
const WHY_LINES = 15;

function run(title: string, command: string[], env: Record<string, string | undefined> = process.env): boolean {
  console.log(`\n── ${title} ──`);
  return Bun.spawnSync(command, { cwd: ROOT, env, stdio: ["ignore", "inherit", "inherit"] }).exitCode === 0;
}

// Files that tests make have the modes that they expect.
process.umask(0o022);
const patterns = process.argv.slice(2);
const missing = installSystemPackages();
const failures: string[] = [];
if (!run("check", [process.execPath, "scripts/check.ts"])) failures.push("bun run check");
const built = run("build", [process.execPath, "scripts/build.ts"]);
if (!built) failures.push("bun run build");

// For the tests that build a release, which know no proxy and no certificates of this machine: what can be started here.
const runtimes: BuildTarget[] = ["linux-x64"];
if (Bun.which("musl-gcc")) runtimes.push("linux-x64-musl");
if (Bun.which("qemu-aarch64-static")) runtimes.push("linux-arm64");
for (const target of runtimes) {
  try {
    downloadedRuntime(target);
  } catch (error) {
    console.log(String(error));
  }
}

rmSync(join(ROOT, "coverage"), { recursive: true, force: true });
mkdirSync(NEEDS, { recursive: true });
const { TMPDIR = "/tmp" } = process.env;
// Tests write it into their scripts, and have sockets below it, whose paths have at most 104 bytes.
const tests = startTestRun(/^\/[\w./-]{1,19}$/.test(TMPDIR) ? TMPDIR : "/tmp");
// The tests end then, and what they leave is looked for as ever.
process.on("SIGINT", () => failures.push("interrupted"));
const testsOk = run(
  "test",
  [
    process.execPath,
    "test",
    // Two more than there are processors: the tests wait longer than they compute.
    `--parallel=${navigator.hardwareConcurrency + 2}`,
    "--timeout=60000",
    // The slowest files first, so that none of them is left over at the end; --update-timings writes them anew.
    "--timings=test/timings.json",
    "--coverage",
    "--coverage-reporter=lcov",
    "--reporter=junit",
    `--reporter-outfile=${REPORT}`,
    ...patterns,
  ],
  testEnvironment(ROOT, tests),
);
const { left, notes } = await tests.end();
const report = readTestReport(REPORT);
failures.push(...report.failed.map(({ name, why }) => [name, ...why.split("\n").slice(0, WHY_LINES)].join("\n    ")));
failures.push(...left.map((one) => `left behind: ${one}`));
if (!testsOk && report.failed.length === 0) failures.push("bun test: a file could not be run, see above");

const coverage = readCoverage(ROOT);
console.log("\n── result ──");
for (const { file, percent } of coverage.lowest) console.log(`  ${percent.toFixed(1).padStart(5)} % ${file}`);
const covered = `line coverage of src: ${coverage.percent.toFixed(1)} % of ${coverage.lines} lines`;
console.log(`${covered} (goal ${COVERAGE_GOAL} %)`);
const skips = join(NEEDS, "skipped");
const missingNeeds = existsSync(skips) ? readFileSync(skips, "utf8").trim().split("\n") : [];
// A part of the tests covers a part of the lines, and so do the tests of a machine that lacks something.
if (patterns.length === 0 && missingNeeds.length === 0 && coverage.percent < COVERAGE_GOAL)
  failures.push(`${covered}, below ${COVERAGE_GOAL} %`);
if (missing.length > 0) console.log(`not on this machine: ${missing.join(", ")}`);
for (const note of notes) console.log(`perhaps left behind, ${note}`);
for (const line of [...new Set(missingNeeds)].sort()) console.log(`skipped in ${line}`);
for (const name of failures) console.log(`FAILED: ${name}`);
console.log(`${report.passed} passed, ${failures.length} failed, ${report.skipped.length} skipped`);
process.exitCode = failures.length === 0 ? 0 : 1;
