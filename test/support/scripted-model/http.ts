/**
 * A small HTTP/1.1 server on a raw socket: Bun.serve and node:http cannot reset a connection or leave a body unfinished
 * on purpose.
 */
import type { Socket } from "bun";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** performance.now() when its last byte arrived. */
  readonly at: number;
}

export interface HttpResponse {
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  head(status: number, headers: Readonly<Record<string, string>>): Promise<void>;
  /** One chunk of a chunked body. */
  chunk(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Closes without the last chunk. */
  cut(): void;
  reset(): void;
}

export interface HttpServer {
  readonly port: number;
  close(): void;
}

export type Handler = (request: HttpRequest, response: HttpResponse) => Promise<void>;

const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/** Listens on a free loopback port; never keeps the process alive. */
export function listenHttp(handler: Handler): HttpServer {
  const open = new Set<Connection>();
  const socket = {
    open(raw: Socket<Connection>) {
      raw.data = new Connection(raw, handler);
      raw.unref();
      open.add(raw.data);
    },
    data: (raw: Socket<Connection>, bytes: Buffer) => raw.data.receive(bytes),
    drain: (raw: Socket<Connection>) => raw.data.drained(),
    close(raw: Socket<Connection>) {
      raw.data.closed();
      open.delete(raw.data);
    },
    // A reset by the client; `close` follows.
    error: () => {},
  };
  const server = Bun.listen<Connection>({ hostname: "127.0.0.1", port: 0, socket });
  server.unref();
  return {
    port: server.port,
    close: () => {
      for (const connection of open) connection.reset();
      server.stop(true);
    },
  };
}

class Connection implements HttpResponse {
  #socket: Socket<Connection>;
  #handler: Handler;
  #inbox: Buffer[] = [];
  #size = 0;
  #received = 0;
  #busy = false;
  #gone = new AbortController();
  #wake: (() => void) | undefined;

  constructor(socket: Socket<Connection>, handler: Handler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  receive(bytes: Buffer): void {
    this.#received = performance.now();
    // A TLS hello: answered as plain HTTP servers do, or both sides would wait for each other.
    if (this.#size === 0 && bytes[0] === 0x16) {
      this.#socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
      return;
    }
    this.#inbox.push(Buffer.from(bytes));
    this.#size += bytes.length;
    if (this.#size > MAX_REQUEST_BYTES) this.reset();
    else if (!this.#busy) void this.#serve();
  }

  drained(): void {
    this.#wake?.();
  }

  closed(): void {
    this.#gone.abort();
    this.#wake?.();
  }

  head(status: number, headers: Readonly<Record<string, string>>): Promise<void> {
    const lines = Object.entries({ "transfer-encoding": "chunked", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    return this.#write(Buffer.from(`HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`));
  }

  chunk(bytes: Uint8Array): Promise<void> {
    return this.#write(
      Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]),
    );
  }

  end(): Promise<void> {
    return this.#write(Buffer.from("0\r\n\r\n"));
  }

  cut(): void {
    this.#socket.end();
  }

  reset(): void {
    this.#socket.terminate();
  }

  async #serve(): Promise<void> {
    this.#busy = true;
    for (let request = this.#take(); request && !this.gone.aborted; request = this.#take()) {
      await this.#handler(request, this);
    }
    this.#busy = false;
  }

  /** The next complete request, if it has arrived. */
  #take(): HttpRequest | undefined {
    const inbox = this.#inbox.length === 1 ? this.#inbox[0]! : Buffer.concat(this.#inbox);
    this.#inbox = inbox.length === 0 ? [] : [inbox];
    const headEnd = inbox.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const [first = "", ...lines] = inbox.toString("latin1", 0, headEnd).split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
    }
    const length = Number(headers["content-length"] ?? 0);
    const end = headEnd + 4 + length;
    if (inbox.length < end) return undefined;
    this.#inbox = inbox.length === end ? [] : [inbox.subarray(end)];
    this.#size = inbox.length - end;
    const [method = "", path = ""] = first.split(" ");
    return { method, path, headers, body: inbox.toString("utf8", headEnd + 4, end), at: this.#received };
  }

  async #write(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    while (rest.byteLength > 0 && !this.gone.aborted) {
      const written = this.#socket.write(rest);
      if (written < 0) return;
      rest = rest.subarray(written);
      if (rest.byteLength > 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
