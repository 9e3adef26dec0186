/** bun.lock must name no download host: an empty field means "the configured registry"; --fix blanks what is there. */
import { join } from "node:path";

const path = join(import.meta.dir, "../bun.lock");
const text = await Bun.file(path).text();
// A lock made behind a mirror records the mirror's host in every entry; the integrity hashes stay.
const address = /(\["[^"]+@[^"]+", )"https?:\/\/[^"]+"/g;
if (process.argv.includes("--fix")) await Bun.write(path, text.replace(address, '$1""'));
else if (/https?:\/\//.test(text)) {
  console.error("bun.lock names a download host; run: bun scripts/check-lock.ts --fix");
  process.exitCode = 1;
}
