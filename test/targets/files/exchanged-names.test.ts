/**
 * Another user exchanges files for links in a directory of theirs while root writes there: nothing else is ever hit.
 */
import { expect } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileAccess } from "../../../src/targets/files/files.ts";
import { OWN_DIRECTORY } from "../../../src/targets/script-line.ts";
import { needs } from "../../support/needs.ts";
import { openPlace } from "../../support/transports.ts";

const { test } = await needs("root", "linux");

const NOBODY = 65_534;

/** Each exchanges the file itself, with a second name so that it is written in place; or what buddy makes beside it. */
const ATTACKS = {
  "the file": `while :; do ln -s "$1" l; mv -fT l file; echo x >n; ln -f n second; mv -fT n file; done`,
  "what is made beside it": `while :; do
  for f in .[!.]* [!fs]*; do
    if [ -e "$f" ] && [ ! -L "$f" ]; then mv "$f" ../gone/ 2>/dev/null; ln -s "$1" "$f" 2>/dev/null; fi
  done
done`,
};

test.each(Object.entries(ATTACKS))("%s becomes a link", async (_, attack) => {
  const home = mkdtempSync(join(tmpdir(), "buddy-exchanged-"));
  chmodSync(home, 0o755);
  const [theirs, gone, precious] = [join(home, "theirs"), join(home, "gone"), join(home, "precious")];
  for (const place of [theirs, gone]) mkdirSync(place);
  writeFileSync(join(theirs, "file"), "old\n");
  for (const path of [theirs, gone, join(theirs, "file")]) chownSync(path, NOBODY, NOBODY);
  writeFileSync(precious, "precious", { mode: 0o600 });
  const attacker = Bun.spawn(
    ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "sh", "-c", attack, "sh", precious],
    { cwd: theirs, stdout: "ignore", stderr: "ignore", detached: true },
  );
  try {
    await using here = await openPlace("local");
    const files = fileAccess(here.transport, { cwd: () => "/" });
    const file = join(theirs, "file");
    for (let count = 0; count < 60; count++)
      await files.write(file, `text ${count}\n`, { onlyAt: file }).catch(() => undefined);
    const { uid, mode } = statSync(precious);
    expect({ text: readFileSync(precious, "utf8"), uid, mode: mode & 0o777 }).toEqual({
      text: "precious",
      uid: 0,
      mode: 0o600,
    });
  } finally {
    // With the program that it just runs, which would exchange names while they are removed.
    process.kill(-attacker.pid, "SIGKILL");
    await attacker.exited;
    rmSync(home, { recursive: true });
  }
});

test("a directory of another user that becomes a link and a directory again is never taken for buddy's own", async () => {
  const shared = mkdtempSync(join(tmpdir(), "buddy-shared-"));
  // As /tmp is.
  chmodSync(shared, 0o1777);
  const flip = `const { mkdirSync, renameSync, symlinkSync } = require("node:fs");
    mkdirSync("name"); symlinkSync("/usr", "link"); console.log("begun");
    for (;;) for (const [a, b] of [["name", "x"], ["link", "name"], ["name", "link"], ["x", "name"]]) renameSync(a, b);`;
  const attacker = Bun.spawn(
    ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", process.execPath, "-e", flip],
    { cwd: shared, env: { HOME: shared }, stdout: "pipe", stderr: "ignore" },
  );
  try {
    for await (const _ of attacker.stdout) break;
    const look = `${OWN_DIRECTORY}
      i=0 n=0; while [ $i -lt 30000 ]; do i=$((i + 1)); if __buddy_own "$1/name"; then n=$((n + 1)); fi; done; echo $n`;
    const { stdout } = Bun.spawnSync(["sh", "-c", look, "sh", shared]);
    expect(stdout.toString()).toBe("0\n");
  } finally {
    attacker.kill("SIGKILL");
    await attacker.exited;
    rmSync(shared, { recursive: true });
  }
});

test("in a directory of another user a file is replaced, keeps its owner, and nothing stays behind", async () => {
  const theirs = mkdtempSync(join(tmpdir(), "buddy-theirs-"));
  writeFileSync(join(theirs, "file"), "old\n", { mode: 0o640 });
  for (const path of [theirs, join(theirs, "file")]) chownSync(path, NOBODY, NOBODY);
  await using here = await openPlace("local");
  const files = fileAccess(here.transport, { cwd: () => theirs });
  await files.write("file", "new\n");
  await files.write("other", "more\n");
  expect(readdirSync(theirs).toSorted()).toEqual(["file", "other"]);
  expect(readFileSync(join(theirs, "file"), "utf8")).toBe("new\n");
  const { uid, mode } = statSync(join(theirs, "file"));
  expect([uid, mode & 0o777]).toEqual([NOBODY, 0o640]);
  rmSync(theirs, { recursive: true });
});
