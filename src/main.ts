/** argv → exit code. */
import { VERSION } from "./lib/version.ts";

// Nothing else is loaded here: every command is a chunk of its own (AGENTS.md, “Start-up”).
const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) console.log(`buddy ${VERSION}`);
else if (argv.length === 1 && (argv[0] === "--help" || argv[0] === "-h" || argv[0] === "help")) {
  console.log((await import("./cli/args/help.ts")).shortHelp());
} else {
  // The binary starts with a reluctant JIT (scripts/build.ts): 20 MB less and no slower for a few hundred calls. A
  // longer run gets the usual one.
  setTimeout(() => Bun.unsafe.setJITPolicy(1), 30_000).unref();
  process.exitCode = await (await import("./cli/run-command-line.ts")).runCommandLine(argv);
}
