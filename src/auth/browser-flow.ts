/** Signing in with the browser of this machine: PKCE, and a loopback port that the browser comes back to. */
import { BuddyError } from "../lib/errors.ts";

export interface BrowserFlow {
  /** The address to open. */
  readonly url: string;
  /** Where the browser comes back to. */
  readonly redirectUri: string;
  readonly verifier: string;
  /** The code the browser brings; ends with the signal. */
  code(signal: AbortSignal): Promise<string>;
  close(): void;
}

export interface FlowOptions {
  /** Tried in order; the provider knows these. */
  readonly ports: readonly number[];
  readonly path: string;
  /** The address to open, given where to come back to and what proves that it was us. */
  address(parts: { readonly redirectUri: string; readonly challenge: string; readonly state: string }): string;
  /** False where the provider does not bring the state back. */
  readonly checksState: boolean;
}

export async function browserFlow(options: FlowOptions): Promise<BrowserFlow> {
  const verifier = randomText();
  const state = randomText();
  const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
  const arrived = Promise.withResolvers<string>();
  arrived.promise.catch(() => undefined);
  const server = listen(options.ports, (request) => {
    const url = new URL(request.url);
    if (url.pathname !== options.path) return page("Not found.", 404);
    const code = url.searchParams.get("code");
    const error = url.searchParams.get("error");
    // Another page of this browser may call the port, too: only who knows the state is answered.
    if (options.checksState && url.searchParams.get("state") !== state) return page("This is not the sign-in.", 400);
    if (error !== null || code === null) {
      arrived.reject(
        new BuddyError(
          "auth",
          `the sign-in was declined in the browser${/^[\w-]{1,40}$/.test(error ?? "") ? ` (${error})` : ""}`,
        ),
      );
      return page("The sign-in was declined. You can close this page.", 400);
    }
    arrived.resolve(code);
    return page("Signed in. You can close this page and return to the terminal.");
  });
  const redirectUri = `http://localhost:${server.port}${options.path}`;
  return {
    url: options.address({ redirectUri, challenge, state }),
    redirectUri,
    verifier,
    code: (signal) => {
      signal.addEventListener("abort", () => arrived.reject(signal.reason), { once: true });
      if (signal.aborted) arrived.reject(signal.reason);
      return arrived.promise;
    },
    close: () => void server.stop(false),
  };
}

function listen(ports: readonly number[], fetch: (request: Request) => Response) {
  for (const port of ports) {
    try {
      return Bun.serve({ port, hostname: "127.0.0.1", fetch });
    } catch {
      // In use: the next one.
    }
  }
  throw new BuddyError("auth", `the sign-in needs port ${ports.join(" or ")} on this machine, and it is in use`, {
    hint: "Close what uses the port, or sign in with a code: buddy login",
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
