/** curl and wget: GET that prints to the terminal, from allowed hosts or this machine. */
import { isListedHost } from "../../web/urls.ts";
import { isFixed, isUnknown, ONE, STAR } from "../syntax/field.ts";
import type { Refusal } from "../../effects/argv.ts";
import type { PresetReader } from "./operator.ts";

/** `NAME:PORT:ADDRESS` with an address of this machine: requests to that name and port go to this machine. */
const TO_THIS_MACHINE = /^([\w.-]+:\d+):(?:127(?:\.\d+){3}|\[?::1\]?)$/;

/** Not read from a file, and does not change the method. */
const HEADER_LINE = /^(?!x-(?:http-)?method)[a-z-]+: ?[^@]*$/i;

type Valued = readonly (readonly [option: RegExp, value: RegExp])[];

const CURL_FLAGS =
  /^-[sSfiIkvgGN460#q]+$|^--(?:silent|show-error|fail|fail-with-body|fail-early|include|show-headers|head|insecure|verbose|compressed|http1\.[01]|http2|http2-prior-knowledge|http3|ipv4|ipv6|get|globoff|no-progress-meter|progress-bar|no-buffer|no-keepalive|no-location|tcp-nodelay|path-as-is|tlsv1(?:\.[0-3])?|retry-all-errors|retry-connrefused|disable)$/;
const FLAGS = "[sSfiIkvgGN46]*";
const CURL_VALUED: Valued = [
  [
    new RegExp(
      `^(?:-${FLAGS}m|--max-time|--connect-timeout|--retry|--retry-delay|--retry-max-time|--keepalive-time|--max-filesize|--tls-max)$`,
    ),
    /^[\d.]+$/,
  ],
  [new RegExp(`^(?:-${FLAGS}w|--write-out)$`), /^(?!@)(?![^]*%output)[^]*$/],
  [new RegExp(`^(?:-${FLAGS}H|--header)$`), HEADER_LINE],
  [new RegExp(`^(?:-${FLAGS}A|--user-agent)$`), /^[^]*$/],
  [new RegExp(`^(?:-${FLAGS}o|--output)$`), /^(?:\/dev\/null|-)$/],
  [new RegExp(`^(?:-${FLAGS}X|--request)$`), /^(?:GET|HEAD|OPTIONS)$/],
  [new RegExp(`^(?:-${FLAGS}e|--referer)$`), /^[^@]*$/],
  [new RegExp(`^(?:-${FLAGS}r|--range)$`), /^[\d,-]+$/],
  [/^--(?:noproxy|ciphers|interface)$/, /^[\w.*,:-]+$/],
  [/^--resolve$/, TO_THIS_MACHINE],
  // Certificates and keys of the connection, which curl does not print; `pkcs11:` can name a library to load.
  [/^(?:-E|--cacert|--capath|--cert|--key)$/, /^[^:]*$/],
];
/** Data that `-G` puts into the URL; a value with @ would be read from a file. */
const QUERY: Valued = [
  [new RegExp(`^(?:-${FLAGS}d|--data)$`), /^[^@]*$/],
  [/^--data-urlencode$/, /^[\w.[\]-]*=[^]*$/],
];
const WGET_FLAGS =
  /^-[qS]*O-$|^-[qSv46]+$|^--(?:quiet|server-response|spider|no-verbose|no-check-certificate|no-hsts|no-cache|no-proxy|no-cookies|inet4-only|inet6-only|content-on-error|save-headers)$|^-nv$|^--(?:timeout|tries|max-redirect|connect-timeout|read-timeout|dns-timeout|waitretry)=\d+$/;
const WGET_VALUED: Valued = [
  [/^-[qS]*O$|^--output-document$/, /^(?:-|\/dev\/null)$/],
  [/^-[tT]$/, /^\d+$/],
];
const HEADER = [/^--header$/, HEADER_LINE] as const;
/** Whole words: `got` refuses such a word as the value of another option. */
const WGET_PRINTS = /^(?:-[qS]*O-?|--output-document(?:=(?:-|\/dev\/null))?|--spider)$/;

const curl: PresetReader = (args, { hosts }) => {
  const gets = args.some((word) => /^-[sSfiIkvg46]*G|^--get$/.test(word));
  const may = (url: string, here: readonly string[]) => mayAsk(url, hosts, here);
  return got(args, may, CURL_FLAGS, gets ? [...CURL_VALUED, ...QUERY] : CURL_VALUED);
};

/**
 * wget follows redirects to any host without `--max-redirect=0`. That is allowed for a service of this machine and a
 * path of plain words: the request contains nothing from which the service could build another address.
 */
const wget: PresetReader = (args, { hosts }) => {
  if (!args.some((word) => WGET_PRINTS.test(word))) return { does: "writes a file" };
  const limits = args.filter((word) => word.startsWith("--max-redirect"));
  if (limits.some((word) => word !== "--max-redirect=0")) return { does: "follows redirects" };
  if (limits.length > 0) return got(args, (url) => mayAsk(url, hosts), WGET_FLAGS, [...WGET_VALUED, HEADER]);
  return got(args, (url) => PLAIN_LOCAL.test(url), WGET_FLAGS, WGET_VALUED) && "without --max-redirect=0";
};
const PLAIN_LOCAL = /^(?:https?:\/\/)?(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?(?:\/[\w.-]+)*\/?$/;

/** A value in one word with its letter: `-m5`, `-sXGET`, `-o/dev/null`. */
const GLUED_SHORT = /^(-[sSfiIkvgGN46q]*[a-zA-Z])([^]+)$/;

function got(
  args: readonly string[],
  may: (url: string, here: readonly string[]) => boolean,
  flags: RegExp,
  valued: Valued,
): Refusal | undefined {
  const urls: string[] = [];
  const here: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (!isFixed(word) && (word.startsWith("-") || isUnknown(word) || !isGlobOfOneHost(word)))
      return "with words that are only known when it runs";
    if (!word.startsWith("-")) urls.push(word.replaceAll(ONE, "?").replaceAll(STAR, "*"));
    else if (!flags.test(word)) {
      const isKnown = (name: string) => valued.find(([option]) => option.test(name));
      const glued =
        /^(--[a-z-]+)=([^]*)$/.exec(word) ?? (isKnown(word) === undefined ? GLUED_SHORT.exec(word) : undefined);
      const value = glued?.[2] ?? args[++at] ?? "";
      const known = isKnown(glued?.[1] ?? word);
      if (known?.[1].test(value) !== true || !isFixed(value)) return `with ${word.replace(/^(--[a-z-]+)=[^]*$/, "$1")}`;
      if (known[1] === TO_THIS_MACHINE) here.push(value.replace(TO_THIS_MACHINE, "$1"));
    }
  }
  if (urls.length === 0) return "without a URL";
  const far = urls.find((url) => !may(url, here));
  return far === undefined ? undefined : { does: `sends a request to ${far}, which is not in fetch_allowed_domains` };
}

/** Any file that an unquoted `?` or `*` in a query matches has a name with the same scheme and host. */
const isGlobOfOneHost = (word: string) => /^(?:https?:\/\/)?\w[\w.:-]*\/[\w./-]*[?*\uFDD0\uFDD1]/.test(word);

function mayAsk(text: string, hosts: readonly string[], here: readonly string[] = []): boolean {
  if (/[@\\{}[\]\s]/.test(text.replace(/^(?:https?:\/\/)?\[::1\]/, ""))) return false;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || (text.includes("://") && !/^https?:\/\//.test(text))) return false;
  const port = url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80";
  if (here.includes(`${url.hostname}:${port}`)) return true;
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname) || isListedHost(url.href, hosts);
}

export const HTTP_READERS: Readonly<Record<string, PresetReader>> = { curl, wget };
