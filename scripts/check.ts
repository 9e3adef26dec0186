/** Everything that can be said of the code without running it: `bun run check [--strict] [--fix]`. */
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const BIN = join(ROOT, "node_modules/.bin");
const SOURCES = ["src", "test", "scripts", "bench"];
const strict = process.argv.includes("--strict");
const fix = process.argv.includes("--fix");

// Without --strict, a type that only a part in progress will use is let pass.
const knip = strict ? [] : ["--exclude", "types,nsTypes"];
// Programs of packages run in Bun, whatever Node there is.
const bun = process.execPath;
const CHECKS: Record<string, string[]> = {
  format: [bun, "fmt", ...(fix ? [] : ["--check"]), "--no-script", ...SOURCES],
  lint: [bun, join(BIN, "oxlint"), ...(fix ? ["--fix"] : []), ...SOURCES],
  types: [bun, "check", "--no-script"],
  unused: [bun, join(BIN, "knip"), "--no-progress", "--no-config-hints", ...knip],
  lockfile: [bun, join(ROOT, "scripts/check-lock.ts")],
  imports: [bun, "test", "--timeout=60000", "test/architecture.test.ts"],
};
if (Bun.which("shellcheck") === null)
  console.log("scripts   skipped: shellcheck is not installed (Debian package shellcheck)");
else {
  const scripts = [...new Bun.Glob("templates/{target,shell-init}/*.sh").scanSync(ROOT)];
  CHECKS["scripts"] = ["shellcheck", "--severity=warning", "--format=gcc", ...scripts];
}

const results = await Promise.all(
  Object.entries(CHECKS).map(async ([name, command]) => {
    const started = performance.now();
    const child = Bun.spawn(command, { cwd: ROOT, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${name.padEnd(9)} ${code === 0 ? "ok    " : "FAILED"} ${seconds.padStart(7)}`);
    return { name, code, output: out + err };
  }),
);

const failed = results.filter((result) => result.code !== 0);
for (const { name, output } of failed) console.error(`\n── ${name} ──\n${output.trimEnd()}`);
if (failed.some((result) => result.name === "format"))
  console.error("\nformat and safe lint fixes: bun run check --fix");
process.exitCode = failed.length === 0 ? 0 : 1;
