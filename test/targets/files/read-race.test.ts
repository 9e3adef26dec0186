/** What is read is what was judged, while another process exchanges the name for a link. */
import { expect } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileAccess } from "../../../src/targets/files/files.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { needs } from "../../support/needs.ts";

const { test } = await needs("linux");

test("a name that is exchanged for a link to another file never gives that file's text", async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "buddy-race-")));
  await using transport = new LocalTransport({ cwd: directory });
  const files = fileAccess(transport, { cwd: () => directory });
  const note = join(directory, "note");
  writeFileSync(note, "a note\n");
  writeFileSync(join(directory, "secret"), "the key\n");
  symlinkSync(join(directory, "secret"), join(directory, "link"));
  const script = `while :; do mv -T link note; printf 'a note\\n' >new; mv -T new note; ln -s secret link; done`;
  const swapping = Bun.spawn(["sh", "-c", script], { cwd: directory, stderr: "ignore" });
  try {
    const results: string[] = [];
    for (let round = 0; round < 60; round++) {
      const { path } = await files.resolve(note);
      if (path !== note) continue;
      const read = files.read(note, { onlyAt: path }).then(
        ({ text }) => text,
        () => "refused",
      );
      results.push(await read);
    }
    expect(results).not.toContain("the key\n");
    expect(results).toContain("a note\n");
  } finally {
    swapping.kill();
    await swapping.exited;
    rmSync(directory, { recursive: true, force: true });
  }
});
