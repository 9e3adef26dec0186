/** HTTP requests to a server: no redirect to another host, and no endless answer. */
import { BuddyError } from "../../lib/errors.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** `origin` is where the operator's headers may go; what the sign-in needs elsewhere goes without them. */
export function boundedFetch(origin: string, headers: Readonly<Record<string, string>>): Fetch {
  return async (url, init = {}) => {
    let target = new URL(url);
    for (let hop = 0; ; hop++) {
      const own = target.origin === origin ? headers : {};
      const sent = new Headers(init.headers);
      for (const [name, value] of Object.entries(own)) sent.set(name, value);
      const response = await fetch(target, { ...init, headers: sent, redirect: "manual" });
      const location = response.headers.get("location");
      if (response.status < 300 || response.status >= 400 || location === null) return bounded(response);
      const next = new URL(location, target);
      // Only 307 and 308 repeat a request as it was.
      const repeats = response.status >= 307 || (init.method ?? "GET") === "GET";
      if (next.origin !== target.origin || !repeats || hop >= MOST_HOPS) {
        await response.body?.cancel();
        throw new BuddyError("tool", `the server redirects to ${next.origin}${next.pathname}`, {
          hint: "If that is right, use that address in its url.",
        });
      }
      target = next;
    }
  };
}

function bounded(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MOST_BYTES) controller.error(new BuddyError("tool", "the server sent more than can be read"));
      else controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(limit), { status, statusText, headers });
}

const MOST_HOPS = 3;
const MOST_BYTES = 32_000_000;
