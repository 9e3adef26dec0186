/**
 * A TCP proxy on loopback that delays everything, in a process of its own: `bun delay-proxy.ts PORT DELAY_MS` prints the
 * port it listens on, and ends with its stdin. It shares the cores with what is measured, so there is one queue, and one
 * timer, for all connections.
 */
import type { Socket } from "bun";

export interface DelayProxy extends AsyncDisposable {
  readonly port: number;
}

export async function startDelayProxy(target: number, delayMs: number): Promise<DelayProxy> {
  const argv = [process.execPath, import.meta.path, String(target), String(delayMs)];
  const child = Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  return {
    port: Number(new TextDecoder().decode(value)),
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await child.exited;
    },
  };
}

/** One end of a connection: what it gets is written to `other`. */
interface End {
  other: Socket<End> | undefined;
  /** What could not be written to this end yet. */
  unsent: Uint8Array[];
}

async function serve(target: number, delayMs: number): Promise<number> {
  /** In order, because all wait equally long; without bytes it is the end of the connection. */
  let queue: { readonly at: number; readonly from: End; readonly bytes?: Uint8Array }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pass = (): void => {
    timer = undefined;
    const now = performance.now() + ROUNDING_MS;
    const due = queue.findIndex(({ at }) => at > now);
    const passed = due < 0 ? queue : queue.slice(0, due);
    queue = due < 0 ? [] : queue.slice(due);
    for (const { from, bytes } of passed) {
      if (bytes === undefined) from.other?.end();
      else if (from.other !== undefined) write(from.other, bytes);
    }
    if (queue[0] !== undefined) timer = setTimeout(pass, Math.max(0, queue[0].at - performance.now()));
  };
  const later = (from: End, bytes?: Uint8Array): void => {
    queue.push({ at: performance.now() + delayMs, from, ...(bytes && { bytes }) });
    timer ??= setTimeout(pass, delayMs);
  };
  const handlers = {
    data: ({ data }: Socket<End>, bytes: Uint8Array) => later(data, bytes),
    close: ({ data }: Socket<End>) => later(data),
    error() {},
    drain(socket: Socket<End>) {
      for (const bytes of socket.data.unsent.splice(0)) write(socket, bytes);
    },
  };
  const server = Bun.listen<End>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...handlers,
      async open(client) {
        client.data = { other: undefined, unsent: [] };
        client.setNoDelay(true);
        const data: End = { other: client, unsent: [] };
        client.data.other = await Bun.connect({ hostname: "127.0.0.1", port: target, data, socket: handlers });
        client.data.other.setNoDelay(true);
      },
    },
  });
  return server.port;
}

function write(to: Socket<End>, bytes: Uint8Array): void {
  const { unsent } = to.data;
  const written = unsent.length > 0 ? 0 : Math.max(0, to.write(bytes));
  if (written < bytes.length) unsent.push(bytes.subarray(written));
}

const ROUNDING_MS = 0.3;

if (import.meta.main) {
  console.log(await serve(Number(process.argv[2]), Number(process.argv[3])));
  await Bun.stdin.text();
  process.exit(0);
}
