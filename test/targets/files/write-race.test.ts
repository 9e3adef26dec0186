/** A directory that is exchanged for a link while files are written into it: nothing is written elsewhere. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileAccess } from "../../../src/targets/files/files.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { cases } from "../../support/seeded.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const WRITES = cases(400);
const AT_ONCE = 3;

const base = temporaryDirectory();

/**
 * Puts a link in the place of the directory and the directory back, as fast as it can. A write may have made the
 * directory anew meanwhile: that one goes.
 */
const EXCHANGE = `cd "$1" || exit 1
ln -s elsewhere link
while :; do
  mv -T dir away && mv -T link dir; mv -T dir link
  mv -T away dir || { rm -rf dir; mv -T away dir; }
  [ -L link ] || ln -s elsewhere link
done`;

test(
  "no write follows the link",
  async () => {
    for (const name of ["dir", "elsewhere"]) mkdirSync(join(base, name));
    const exchanger = Bun.spawn(["sh", "-c", EXCHANGE, "sh", base], { stderr: "ignore" });
    await using transport = new LocalTransport({ cwd: base });
    const files = fileAccess(transport, { cwd: () => base });
    let written = 0;
    let next = 0;
    const write = async () => {
      for (let at = next++; at < WRITES; at = next++) {
        const path = join(base, "dir", at % 8 === 0 ? `deep${at % 5}/f${at}` : `f${at}`);
        try {
          await files.write(path, `${at}\n`, { onlyAt: path });
          written++;
        } catch {
          // Refused, because the directory was not where it was judged to be.
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, write));
    exchanger.kill("SIGKILL");
    await exchanger.exited;
    expect(readdirSync(join(base, "elsewhere"))).toEqual([]);
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(WRITES);
  },
  { timeout: 300_000 },
);
