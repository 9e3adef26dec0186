/** An editor for $EDITOR that replaces the file it is given. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function scriptedEditor(text: string): Disposable & { readonly path: string } {
  const directory = mkdtempSync(join(tmpdir(), "buddy-editor-"));
  const path = join(directory, "editor");
  writeFileSync(path, `#!/bin/sh\ncat >"$1" <<'END'\n${text}\nEND\n`);
  chmodSync(path, 0o755);
  return { path, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}
