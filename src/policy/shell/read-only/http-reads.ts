/** curl and wget: GET to the terminal, of hosts that may be fetched from, or of this machine. */
import { isListedHost } from "../../domain-list.ts";
import { isFixed, isUnknown, ONE, STAR } from "../syntax/field.ts";
import type { PresetReader } from "./operator.ts";

type Valued = readonly (readonly [option: RegExp, value: RegExp])[];

const CURL_FLAGS =
  /^-[sSfiIkvgG460#]+$|^--(?:silent|show-error|fail|fail-with-body|include|head|insecure|verbose|compressed|http1\.1|http2|ipv4|ipv6|get|globoff|no-progress-meter|no-buffer)$/;
const FLAGS = "[sSfiIkvgG46]*";
const CURL_VALUED: Valued = [
  [new RegExp(`^(?:-${FLAGS}m|--max-time|--connect-timeout|--retry|--retry-delay)$`), /^[\d.]+$/],
  [new RegExp(`^(?:-${FLAGS}w|--write-out)$`), /^(?!@)(?![^]*%output)[^]*$/],
  [new RegExp(`^(?:-${FLAGS}H|--header)$`), /^[A-Za-z-]+: ?[^@]*$/],
  [new RegExp(`^(?:-${FLAGS}A|--user-agent)$`), /^[^]*$/],
  [new RegExp(`^(?:-${FLAGS}o|--output)$`), /^(?:\/dev\/null|-)$/],
  [new RegExp(`^(?:-${FLAGS}X|--request)$`), /^(?:GET|HEAD)$/],
  // Certificates and keys of the connection, which curl does not print.
  [/^(?:-E|--cacert|--capath|--cert|--key)$/, /^[^]*$/],
];
/** What `-G` puts into the address; a value with @ is read from a file. */
const QUERY: Valued = [
  [new RegExp(`^(?:-${FLAGS}d|--data)$`), /^[^@]*$/],
  [/^--data-urlencode$/, /^[\w.[\]-]*=[^]*$/],
];
const WGET_FLAGS =
  /^-[qS]*O-$|^-[qSv46]+$|^--(?:quiet|server-response|spider|no-verbose|no-check-certificate|no-hsts)$|^-nv$|^--(?:timeout|tries|max-redirect)=\d+$/;
const WGET_VALUED: Valued = [
  [/^-[qS]*O$|^--output-document$/, /^(?:-|\/dev\/null)$/],
  [/^-[tT]$/, /^\d+$/],
  [/^--header$/, /^[A-Za-z-]+: ?[^@]*$/],
];
/** Word for word: a value could hold the same text; `got` refuses such a word as a value. */
const WGET_PRINTS = /^(?:-[qS]*O-?|--output-document(?:=(?:-|\/dev\/null))?|--spider)$/;

const curl: PresetReader = (args, { hosts }) => {
  const gets = args.some((word) => /^-[sSfiIkvg46]*G|^--get$/.test(word));
  return got(args, hosts, CURL_FLAGS, gets ? [...CURL_VALUED, ...QUERY] : CURL_VALUED);
};

/** wget follows redirects to any host unless it is given `--max-redirect=0`. */
const wget: PresetReader = (args, { hosts }) => {
  if (!args.some((word) => WGET_PRINTS.test(word))) return "writes a file";
  const limits = args.filter((word) => word.startsWith("--max-redirect"));
  if (limits.length === 0 || limits.some((word) => word !== "--max-redirect=0")) return "without --max-redirect=0";
  return got(args, hosts, WGET_FLAGS, WGET_VALUED);
};

function got(args: readonly string[], hosts: readonly string[], flags: RegExp, valued: Valued): string | undefined {
  const urls: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (!isFixed(word) && (word.startsWith("-") || isUnknown(word) || !isGlobOfOneHost(word)))
      return "with words that are only known when it runs";
    if (!word.startsWith("-")) urls.push(word.replaceAll(ONE, "?").replaceAll(STAR, "*"));
    else if (!flags.test(word)) {
      const glued = /^(--[a-z-]+)=([^]*)$/.exec(word);
      const value = glued?.[2] ?? args[++at] ?? "";
      const known = valued.find(([option]) => option.test(glued?.[1] ?? word));
      if (known?.[1].test(value) !== true || !isFixed(value)) return `with ${glued?.[1] ?? word}`;
    }
  }
  if (urls.length === 0) return "without a URL";
  const far = urls.find((url) => !mayAsk(url, hosts));
  return far === undefined ? undefined : `asks ${far}, which fetch_allowed_domains does not list`;
}

/** Whatever files an unquoted `?` or `*` of a query matches, their names begin with the same scheme and host. */
const isGlobOfOneHost = (word: string) => /^(?:https?:\/\/)?\w[\w.:-]*\/[\w./-]*[?*\uFDD0\uFDD1]/.test(word);

function mayAsk(text: string, hosts: readonly string[]): boolean {
  if (/[@\\{}[\]\s]/.test(text.replace(/^(?:https?:\/\/)?\[::1\]/, ""))) return false;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || (text.includes("://") && !/^https?:\/\//.test(text))) return false;
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname) || isListedHost(url.href, hosts);
}

export const HTTP_READERS: Readonly<Record<string, PresetReader>> = { curl, wget };
