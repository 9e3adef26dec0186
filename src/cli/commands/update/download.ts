/** One file of a release into memory: through the proxy, bounded, and never from https to http. */
import { BuddyError } from "../../../lib/errors.ts";
import { fetchVia, proxyFor } from "../../../lib/network.ts";

interface DownloadOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly most: number;
  /** Ends with `done` equal to `of`, also after an error. */
  readonly progress?: ((done: number, of: number | undefined) => void) | undefined;
}

const MOST_REDIRECTS = 8;
const SILENT_MS = 60_000;

export async function download(address: string, { env, signal, most, progress }: DownloadOptions): Promise<Uint8Array> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENT_MS);
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), SILENT_MS);
  };
  let bytes = 0;
  const fail = (why: string, cause?: unknown) =>
    new BuddyError("tool", `cannot download ${address}: ${why}`, {
      hint: "Check the network, the proxy (HTTPS_PROXY), the address, and for a CA of your own NODE_EXTRA_CA_CERTS.",
      cause,
    });
  try {
    const response = await follow(address, env, AbortSignal.any([signal, silent.signal]));
    if (!response.ok) throw fail(`the server answers ${response.status}`);
    const length = Number(response.headers.get("content-length"));
    const of = length > 0 ? length : undefined;
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body ?? []) {
      alive();
      bytes += piece.byteLength;
      if (bytes > most) throw fail(`it is larger than ${most >> 20} MB`);
      pieces.push(piece);
      progress?.(bytes, of);
    }
    if (of !== undefined && bytes < of) throw fail("the connection ended early");
    return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof BuddyError) throw error;
    throw fail(silent.signal.aborted ? `no answer for ${SILENT_MS / 1000} s` : wordsOf(error), error);
  } finally {
    clearTimeout(timer);
    progress?.(bytes, bytes);
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof Redirected) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== undefined && CERTIFICATE.test(code)) return `this machine does not accept its certificate (${code})`;
  return code ?? message;
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)|ALTNAME/;

class Redirected extends Error {}

async function follow(address: string, env: DownloadOptions["env"], signal: AbortSignal): Promise<Response> {
  let url = new URL(address);
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const response = await fetchVia(url, {
      signal,
      redirect: "manual",
      proxy: proxyFor(url, env) ?? false,
      headers: { "user-agent": "buddy" },
    } as BunFetchRequestInit);
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    const next = new URL(location, url);
    if (next.protocol !== "https:" && next.protocol !== url.protocol)
      throw new Redirected("the server redirects to another protocol");
    url = next;
  }
  throw new Redirected("too many redirects");
}
