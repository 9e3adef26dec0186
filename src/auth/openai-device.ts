/** OpenAI's sign-in, with a device code or the browser of this machine: exchange, refresh, revoke. */
import { BuddyError, messageOf } from "../lib/errors.ts";
import { isLoopback, proxyFor, proxyLabel, boundedText, fetchVia } from "../lib/network.ts";
import { defined, isRecord, jsonObject } from "../lib/values.ts";
import { pause, deadline } from "../lib/waiting.ts";
import { browserFlow } from "./browser-flow.ts";
import { isToken, LAST_DATE, type SignIn, tokenClaims } from "./store.ts";

export class OpenAiDevice {
  readonly issuer: string;

  /** BUDDY_AUTH_ISSUER replaces the default; tokens go over TLS, except to this machine itself. */
  constructor(issuer: string = DEFAULT_ISSUER) {
    const url = URL.parse(issuer);
    const local = url !== null && isLoopback(url.hostname);
    if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && local)))
      throw new BuddyError("auth", `the sign-in address ${JSON.stringify(issuer)} is not an https URL`, {
        hint: "Unset BUDDY_AUTH_ISSUER to use OpenAI's own.",
      });
    this.issuer = issuer.replace(/\/+$/, "");
  }

  async begin(signal: AbortSignal): Promise<DeviceCode> {
    const path = "/api/accounts/deviceauth/usercode";
    const { status, body } = await this.#post(path, json({ client_id: CLIENT_ID }), signal);
    if (status === 404)
      throw new BuddyError("auth", `device-code sign-in is not enabled at ${this.issuer}`, {
        hint: "Use the browser of this machine: buddy login --browser\nOr enable device codes in the security settings of your account, or use a profile with an API key.",
      });
    const userCode = body.user_code ?? body.usercode;
    if (status !== 200 || typeof body.device_auth_id !== "string" || typeof userCode !== "string")
      throw unexpected("asking for a code", status, body);
    return {
      deviceAuthId: body.device_auth_id,
      userCode,
      url: `${this.issuer}/codex/device`,
      // The interval arrives as a string of seconds.
      intervalMs: Math.max(Number(body.interval) || DEFAULT_INTERVAL_S, 0.05) * 1000,
      expiresAt: Date.now() + CODE_LIFETIME_MS,
    };
  }

  /** Polls until the user has entered the code; `onWait` gets the time left before each poll. */
  async finish(code: DeviceCode, signal: AbortSignal, onWait: (leftMs: number) => void): Promise<SignIn> {
    let interval = code.intervalMs;
    let misses = 0;
    for (;;) {
      const left = code.expiresAt - Date.now();
      if (left <= 0) throw expired();
      onWait(left);
      await pause(Math.min(interval, left), signal);
      const poll = json({ device_auth_id: code.deviceAuthId, user_code: code.userCode });
      const answer = await this.#post("/api/accounts/deviceauth/token", poll, signal).catch((error: unknown) => {
        // The user may be busy in the browser: a dropped connection does not end the sign-in.
        if (signal.aborted || ++misses > MOST_MISSES) throw error;
        return undefined;
      });
      if (answer === undefined) continue;
      misses = 0;
      const { status, body } = answer;
      const error = errorCode(body);
      if (status === 200) return this.#exchange(body, signal);
      if (error === "access_denied") throw new BuddyError("auth", "the sign-in was declined in the browser");
      if (error === "expired_token") throw expired();
      if (status === 429 || error === "slow_down") interval += SLOW_DOWN_MS;
      else if (status !== 403 && status !== 404 && status < 500) throw unexpected("waiting for the code", status, body);
    }
  }

  /** Signs in with the browser of this machine; `onAddress` gets the address to open. */
  async browser(signal: AbortSignal, onAddress: (url: string) => void, ports = BROWSER_PORTS): Promise<SignIn> {
    const flow = await browserFlow({
      ports,
      path: "/auth/callback",
      checksState: true,
      otherWay: "Or sign in with a code, in any browser: buddy login",
      address: ({ redirectUri, challenge, state }) =>
        `${this.issuer}/oauth/authorize?${new URLSearchParams({
          response_type: "code",
          client_id: CLIENT_ID,
          redirect_uri: redirectUri,
          scope: "openid profile email offline_access",
          code_challenge: challenge,
          code_challenge_method: "S256",
          id_token_add_organizations: "true",
          codex_cli_simplified_flow: "true",
          originator: "buddy",
          state,
        })}`,
    });
    try {
      onAddress(flow.url);
      const code = await flow.code(signal);
      return await this.#exchange({ authorization_code: code, code_verifier: flow.verifier }, signal, flow.redirectUri);
    } finally {
      flow.close();
    }
  }

  /** Only a refusal of the token itself ends the sign-in; any other failure may be temporary. */
  async refresh(current: SignIn): Promise<SignIn> {
    const request = { client_id: CLIENT_ID, grant_type: "refresh_token", refresh_token: current.refresh_token };
    const end = Date.now() + REQUEST_TIMEOUT_MS;
    for (let attempt = 1; ; attempt++) {
      const isLast = () => attempt >= REFRESH_TRIES || Date.now() >= end;
      const { status, body } = await this.#post("/oauth/token", json(request)).catch((error: unknown) => {
        if (isLast()) throw error;
        return UNREACHED;
      });
      const renewed = tokensIn(body);
      // A proxy or portal may answer with a page: the old token must not be stored as a new one.
      if (status === 200 && renewed.access_token !== undefined)
        return signIn({ ...tokensIn({ ...current }), ...renewed }, current);
      if (status === 401 || /invalid_grant|refresh_token_(expired|reused|invalidated)/.test(String(errorCode(body))))
        throw new SignInEnded("auth", "the sign-in is no longer valid", { hint: "Sign in again with: buddy login" });
      if ((status < 500 && status !== 429) || isLast()) throw unexpected("refreshing the sign-in", status, body);
      await Bun.sleep(REFRESH_WAIT_MS * attempt);
    }
  }

  async revoke(current: SignIn, signal: AbortSignal): Promise<void> {
    const request = { client_id: CLIENT_ID, token: current.refresh_token, token_type_hint: "refresh_token" };
    const { status, body } = await this.#post("/oauth/revoke", json(request), signal);
    if (status !== 200) throw unexpected("revoking the sign-in", status, body);
  }

  async #exchange(
    granted: Record<string, unknown>,
    signal: AbortSignal,
    redirectUri = `${this.issuer}/deviceauth/callback`,
  ): Promise<SignIn> {
    const { authorization_code, code_verifier } = granted;
    if (typeof authorization_code !== "string" || typeof code_verifier !== "string")
      throw unexpected("waiting for the code", 200, granted);
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code: authorization_code,
      redirect_uri: redirectUri,
      client_id: CLIENT_ID,
      code_verifier,
    });
    const { status, body } = await this.#post("/oauth/token", { body: form }, signal);
    const tokens = tokensIn(body);
    if (status !== 200 || tokens.access_token === undefined || tokens.refresh_token === undefined)
      throw unexpected("exchanging the code", status, body);
    return signIn(tokens);
  }

  #post(path: string, init: RequestInit, signal?: AbortSignal): Promise<Answer> {
    return post(new URL(this.issuer + path), init, signal);
  }
}

/** One request to a sign-in server; an answer that is not a JSON object counts as an empty one. */
export async function post(url: URL, init: RequestInit, signal = new AbortController().signal): Promise<Answer> {
  let response: Response;
  let text: string;
  const proxy = proxyFor(url, process.env);
  using late = deadline(REQUEST_TIMEOUT_MS, `no answer within ${REQUEST_TIMEOUT_MS / 1000} s`);
  try {
    response = await fetchVia(url, {
      ...init,
      method: "POST",
      redirect: "error",
      signal: AbortSignal.any([signal, late.signal]),
      proxy: proxy ?? false,
    } as BunFetchRequestInit);
    ({ text } = await boundedText(response, MOST_BYTES));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const via = proxy === undefined ? "" : ` through the proxy ${proxyLabel(proxy)}`;
    throw new BuddyError("auth", `cannot reach ${url.host}${via}: ${messageOf(error)}`, {
      hint: "Check the network and proxy settings, then try again.",
      cause: error,
    });
  }
  return { status: response.status, body: jsonObject(text) ?? {} };
}

/** The refresh token was refused: the user must sign in again. */
export class SignInEnded extends BuddyError {}

export interface DeviceCode {
  readonly deviceAuthId: string;
  readonly userCode: string;
  /** Where the user enters the code. */
  readonly url: string;
  readonly intervalMs: number;
  readonly expiresAt: number;
}

const DEFAULT_ISSUER = "https://auth.openai.com";
const CLIENT_ID = "app_EMoamEEZ73f0CkXaXp7hrann";
const CODE_LIFETIME_MS = 15 * 60_000;
const DEFAULT_INTERVAL_S = 5;
const MOST_MISSES = 5;
const SLOW_DOWN_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** An answer is a few tokens. */
const MOST_BYTES = 1 << 20;
/** The ports that the provider redirects to. */
const BROWSER_PORTS: readonly number[] = [1455, 1457];
const REFRESH_TRIES = 3;
const REFRESH_WAIT_MS = 300;
/** Assumed where a token has no expiry. */
const TOKEN_LIFETIME_MS = 60 * 60_000;

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A failed connection is retried like a server error. */
const UNREACHED: Answer = { status: 503, body: {} };

type Tokens = Partial<Record<"access_token" | "refresh_token" | "id_token", string>>;

function tokensIn(body: Record<string, unknown>): Tokens {
  const tokens: Tokens = {};
  for (const name of ["access_token", "refresh_token", "id_token"] as const)
    if (isToken(body[name])) tokens[name] = body[name];
  return tokens;
}

function signIn(tokens: Tokens, previous?: SignIn): SignIn {
  const { access_token = "", refresh_token = "", id_token } = tokens;
  const account = accountOf(id_token) ?? accountOf(access_token) ?? previous?.account_id;
  return {
    access_token,
    refresh_token,
    ...defined({ id_token, account_id: account }),
    issued_at: Date.now(),
    expires_at: expiryOf(access_token),
  };
}

/** The lifetime that the token states, counted from now: right even when this machine's clock is wrong. */
function expiryOf(token: string): number {
  const { exp, iat } = tokenClaims(token);
  if (typeof exp !== "number") return Date.now() + TOKEN_LIFETIME_MS;
  return Math.min(typeof iat === "number" ? Date.now() + (exp - iat) * 1000 : exp * 1000, LAST_DATE);
}

function accountOf(token: string | undefined): string | undefined {
  const auth = token === undefined ? undefined : tokenClaims(token)["https://api.openai.com/auth"];
  const id = isRecord(auth) ? auth.chatgpt_account_id : undefined;
  return isToken(id) ? id : undefined;
}

function errorCode({ error }: Record<string, unknown>): unknown {
  return isRecord(error) ? error.code : error;
}

export function json(value: unknown): RequestInit {
  return { body: JSON.stringify(value), headers: { "content-type": "application/json" } };
}

/** Does not repeat the answer: it may contain a token. */
function unexpected(doing: string, status: number, body: Record<string, unknown>): BuddyError {
  const error = errorCode(body);
  const detail = typeof error === "string" && /^[\w .-]{1,60}$/.test(error) ? `: ${error}` : "";
  return new BuddyError("auth", `${doing} failed (HTTP ${status}${detail})`, {
    hint: "Try again later; if it keeps happening, check that no proxy changes the sign-in server's answers.",
  });
}

function expired(): BuddyError {
  return new BuddyError("auth", "the code was not entered within 15 minutes", { hint: "Start again: buddy login" });
}
