/** Connection failures in words: the code the runtime gives, the host, and the usual cause. */
import { ModelError } from "../errors.ts";
import type { Situation } from "../explain.ts";
import { proxyLabel } from "../../lib/network.ts";
import { messageOf } from "../../lib/errors.ts";

export function explainNetworkError(error: unknown, at: Situation): ModelError {
  const code = codeOf(error);
  const via = at.proxy === undefined ? "" : ` through the proxy ${proxyLabel(at.proxy)}`;
  const fail = (brief: string, message: string, retryable: boolean, hint?: string) =>
    new ModelError("network", at.redact(`${message}${via}`), {
      brief: at.redact(`${brief}${via}`),
      retryable,
      hint: hint && at.redact(hint),
      providerCode: code,
    });

  if (CERTIFICATE.test(code)) {
    const { brief, says, hint } = certificateWords(code, at);
    return fail(brief, `${at.host} presents a certificate ${says} (${code})`, false, hint);
  }
  const words = messageOf(error);
  const tunnel = /^Proxy refused to open a tunnel: (.*)$/.exec(words)?.[1];
  if (tunnel !== undefined) {
    return fail(tunnel, `no connection to ${at.host}: ${tunnel}`, tunnel.startsWith("5"), PROXY_HINT);
  }
  switch (code) {
    case "ECONNREFUSED":
      return fail("connection refused", `cannot connect to ${at.host}: connection refused`, true, refusedHint(at));
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "DNS_ENOTFOUND":
      return fail(
        "the name does not resolve",
        `cannot find ${at.host}: the name does not resolve`,
        true,
        `Check the address ${at.baseUrl} of profile "${at.profile}", the network and DNS.`,
      );
    case "ECONNRESET":
    case "EPIPE":
      return fail(
        "connection broken",
        `${at.host} closed the connection unexpectedly`,
        true,
        at.baseUrl.startsWith("http:")
          ? `Try again; if the server speaks TLS, write https:// in api_base_url (${at.baseUrl}).`
          : "Usually the network or the provider: try again.",
      );
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "ENETDOWN":
      return fail("no route", `no route to ${at.host}`, true, "Check the network connection.");
    case "EACCES":
    case "EPERM":
      return fail(
        "not permitted",
        `this machine does not permit connections to ${at.host}`,
        true,
        "A firewall or sandbox on this machine refuses them.",
      );
    case "EMFILE":
    case "ENFILE":
      return fail("too many open files", `too many files are open to connect to ${at.host}`, true, "Raise ulimit -n.");
    case "ETIMEDOUT":
      return fail(
        "timed out",
        `connecting to ${at.host} timed out`,
        true,
        "Check the network, a firewall, or HTTPS_PROXY.",
      );
    case "ZlibError":
    case "BrotliDecompressionError":
    case "ZstdDecompressionError":
      return fail(
        "the answer cannot be decompressed",
        `the answer from ${at.host} cannot be decompressed`,
        true,
        "The server or a proxy announces a compression that it does not use, or cuts the answer off.",
      );
    case "ResponseHeadersTooLarge":
      return fail(
        "headers too long",
        `the headers of the answer from ${at.host} are too long`,
        false,
        `Check api_base_url (${at.baseUrl}) of profile "${at.profile}": this is not a model server, or a broken one.`,
      );
    case "EPROTO":
      return fail(
        "no TLS",
        `${at.host} does not speak TLS on this port`,
        false,
        `Check http:// or https:// in api_base_url (${at.baseUrl}).`,
      );
    default: {
      const short = (words.split(" For more information, pass")[0] ?? words).replace(GUESS, "");
      // Without a code it did not come from the network: trying again would not help.
      return fail(short, `the request to ${at.host} failed: ${short}`, code !== "");
    }
  }
}

/** Bun adds it to every error that it does not know. */
const GUESS = /:? Was there a typo in the url or port\?/;

/** Also for a 407 that came as an answer. */
export const PROXY_HINT =
  "The proxy refused the connection: check proxy in the profile, HTTPS_PROXY or HTTP_PROXY (with user and password before the host) and NO_PROXY.";

function certificateWords(code: string, at: Situation): { brief: string; says: string; hint: string } {
  if (/EXPIRED|NOT_YET_VALID/.test(code))
    return {
      brief: "certificate out of date",
      says: code.includes("EXPIRED") ? "that has expired" : "that is not valid yet",
      hint: "The server needs a new certificate; if it has one, check the clock of this machine.",
    };
  if (/ALTNAME|HOSTNAME_MISMATCH/.test(code))
    return {
      brief: "certificate of another host",
      says: "for another name",
      hint: `Use a name that the certificate covers in api_base_url (${at.baseUrl}) of profile "${at.profile}".`,
    };
  const brief = "untrusted certificate";
  if (at.ownCa)
    return {
      brief,
      says: "that no certificate in ca_file signed",
      hint: `Name the certificate of the CA that signed it in ca_file of profile "${at.profile}".`,
    };
  return {
    brief,
    says: "that this machine does not trust",
    hint: `If a company proxy or a private CA is in between, name its certificate file in ca_file of profile "${at.profile}", or in NODE_EXTRA_CA_CERTS.`,
  };
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|ALTNAME|HOSTNAME_MISMATCH/;

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

function refusedHint(at: Situation): string {
  if (at.proxy !== undefined)
    return "The proxy does not answer: check proxy in the profile, HTTPS_PROXY, HTTP_PROXY and NO_PROXY.";
  return /^(localhost|127\.|\[?::1)/.test(at.host)
    ? "Is the local model server running? (`ollama serve`, LM Studio, llama-server)"
    : `Check the address ${at.baseUrl} of profile "${at.profile}".`;
}
