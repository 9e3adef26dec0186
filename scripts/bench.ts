/** Runs every file of bench/ in order, one at a time: `bun run bench [NAME...]`; each starts with how busy the machine was. */
import os from "node:os";
import { basename, join } from "node:path";

const DIRECTORY = join(import.meta.dir, "../bench");
const names = [...new Bun.Glob("*.ts").scanSync(DIRECTORY)].map((file) => basename(file, ".ts")).sort();
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`there is no bench/${unknown}.ts; known: ${names.join(", ")}`);
  process.exit(2);
}

const [cpu] = os.cpus();
console.log(`${os.type()} ${os.release()}, ${os.cpus().length} × ${cpu?.model.trim()}, Bun ${Bun.version}`);
for (const name of wanted.length > 0 ? wanted : names) {
  console.log(`\n── ${name} (load average ${os.loadavg()[0]?.toFixed(1)}) ──`);
  const { exitCode } = Bun.spawnSync([process.execPath, join(DIRECTORY, `${name}.ts`)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (exitCode !== 0) process.exitCode = 1;
}
