/** Signing in with the browser of this machine: PKCE, and a loopback port that the browser is redirected to. */
import { BuddyError } from "../lib/errors.ts";
import { within } from "../lib/waiting.ts";

export interface BrowserFlow {
  /** The address to open. */
  readonly url: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** Waits for the redirect and returns its code. */
  code(signal: AbortSignal): Promise<string>;
  close(): void;
}

export interface FlowOptions {
  /** Tried in order; those that the provider redirects to. */
  readonly ports: readonly number[];
  readonly path: string;
  /** The address to open. */
  address(parts: { readonly redirectUri: string; readonly challenge: string; readonly state: string }): string;
  /** False where the provider does not return the state. */
  readonly checksState: boolean;
  /** A hint for when no port is free or the browser does not return. */
  readonly otherWay: string;
  readonly waitMs?: number;
}

const WAIT_MS = 15 * 60_000;

export async function browserFlow(options: FlowOptions): Promise<BrowserFlow> {
  const verifier = randomText();
  const state = randomText();
  const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
  const callback = browserCallback({ ...options, ...(options.checksState ? { state } : {}) });
  const redirectUri = `http://localhost:${callback.port}${options.path}`;
  return {
    url: options.address({ redirectUri, challenge, state }),
    redirectUri,
    verifier,
    async code(signal) {
      const arrived = await within(callback.arrived, options.waitMs ?? WAIT_MS, signal);
      if (arrived !== undefined) return arrived.get("code") ?? "";
      throw new BuddyError("auth", "the browser did not return in time", { hint: options.otherWay });
    },
    close: () => callback[Symbol.dispose](),
  };
}

interface Callback extends Disposable {
  readonly port: number;
  /** The parameters of the redirect; rejected when the sign-in was declined. */
  readonly arrived: Promise<URLSearchParams>;
}

/** Waits for the redirect on a loopback port. */
export function browserCallback(
  options: Pick<FlowOptions, "ports" | "path"> & { readonly state?: string; readonly otherWay?: string },
): Callback {
  const { promise: arrived, resolve, reject } = Promise.withResolvers<URLSearchParams>();
  arrived.catch(() => undefined);
  const server = listen(options, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== options.path) return page("Not found.", 404);
    // Other pages in this browser can call the port, too; they do not know the state.
    if (options.state !== undefined && searchParams.get("state") !== options.state)
      return page("This is not the sign-in.", 400);
    if (!searchParams.has("error") && searchParams.has("code")) {
      resolve(searchParams);
      return page("Signed in. You can close this page and return to the terminal.");
    }
    // Something else that called this port must not end the sign-in.
    if (!searchParams.has("error")) return page("This is not the sign-in.", 400);
    const why = /^[\w-]{1,40}$/.exec(searchParams.get("error") ?? "")?.[0];
    reject(new BuddyError("auth", `the sign-in was declined in the browser${why === undefined ? "" : ` (${why})`}`));
    return page("The sign-in was declined. You can close this page.", 400);
  });
  return { port: server.port ?? 0, arrived, [Symbol.dispose]: () => void server.stop(false) };
}

function listen(
  { ports, otherWay = "Try again." }: { readonly ports: readonly number[]; readonly otherWay?: string },
  fetch: (request: Request) => Response,
) {
  for (const port of ports) {
    try {
      return Bun.serve({ port, hostname: "127.0.0.1", fetch });
    } catch {
      // In use: try the next one.
    }
  }
  throw new BuddyError("auth", `the sign-in needs port ${ports.join(" or ")} on this machine, and it is in use`, {
    hint: `Close what uses the port. ${otherWay}`,
  });
}

function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(48))).toString("base64url");
}

function page(words: string, status = 200): Response {
  return new Response(`<!doctype html><meta charset="utf-8"><title>buddy</title><p>${words}</p>\n`, {
    status,
    headers: { "content-type": "text/html; charset=utf-8", connection: "close" },
  });
}
