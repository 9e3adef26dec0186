/** Whether a URL or a search contains a secret: as it is, encoded, backwards, in pieces, or by its name. */
import { KnownSecrets } from "../../lib/secrets/known-secrets.ts";

export interface SecretValue {
  readonly value: string;
  readonly name: string;
}

/** The name of the first secret found. */
export function outgoingSecret(text: string, secrets: readonly SecretValue[]): string | undefined {
  const texts = readings(text);
  for (const reading of texts) {
    const written = /‹secret-\d+[^›]{0,100}›/.exec(reading)?.[0];
    if (written !== undefined) return written;
  }
  const whole = new KnownSecrets<string>();
  const squeezed = new KnownSecrets<string>();
  for (const { value, name } of secrets) {
    const folded = value.toLowerCase();
    if (folded.length < 6 || /^[a-z]+(?:[-_. ][a-z]+)*$/.test(folded)) continue;
    whole.add(folded, name, { parts: folded.length >= 12 ? PIECE : 0 });
    whole.add([...folded].toReversed().join(""), name);
    const bare = squeeze(folded);
    if (bare.length >= PIECE) squeezed.add(bare, name, { parts: bare.length > 16 ? 12 : 0 });
  }
  for (const reading of texts) {
    const folded = reading.toLowerCase();
    const hit = whole.find(folded)[0] ?? squeezed.find(squeeze(folded))[0];
    if (hit !== undefined) return hit.tag;
  }
  return undefined;
}

/** This many consecutive characters of a secret count as a piece of it. */
const PIECE = 8;
const MOST_READINGS = 200;
const DEPTH = 3;

/** All ways a server could read the text: percent, base64 and hex decoded, parameters and labels joined. */
function readings(text: string): ReadonlySet<string> {
  const all = new Set([text]);
  let newest = [text];
  for (let depth = 0; depth < DEPTH; depth++) {
    const next: string[] = [];
    for (const one of newest)
      for (const other of decodings(one))
        if (other !== "" && !all.has(other) && all.size < MOST_READINGS) {
          all.add(other);
          next.push(other);
        }
    newest = next;
  }
  return all;
}

function decodings(text: string): string[] {
  const out: string[] = [percentDecoded(text), text.replaceAll("+", " ")];
  const url = URL.parse(text);
  if (url !== null) {
    // Split into parameters, path segments or labels of the host, which the receiver joins.
    out.push(
      [...url.searchParams.values()].join(""),
      url.pathname.split("/").join(""),
      url.hostname.split(".").join(""),
    );
    out.push([...url.searchParams.keys()].join(""), url.hash.slice(1));
  }
  for (const [token] of text.matchAll(/[A-Za-z0-9+/_-]{8,}={0,2}/g)) {
    const plain = Buffer.from(token, "base64").toString();
    if (/^[\x20-\x7e]{5,}/.test(plain)) out.push(plain);
    const inBase32 = /^[a-z2-7]+=*$/i.test(token) ? base32Decoded(token) : "";
    if (/^[\x20-\x7e]{5,}/.test(inBase32)) out.push(inBase32);
    if (/^[0-9a-fA-F]+$/.test(token) && token.length % 2 === 0) out.push(Buffer.from(token, "hex").toString());
  }
  return out;
}

function percentDecoded(text: string): string {
  return text.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}

function base32Decoded(token: string): string {
  const bits = [...token.toUpperCase().replaceAll("=", "")].map((char) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(char).toString(2).padStart(5, "0"),
  );
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString();
}

function squeeze(text: string): string {
  return text.replaceAll(/[^a-z0-9]+/g, "");
}
