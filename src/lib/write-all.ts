/** Writes to a pipe or terminal without holding up anything else, however slow its reader is. */
import { write } from "node:fs";

/** `Bun.write` and synchronous writes block the whole process while a pipe is full: no signal is noticed meanwhile. */
export async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    write(fd, bytes, at, bytes.length - at, null, (error, count) => {
      if (error === null) resolve(count);
      else if (error.code === "EAGAIN") resolve(0);
      else reject(error);
    });
    const count = await promise;
    at += count;
    // A terminal that another process made non-blocking, and that is full.
    if (count === 0) await Bun.sleep(RETRY_MS);
  }
}

const RETRY_MS = 4;
