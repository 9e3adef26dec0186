// bun.lock must hold no download address: an empty field means "the configured registry". `bun install` behind a mirror
// writes the mirror's host into every entry; --fix blanks it, the integrity hashes stay.
const path = new URL("../bun.lock", import.meta.url).pathname;
const text = await Bun.file(path).text();
const address = /(\["[^"]+@[^"]+", )"https?:\/\/[^"]+"/g;
if (process.argv.includes("--fix")) await Bun.write(path, text.replace(address, '$1""'));
else if (/https?:\/\//.test(text)) {
  console.error("bun.lock names a download host; run: bun scripts/check-lock.ts --fix");
  process.exitCode = 1;
}
