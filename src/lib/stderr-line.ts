/** One line (or several) on stderr, as it is: Bun's console.error paints everything red on a terminal. */
import { writeSync } from "node:fs";

export function stderrLine(text: string): void {
  const bytes = Buffer.from(`${text}\n`);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(2, bytes, written);
    } catch (error) {
      // A slow reader of a non-blocking pipe gets a moment; one that is gone gets nothing.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
