/** A TCP proxy on loopback that delays, cuts and swallows: what long and bad lines do to a connection. */
import net from "node:net";

export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Connections made so far. */
  readonly accepted: number;
  /** Every connection is reset, as by a dying router; new ones are taken again unless refused. */
  cut(): void;
  /** Nothing passes in either direction, and nobody is told; what was sent meanwhile arrives afterwards, as TCP repeats it. */
  swallow(on: boolean): void;
  /** New connections are reset at once. */
  refuse(on: boolean): void;
  /** Where new connections go from now on. */
  redirect(port: number): void;
}

export async function proxyTo(target: number, { delayMs = 0 }: { delayMs?: number } = {}): Promise<Proxy> {
  const sockets = new Set<net.Socket>();
  let to = target;
  let accepted = 0;
  let swallowing = false;
  let refusing = false;
  const pumps = new Set<() => void>();
  const pass = (from: net.Socket, into: net.Socket) => {
    /** Without bytes: the end. */
    const queue: { at: number; bytes?: Buffer }[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pump = () => {
      timer = undefined;
      if (swallowing) return;
      while (queue[0] !== undefined && queue[0].at <= performance.now() + 0.3) {
        const { bytes } = queue.shift() as { bytes?: Buffer };
        if (bytes === undefined) into.destroy();
        else if (!into.destroyed) into.write(bytes);
      }
      if (queue[0] !== undefined) timer ??= setTimeout(pump, Math.max(0, queue[0].at - performance.now()));
    };
    const later = (last: { bytes?: Buffer }) => {
      queue.push({ at: performance.now() + delayMs, ...last });
      if (delayMs === 0) pump();
      else timer ??= setTimeout(pump, delayMs);
    };
    pumps.add(pump);
    from.on("data", (bytes: Buffer) => later({ bytes }));
    from.on("error", () => {});
    from.on("close", () => {
      sockets.delete(from);
      later({});
    });
    into.on("close", () => pumps.delete(pump));
  };
  const server = net.createServer({ noDelay: true }, (client) => {
    accepted++;
    if (refusing) return void client.resetAndDestroy();
    const upstream = net.connect({ port: to, host: "127.0.0.1", noDelay: true });
    sockets.add(client).add(upstream);
    pass(client, upstream);
    pass(upstream, client);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    port: (server.address() as net.AddressInfo).port,
    get accepted() {
      return accepted;
    },
    cut() {
      for (const socket of sockets) socket.resetAndDestroy();
      sockets.clear();
    },
    swallow(on) {
      swallowing = on;
      if (!on) for (const pump of pumps) pump();
    },
    refuse: (on) => void (refusing = on),
    redirect: (port) => void (to = port),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
